"""Rule: the levels of cache recognised in the latency ladder beside those that the system reports."""

from collections.abc import Sequence
from contextlib import suppress

from steelyard.benchmarks.memory.latency import Level, levels
from steelyard.machine.caches import cache_levels
from steelyard.model import Cache, Evaluation, Finding
from steelyard.statistics.results import cases
from steelyard.units import binary_size, quantity

BENCHMARK = "memory.latency"
# A flat part ends before its cache is full, since random lines overflow some sets early, and a ladder may
# have one point an octave only; beyond the cache's own size it cannot reach.
SHORTEST, LONGEST = 1 / 3, 1.6
MEMORY = 2.0  # times the last-level cache: a flat part that ends beyond that is the memory


def find(evaluation: Evaluation) -> list[Finding]:
    """Good where each reported cache has its flat part of the ladder; otherwise a notice that tells which.

    None without a ladder that reaches beyond the caches, or where nothing is reported.
    """
    chase = cases.of(evaluation.results, BENCHMARK, "chase")
    machine = evaluation.run.machine
    reported = [c for cpu in machine.cpus[:1] for c in cache_levels(machine, cpu)]
    found: tuple[Level, ...] = ()
    with suppress(KeyError, TypeError, ValueError):  # a ladder with odd points is no ladder
        found = levels(chase)
    sizes = [n for r in chase if (n := cases.number(r, "bytes"))]
    if not found or not reported or not sizes or max(sizes) <= MEMORY * reported[-1].size:
        return []
    inside = [level for level in found if level.largest <= MEMORY * reported[-1].size]
    matched = [(cache, _of(cache, inside)) for cache in reported]
    lines = [_line(cache, level) for cache, level in matched]
    beyond = [level for level in found if level.largest > MEMORY * reported[-1].size]
    lines += [f"Beyond the caches: {quantity(level.latency, 's')}." for level in beyond]
    strange = [cache for cache, level in matched if level is None]
    return [_finding(tuple(lines), strange, len(reported))]


def _of(cache: Cache, found: Sequence[Level]) -> Level | None:
    """The flat part that ends where this cache ends, the longest if there are several."""
    fitting = [level for level in found if SHORTEST <= level.largest / max(1, cache.size) <= LONGEST]
    return max(fitting, key=lambda level: level.largest, default=None)


def _line(cache: Cache, level: Level | None) -> str:
    name = f"L{cache.level}, reported with {binary_size(cache.size)}"
    if level is None:
        return f"{name}: no flat part of the ladder ends near that size."
    return f"{name}: {quantity(level.latency, 's')}, flat up to {binary_size(level.largest)}."


def _finding(lines: tuple[str, ...], strange: list[Cache], count: int) -> Finding:
    if not strange:
        return Finding(
            "cache_levels",
            "good",
            f"The latency shows all {count} levels of cache that the system reports.",
            lines,
            "What is reported is what programs get.",
            "",
            BENCHMARK,
        )
    names = ", ".join(f"L{cache.level} ({binary_size(cache.size)})" for cache in strange)
    return Finding(
        "cache_levels",
        "notice",
        f"The latency does not show what the system reports of {names}.",
        lines,
        "The cache is shared with other cores or guests, or partitioned, so that less of it can be used; "
        "small pages blur its end; a hypervisor may report what is not there.",
        "Look with more points and with huge pages: steelyard run --preset full --only memory.latency",
        BENCHMARK,
    )
