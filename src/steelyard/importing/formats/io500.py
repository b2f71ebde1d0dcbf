"""IO500 of 2017 to 2025: result_summary.txt of the scripts and of the program, and result.txt.

https://io500.org
"""

from collections.abc import Iterable
from math import isclose

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, number

TOOL = "IO500"
MARKS = ("[RESULT", "[SCORE", "config-hash")
HOST = r"^System: +(\S+)"
STARTED = r"; START (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)|^date=(\d{4}\.\d\d\.\d\d)"
PROCESSES = r"procs\s*=\s*(\d+)"
RESULT = (
    r"\[(?:RESULT(?=\W)|(?= +\]))(?P<state>[^\]]*)\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?(?P<name>[a-zA-Z][\w-]*)\s+"
    r"(?P<value>\S+) (?P<unit>\S+)\s*:\s*time\s+(?P<time>\S+) s(?:econds)?\b(?P<end>.*)"
)
SCORE = r"\[SCORE(?P<state>[^\]]*)\]\s+Bandwidth (\S+) G\w+/s *: *IOPS (\S+) (?i:kiops) *: *TOTAL ([^\s`]+)(?P<end>.*)"
REFUSED = "the score is INVALID, not the geometric mean of both, or in no certain unit"


def _find_runs(text: Text) -> Iterable[Text]:
    """Returns the results with different numbers of ranks, or the whole text, which may print one result twice."""
    processes = {found[1] for found, _ in text.match(PROCESSES)}
    return text.runs(PROCESSES) if len(processes) > 1 else (text,)


def read(text: Text) -> Values:
    """Yields the result and the time of each valid phase, and the three scores if they are valid.

    Some versions print "GB/s" beside the mean of results in GiB/s: the unit of a score is that of the results.
    """
    for run in _find_runs(text):
        yield from _read_run(run)


def _read_run(text: Text) -> Values:
    about = {"ranks": text.integer(rf"^{PROCESSES}")}
    phases = [(m["name"], m["value"], m["unit"], m["time"], m["state"] + m["end"], at) for m, at in text.match(RESULT)]
    scores = [(m[2], m[3], m[4], m["state"] + m["end"], at) for m, at in text.ended().match(SCORE)]
    extended = {
        score[:3] for score in scores if score[3].startswith("X")
    }  # by all phases, also those that need not run
    for head, part in text.parts(r"\[(?P<name>[a-zA-Z][\w-]*)\]\s*$"):
        pairs, state = part.pairs(r"\s*=\s*"), "INVALID" if "INVALID" in part.whole else ""
        if head["name"].startswith("SCORE"):
            scores.append((pairs["BW"], pairs["MD"], pairs["SCORE"].split()[0], state, part.first))
            extended |= {scores[-1][:3]} if head["name"] == "SCOREX" else set()
        elif "score" in pairs and "t_delta" in pairs:
            unit = "GiB/s" if head["name"].startswith("ior") else "kIOPS"
            phases.append((head["name"], pairs["score"], unit, pairs["t_delta"], state, part.first))
    for name, value, printed, seconds, state, at in {phase[:2]: phase for phase in phases}.values():  # printed twice
        unit, kernel = "kIOPS" if printed.lower() == "kiops" else printed, name.replace("_", "-")
        if "invalid" in state.lower():
            text.problems.append(f"line {at}: the result of {kernel} is INVALID")
        elif number(value) > 0:
            yield make("io500.phase", kernel, "rate" if unit == "kIOPS" else "bandwidth", value, unit, "one run", about)
            yield make("io500.phase", kernel, "time", seconds, "s", "one run", about)
    rates = [unit for _, _, unit, *_ in phases if unit.endswith("B/s")] or ["GiB/s"]
    for rate, operations, total, state, at in {score[:3]: score for score in scores}.values():
        consistent = isclose(number(total) ** 2, number(rate) * number(operations), rel_tol=0.01)
        if "invalid" in state.lower() or not consistent or len(set(rates)) > 1:
            text.problems.append(f"line {at}: {REFUSED}")
            continue
        given = about | ({"score": "extended"} if (rate, operations, total) in extended else {})
        yield make("io500.score", "bandwidth", "bandwidth", rate, rates[0], "geometric mean", given)
        yield make("io500.score", "rate", "rate", operations, "kIOPS", "geometric mean", given)
        yield make("io500.score", "total", "score", total, "", "geometric mean", given, better="higher")
