"""Rule: finds speed-ups above the number of threads, ranks or nodes that no cache explains."""

from typing import NamedTuple

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.units import percent, significant
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofs import record_with_work, working_set
from steelyard.statistics.results.sweeps import Sweep, sweeps

ABOVE = 1.05  # efficiency (low end of its interval): differences of launches and of the clock explain up to 5 %
LEAST_SECONDS = 1e-3  # of the shortest sample: the start of the thread team dominates shorter ones
OF_DATA = ("bytes", "accesses", "working_set")  # of the work that an operation counts
NAMED = 8


class Excess(NamedTuple):
    """A point of a sweep whose speed-up is above its count."""

    sweep: Sweep
    point: Point


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark; none where a nearer cache may explain the speed-up."""
    findings: list[Finding] = []
    excesses = [Excess(s, p) for s in sweeps(evaluation, least=LEAST_SECONDS) for p in s.scaling.points if _is_above(p)]
    excesses = [s for s in excesses if not _may_use_nearer_cache(evaluation, s)]
    for name in dict.fromkeys(s.sweep.benchmark for s in excesses):
        ordered = sorted((s for s in excesses if s.sweep.benchmark == name), key=lambda s: -s.point.efficiency.value)
        findings.append(_make_finding(name, ordered))
    return findings


def _is_above(point: Point) -> bool:
    low = point.efficiency.low
    return not point.crowded and low is not None and low > ABOVE


def _may_use_nearer_cache(evaluation: Evaluation, excess: Excess) -> bool:
    """Returns whether a nearer cache may explain the speed-up, because each worker's share of the data is smaller."""
    base, machine = excess.sweep.scaling.base, evaluation.run.machine
    record = record_with_work(excess.sweep.results[base])
    if excess.sweep.scaling.weak or record is None or not any(record.work.get(name) for name in OF_DATA):
        return False  # the share of a worker stays the same, or there are no data
    size = working_set(excess.sweep.results[base])
    if size is None or excess.sweep.over not in ("threads", "ranks"):
        return True
    counts = (min(count, max(1, len(machine.cpus))) for count in (base, excess.point.count))
    return any(level_of(size, count, machine) != MEMORY for count in counts)


def _make_finding(name: str, excesses: list[Excess]) -> Finding:
    most = excesses[0]
    sweep, point = most
    return Finding(
        "above_ideal",
        "notice",
        f"{name} {_label(sweep)} runs {significant(point.speedup.value)} times as fast with {point.count} "
        f"{_describe_sweep(sweep)} as with {sweep.scaling.base}. No cache explains a speed-up above "
        f"{significant(point.count / sweep.scaling.base)}."
        f"{cases.caution(sweep.results[sweep.scaling.base], sweep.results[point.count])}",
        tuple(map(_describe_excess, excesses[:NAMED])),
        f"The run with {sweep.scaling.base} was slower than it should be (another program on the core, a lower clock or "
        "remote memory), and no check showed it. Or the two runs did not do the same work.",
        advise(f"Do not use this speed-up. Measure both numbers of {_describe_sweep(sweep)} again: ", f"scale {name}"),
        name,
        effect=point.efficiency.value,
        reach="figures",
    )


def _describe_sweep(sweep: Sweep) -> str:
    return {"ranks_per_node": "ranks on each node"}.get(sweep.over, sweep.over)


def _label(sweep: Sweep) -> str:
    hidden = (sweep.over, "ranks", "elements", "pinning", "start", "device")
    return cases.describe(sweep.results[sweep.scaling.base], but=hidden)


def _describe_excess(excess: Excess) -> str:
    e = excess.point.efficiency
    return (
        f"{_label(excess.sweep)}, {excess.point.count} {_describe_sweep(excess.sweep)}: efficiency {percent(e.value)} "
        f"({percent(e.low or 0)} to {percent(e.high or 0)})."
    )
