"""Rule: speed-ups above the number of threads, ranks or nodes that no cache explains: one of the two times is wrong."""

from typing import NamedTuple

from steelyard.model import Evaluation, Finding
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofs import MEMORY, level_of, with_work, working_set
from steelyard.statistics.results.sweeps import Sweep, sweeps
from steelyard.units import percent, significant

ABOVE = 1.05  # of the efficiency, by the low end of its interval: what launches and a restless clock do is below
LEAST_SECONDS = 1e-3  # of the shortest sample: what lasts microseconds is the start of the team
OF_DATA = ("bytes", "accesses", "working_set")  # of the work that an operation counts
NAMED = 8


class Observed(NamedTuple):
    """A count whose speed-up is above it."""

    sweep: Sweep
    point: Point


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for each benchmark; silent where each one's share of the data fits a nearer cache, or its size is unknown."""
    found: list[Finding] = []
    observed = [Observed(s, p) for s in sweeps(evaluation, least=LEAST_SECONDS) for p in s.scaling.points if _above(p)]
    observed = [s for s in observed if not _nearer(evaluation, s)]
    for name in dict.fromkeys(s.sweep.benchmark for s in observed):
        mine = sorted((s for s in observed if s.sweep.benchmark == name), key=lambda s: -s.point.efficiency.value)
        found.append(_finding(name, mine))
    return found


def _above(point: Point) -> bool:
    low = point.efficiency.low
    return not point.crowded and low is not None and low > ABOVE


def _nearer(evaluation: Evaluation, observed: Observed) -> bool:
    """Whether a cache may explain it: a share of the data may come nearer."""
    base, machine = observed.sweep.scaling.base, evaluation.run.machine
    record = with_work(observed.sweep.results[base])
    if observed.sweep.scaling.weak or record is None or not any(record.work.get(name) for name in OF_DATA):
        return False  # each one's share stays as it is, or there are no data
    size = working_set(observed.sweep.results[base])
    if size is None or observed.sweep.over not in ("threads", "ranks"):
        return True
    counts = (min(count, max(1, len(machine.cpus))) for count in (base, observed.point.count))
    return any(level_of(size, count, machine) != MEMORY for count in counts)


def _finding(name: str, observed: list[Observed]) -> Finding:
    most = observed[0]
    sweep, point = most
    return Finding(
        "above_ideal",
        "notice",
        f"{name} {_called(sweep)} is {significant(point.speedup.value)} times as fast with {point.count} {_words(sweep)} as with "
        f"{sweep.scaling.base}: more than {significant(point.count / sweep.scaling.base)} times cannot be where no cache helps."
        f"{cases.caution(sweep.results[sweep.scaling.base], sweep.results[point.count])}",
        tuple(map(_line, observed[:NAMED])),
        f"With {sweep.scaling.base} it ran slower than it should (a neighbour on the core, a lower clock, far memory) "
        "and nothing showed it; or the two did not do the same work.",
        f"Do not use this speed-up; measure both again: steelyard scale {name}",
        name,
        effect=point.efficiency.value,
        reach="figures",
    )


def _words(sweep: Sweep) -> str:
    return {"ranks_per_node": "ranks on each node"}.get(sweep.over, sweep.over)


def _called(sweep: Sweep) -> str:
    hidden = (sweep.over, "ranks", "elements", "pinning", "start", "device")
    return cases.describe(sweep.results[sweep.scaling.base], but=hidden)


def _line(observed: Observed) -> str:
    e = observed.point.efficiency
    return (
        f"{_called(observed.sweep)}, {observed.point.count} {_words(observed.sweep)}: an efficiency of {percent(e.value)} "
        f"({percent(e.low or 0)} to {percent(e.high or 0)})."
    )
