"""stress-ng 0.05 to 0.20: the metrics on the screen and in a YAML file. From 0.13 on also the miscellaneous metrics on the
screen, in the units of each stressor.

https://github.com/ColinIanKing/stress-ng
"""

import re

from steelyard.importing.patterns import match
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, make_printed, number

TOOL = "stress-ng"
HOST = r"^ +hostname: (\S+)"
STARTED = r"^ +date-yyyy-mm-dd: (?P<year>\d{4})[:-](?P<month>\d\d)[:-](?P<day>\d\d)\s+time-hh-mm-ss: (?P<time>[\d:]+)"
DOUBTS = r"stress-ng: warn: +(?:\[\d+\] )?(.+)"
NOTE = "Bogus operations can be compared only between runs of the same version of stress-ng."
HEAD = r"bogo ops +real time +usr time +sys time(?: +bogo ops/s){2}(?s:.)*?(?:\(secs\) +){3}\(real time\) +\(usr\+sys"
ROW = r".*stress-ng: \w+: +\[\d+\] (?P<name>[\w-]+) +(?P<ops>\d+)(?P<rest>(?: +[\d.]+){5,7})(?:\s+[^\s\d][^\\\n]*)?\s*$"
STAMP = (r"(\bstress-ng: )\d\d:\d\d:\d\d\.\d+ (\w+:)", r"\1\2")  # of --timestamp
FAILED = r"stress-ng: fail: .*|unsuccessful run completed|failed: [1-9]\d*|metrics untrustworthy: [1-9]\d*"
FIGURES = {
    "bogo-ops-per-second-real-time": ("rate", "/s"),
    "bogo-ops-per-second-usr-sys-time": ("rate_per_cpu_time", "/s"),
}
TIMES = {"wall-clock-time": "time", "user-time": "user_time", "system-time": "system_time"}


def read_rates(text: Text) -> Values:
    """Yields the rates and times of each stressor. A run with a failure has none."""
    for part in text.rewrite(*STAMP).runs(r".*stress-ng: .*dispatching hogs"):
        if failed := part.find(FAILED):
            text.problems.append(f"the run that begins in line {part.first} failed ({failed})")
            continue
        if part.find(HEAD):
            for row, _ in part.match(ROW):
                real, user, system, rate, cpu_rate, *_ = row["rest"].split()
                workers = part.integer(rf"dispatching hogs:.*?\b(\d+) {row['name']}(?:,|\s*$)")
                words = (rate, cpu_rate, real, user, system)
                yield from _make_values(
                    row["name"], dict(zip((*FIGURES, *TIMES), words, strict=True)), {"workers": workers}
                )
    version = text.find(r"stress-ng-version: *'?([\w.]+)") or None
    for head, part in text.parts(r"\s*- stressor: *([\w-]+)"):
        yield from _make_values(head[1], part.pairs(), {"version": version})


def _make_values(name: str, words: dict[str, str], about: dict[str, int | str | None]) -> Values:
    for key, (metric, unit) in FIGURES.items():
        if re.search("[1-9]", words.get(key, "")):  # a stressor without CPU time has no rate
            yield make("stress_ng.stressor", name, metric, words[key], unit, "one run", about, note=NOTE)
    for key, metric in TIMES.items():
        if key in words:
            yield make("stress_ng.stressor", name, metric, words[key], "s", "one run", about)


LINE = (
    r".*stress-ng: metrc: +\[\d+\] (?P<name>[\w-]+) +(?P<word>\d+\.\d+) (?P<what>[A-Za-z%][^\\\n]*?)"
    r"(?: \((?P<mean>\w+ mean) of (?P<workers>\d{1,6}) instances?\))?\s*$"
)
# Metric and unit by the words of stress-ng, whose MB are 2^20 bytes.
MEANINGS = {
    r"nanosec(?:ond)?s? (.*)": ("time", "ns"), r"microsec(?:ond)?s? (.*)": ("time", "us"),
    r"millisec(?:ond)?s? (.*)": ("time", "ms"), r"sec(?:ond)?s (.*)": ("time", "s"),
    r"MB(?: per |/)sec(?:ond)? ?(.*)": ("bandwidth", "MiB/s"), r"(.*) MB(?: per |/)sec(?:ond)?": ("bandwidth", "MiB/s"),
    r"M(?:flop|FLOP) per sec(?:ond)? (.*)": ("flops", "Mflop/s"), r"(.*?)(?: per |/)sec(?:ond)?\b.*": ("rate", "/s"),
}  # fmt: skip


def read_metrics(text: Text) -> Values:
    """Yields each metric of each stressor, without those that are zero. A run with a failure has none."""
    for part in text.ended().rewrite(*STAMP).runs(r".*stress-ng: .*dispatching hogs"):
        for line, _ in part.match(LINE) if not part.find(FAILED) else ():
            matches = ((match(f"(?:{pattern})$", line["what"]), meaning) for pattern, meaning in MEANINGS.items())
            other = (line["what"], "value", line["what"])
            words, metric, unit = next(((m[1], *meaning) for m, meaning in matches if m), other)
            kernel, mean = make_name(f"{line['name']} {words}"), line["mean"] or "as printed"
            workers = {"workers": int(line["workers"]) if line["workers"] else None}
            if number(line["word"]) > 0:
                yield make_printed("stress_ng.metric", kernel, metric, line["word"], unit, mean, workers)


READERS = {
    read_rates: ("stress-ng: ", "stress-ng-version:"),
    read_metrics: ("miscellaneous metrics:", "(harmonic mean of ", "(geometric mean of "),
}
