"""Tolerance: how the cost of an operation falls as threads are added (Triad, corners G and L, latency).

A node is tolerant when the time of an operation is set by the rate at which operations are issued, not by
the latency of each: then n threads bring the cost of one to an n-th. The idea is from an evaluation of AMD
nodes by NICEVT (2008), whose Barcelona nodes brought G from 407 to 31 cycles with 16 threads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.model import Level, Result
from steelyard.statistics import cases
from steelyard.statistics.cost import ratio

# The best corner: of the standard grid L = 65536 words and alpha = 0.001. A coarser grid of a quick run has
# one near it, whose blocks are still many pages long and nearly all in the first cache.
LONG_BLOCKS, NEAR_START = 4096, 0.01


@dataclass(frozen=True)
class Tolerance:
    """`ratio` is the cost of an operation with one thread over that with `threads`: a speed-up.

    `low` … `high` is its 95 % interval, `efficiency` is `ratio` / `threads`: 1 where every thread added
    brings its whole share. `point` is "Triad", "G", "L" or "latency"; `label` says besides in what the case
    differs from the others of that point. `usual` marks the case that stands for the point; `level` is the
    lesser verdict of the two results.
    """

    benchmark: str
    point: str
    label: str
    threads: int
    ratio: float
    low: float
    high: float
    efficiency: float
    usual: bool
    level: Level


def points(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results from which tolerance is told, by point: "Triad", "G", "L", "latency"; of all threads."""
    known = tuple(results)
    gather = cases.of(known, "memory.apexmap", "gather")
    found = {
        "Triad": cases.with_most(cases.of(known, "memory.stream", "triad"), "elements"),
        "G": [r for r in gather if cases.number(r, "L") == 1 and cases.number(r, "alpha") == 1],
        "L": _best_corner(gather),
        "latency": _at_memory(
            [r for r in cases.of(known, "memory.latency", "chase") if cases.number(r, "chains") == 1]
        ),
    }
    return {name: members for name, members in found.items() if members}


def tolerance(results: Iterable[Result]) -> list[Tolerance]:
    """For every case with one thread and the same with more. Empty where no number of threads was varied."""
    found: list[Tolerance] = []
    for point, members in points(results).items():
        groups = cases.groups(members, "threads")
        varying = _varying(members)
        chosen = _usual(groups, most_accumulators=point == "L")
        for group in groups:
            alone = group[0]
            if cases.number(alone, "threads") == 1:
                told = ", ".join(cases.words(name, cases.value(alone, name)) for name in varying)
                label = f"{point} ({told})" if told else point
                found += _of_group(point, label, alone, group[1:], group is chosen)
    return found


def _of_group(point: str, label: str, alone: Result, many: Sequence[Result], usual: bool) -> list[Tolerance]:
    found = []
    for result in many:
        speedup = ratio(alone, result)
        threads = cases.number(result, "threads")
        if speedup is None or threads is None or threads < 2:
            continue
        values = (speedup.value, speedup.low, speedup.high, speedup.value / threads)
        found.append(Tolerance(alone.benchmark, point, label, int(threads), *values, usual, cases.doubt(alone, result)))
    return found


def _at_memory(chase: Sequence[Result]) -> list[Result]:
    """The largest working set, and the largest with several threads, whose rings need more memory."""
    most = cases.with_most(chase, "bytes")
    together = cases.with_most([r for r in chase if (cases.number(r, "threads") or 1) > 1], "bytes")
    sizes = {cases.number(r, "bytes") for r in (*most, *together)}
    return [r for r in chase if cases.number(r, "bytes") in sizes]


def _best_corner(gather: Sequence[Result]) -> list[Result]:
    longest = cases.with_most(gather, "L")
    least = min((a for r in longest if (a := cases.number(r, "alpha")) is not None), default=None)
    if least is None or least > NEAR_START or (cases.number(longest[0], "L") or 0) < LONG_BLOCKS:
        return []
    return [r for r in longest if cases.number(r, "alpha") == least]


def _varying(members: Sequence[Result]) -> list[str]:
    names = dict.fromkeys(name for r in members for name in r.parameters)
    return [n for n in names if n != "threads" and len({str(cases.value(r, n)) for r in members}) > 1]


def _usual(groups: Sequence[Sequence[Result]], most_accumulators: bool) -> Sequence[Result] | None:
    """The group that differs least from what is usual, among those with one thread and more.

    The single accumulator of the original measures the addition at L; elsewhere it is the usual one.
    """
    candidates = [g for g in groups if len(g) > 1 and cases.number(g[0], "threads") == 1]

    def unusual(group: Sequence[Result]) -> tuple[float, float]:
        parameters = group[0].parameters
        strange = sum(parameters.get(n, v) != v for n, v in cases.USUAL.items())
        accumulators = cases.number(group[0], "accumulators") or 0
        return strange, -accumulators if most_accumulators else accumulators

    return min(candidates, key=unusual, default=None)
