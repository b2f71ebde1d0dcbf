"""WRF 3 and 4: rsl.out.0000, rsl.error.0000 or the screen, with the time of each step on each domain.

https://github.com/wrf-model/WRF
"""

from collections import defaultdict
from dataclasses import replace
from statistics import mean, median

from steelyard.importing.text import Text, find_last_before
from steelyard.importing.values import Given, Values, make, number

TOOL = "WRF"
MARKS = ("Timing for main",)
DOUBTS = r"(points exceeded .*)"
CONDITIONS = {"version": r"^.*WRF V(\S+) MODEL"}
OUTPUT = r".*WRF V\S+ MODEL"
LINE = (
    r" *Timing for (?:(?P<step>main)(?: \(dt= *[\d.]+\))?: time \S+ on domain +(?P<domain>\d+): +(?P<time>\S+) elapsed seconds"
    r"|(?:Writing|processing lateral boundary).* for domain +(?P<other>\d+):)"
)
FEW = 5  # steps of a domain: fewer ones are values of their own
SLOW = 1.5  # times the median
NOTE = "Slow steps need more than 1.5 times the median. Those with radiation are slow, for example."


def read(text: Text) -> Values:
    """Yields the mean and the median of the steps of each domain, those that contain input or output apart."""
    text = text.ended()
    grids = [(place, int(x[1]) * int(x[2])) for x, place in text.match(r".*Ntasks in X +(\d+) *, *ntasks in Y +(\d+)")]
    for run in text.runs(OUTPUT):
        steps: dict[tuple[int, bool], list[tuple[float, int]]] = defaultdict(list)
        # Domains of which a file was read or written since their last step: the next one contains it.
        pending: set[str] = set()
        for line, place in run.match(LINE):
            if line["step"]:
                with text.row(place):
                    steps[int(line["domain"]), line["domain"] in pending].append((number(line["time"]), place))
                pending.discard(line["domain"])
            else:
                pending.add(line["other"])
        ranks = find_last_before(grids, run.first + 1)
        for (domain, contains_files), timed in steps.items():
            yield from _summarise(timed, {"domain": domain, "ranks": ranks, "files": "yes" if contains_files else None})


def _summarise(timed: list[tuple[float, int]], given: Given) -> Values:
    times = [time for time, _ in timed]
    if len(times) < FEW:
        for time, place in timed:
            yield replace(make("wrf.run", "wrf", "step_time", time, "s", "one run", given), line=place)
        return
    middle, given = median(times), {**given, "steps": len(times)}
    for statistic, time in (("mean", mean(times)), ("median", middle)):
        yield make("wrf.run", "wrf", "step_time", time, "s", statistic, given, note=NOTE)
    slow = sum(time > SLOW * middle for time in times)
    yield make("wrf.run", "wrf", "slow_steps", slow, "", "one run", given, better="none", note=NOTE)
