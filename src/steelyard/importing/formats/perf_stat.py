"""perf stat of Linux 3 to 6: the counts, times and energies of a run, as text and with -x. Derived figures are left out.

https://perf.wiki.kernel.org
"""

from collections import Counter
from itertools import takewhile

from steelyard.importing.patterns import search
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, Values, make, number, spell
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "perf stat"
STARTED = r"^# started on (.+)$"
PARTLY = "The counter ran during a part of the time only; perf estimated the whole."
GROUPS = r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$"  # with commas between the thousands
LONGEST = 1000  # characters of a command
NO_COUNT = r"<not (?:counted|supported)>"
EVENT = r"([A-Za-z](?:/[^/\s;|]*/|[^\s,;|])*)"  # commas may stand between slashes
UNIT = r"(?:(msec|ns|Joules|[KMGT]?i?B) +)?"
ROW = rf"\s*(\d[\d.,]*|{NO_COUNT})\s+{UNIT}{EVENT}(?: \(msec\))?\s*(?:$|[#(\[].*)"
TIMES = r"\s*(\d[\d.,]*)(?: \+- [\d.,]+)? seconds (time elapsed|user|sys)\b"
OF_EACH = rf"\s*[^\s#(]\S*(?: +\d+)? +(?:\d[\d.,]*|{NO_COUNT})\s+(?:\S+ +)?[A-Za-z]"
SEVERAL = "perf printed the counts of intervals, processors or sockets, which Steelyard does not read"
HEADING = r"\s*Performance counter stats for (?:'(?P<command>.*)'|(?P<of>.*?))(?P<runs> \(\d+ runs\))?:"
METRICS = {"s": "time", "J": "energy", "B": "amount"}


def read_text(text: Text) -> Values:
    """Yields the counts of each run, of which several are a mean, and its times."""
    text.refuse(r"^#\s+time\s.*counts unit events", SEVERAL)
    parts = [*text.parts(HEADING)]
    for place, (head, part) in enumerate(parts):
        about: Given = {"command": (head["command"] or "")[:LONGEST]}
        if head["of"] or (head["command"] or "").startswith(("system wide", "CPU(s)")):
            of = (head["of"] or head["command"]).partition(" id")[0]
            # No command says that several are repetitions.
            about = {"of": of, "table": place if len(parts) > 1 else None}
        statistic = "mean" if head["runs"] else "one run"
        times = [*part.match(TIMES)]
        last = next((at for row, at in times if row[2] == "time elapsed"), None)
        if last is None:
            part.problems.append(f"line {part.first}: the time of this run is missing, so it may be incomplete")
            continue
        rows = {at: row for row, at in part.match(ROW) if at < last}
        if any(at < last and at not in rows for _, at in part.match(OF_EACH)):
            part.problems.append(f"line {part.first}: {SEVERAL}")
            continue
        grouped = not any(search(r"^\d{4,}$", row[1]) for row in rows.values())
        for at, row in rows.items():
            with part.row(at):
                if row[1][0] != "<":
                    word = row[1].replace(",", "") if grouped and search(GROUPS, row[1]) else row[1]
                    yield _make_value(row[3], word, row[2] or "", statistic, about, _find_share(part, at))
        for row, at in times:
            with part.row(at):
                if at <= last + 4:  # later lines belong to the next output
                    yield _make_value(row[2], row[1], "s", statistic, about)


def _find_share(part: Text, at: int) -> str | None:
    """Returns the share of the time during which a counter ran, in per cent, from the end of its line or of remarks below."""
    lines = part.lines[at - part.first : at - part.first + 3]
    remarks = [lines[0], *takewhile(lambda line: line.lstrip().startswith("#"), lines[1:])]
    shares = [share for line in remarks if (share := search(r"[(\[](\d[\d.]*)%[)\]]\s*$", line))]
    return shares[0][1] if shares else None


def _make_value(
    event: str, word: str, unit: str, statistic: str, about: Given, share: str | None = None
) -> ForeignValue:
    """Returns the value of an event. ValueError for a count that is no whole number, as "1.850" in some languages.

    `share` is that of the time during which the counter ran, in per cent.
    """
    if event.startswith(("task-clock", "cpu-clock")):
        unit = "ms"  # older versions print no unit
    elif not unit and "." in word:
        raise ValueError(f"the count '{word}' may have a point between its thousands")
    si = spell(unit) if unit else ""
    if si is None:
        raise ValueError(f"the unit '{unit}' is unknown")
    metric = METRICS.get(UNITS[si][1], "count")
    better: Better | None = "none" if metric in ("count", "amount") else None
    note = PARTLY if share and number(share) < 100 else ""
    return make("perf_stat.run", event, metric, word, si, statistic, about, better=better, note=note)


def read_fields(text: Text) -> Values:
    """Yields the counts that perf separated by -x. Repeated runs have a share of variation behind the event."""
    text.refuse(r"^ *(?:\d+\.\d{9}|[SNC]\w*\d[\w-]*)[,;|\t]\S", SEVERAL)
    rows = [(row, at) for pattern in FIELDS for row, at in text.match(pattern)]
    times, seen = Counter(row[3] for row, _ in rows), Counter[str]()
    for row, at in rows:
        with text.row(at):
            # No command says that several are repetitions.
            about = {"table": seen[row[3]]} if times[row[3]] > 1 else {}
            seen[row[3]] += 1
            if row[1][0] != "<":
                yield _make_value(row[3], row[1], row[2], "mean" if row[4] else "one run", about, row[5])


SEPARATORS = {",": ",", ";": ";", "|": r"\|", "\t": r"\t"}
FIELDS = [
    rf" *(\d[\d.]*|{NO_COUNT}){s}([A-Za-z]*){s}{EVENT}{s}(?:([\d.]+)%{s})?\d+{s}(\d[\d.]*)" for s in SEPARATORS.values()
]
FIRST = ("msec,task-clock,", ",,cycles,", ",,instructions,", ",,context-switches,", ",,page-faults,")
MARKS = [mark.replace(",", separator) for separator in SEPARATORS for mark in FIRST]
READERS = {read_text: ("Performance counter stats for ", "counts unit events"), read_fields: MARKS}
