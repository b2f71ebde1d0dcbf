"""stress-ng 0.05 to 0.20: the metrics on the screen and in a YAML file.

https://github.com/ColinIanKing/stress-ng
"""

import re
from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "stress-ng"
MARKS = ("stress-ng: ", "stress-ng-version:")
HOST = r"^ +hostname: (\S+)"
STARTED = r"^ +date-yyyy-mm-dd: (\S+)"
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


def read(text: Text) -> Iterator[ForeignValue]:
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
                yield from _values(row["name"], dict(zip((*FIGURES, *TIMES), words, strict=True)), {"workers": workers})
    version = text.find(r"stress-ng-version: *'?([\w.]+)") or None
    for head, part in text.parts(r"\s*- stressor: *([\w-]+)"):
        yield from _values(head[1], part.pairs(), {"version": version})


def _values(name: str, words: dict[str, str], about: dict[str, int | str | None]) -> Iterator[ForeignValue]:
    for key, (metric, unit) in FIGURES.items():
        if re.search("[1-9]", words.get(key, "")):  # a stressor without CPU time has no rate
            yield make("stress_ng.stressor", name, metric, words[key], unit, "one run", about, note=NOTE)
    for key, metric in TIMES.items():
        if key in words:
            yield make("stress_ng.stressor", name, metric, words[key], "s", "one run", about)
