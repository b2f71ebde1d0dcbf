"""Rule: compares the cache levels in the latency ladder with those that the system reports."""

from collections.abc import Sequence
from contextlib import suppress

from steelyard.judge.findings.remedies import advise
from steelyard.measure.benchmarks.memory.latency import Level, levels
from steelyard.model import Cache, Evaluation, Finding
from steelyard.model.caches import cache_levels
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results import cases

BENCHMARK = "memory.latency"
# A flat part of the ladder ends before its cache is full, since random lines overflow some sets early, and a
# ladder may have only one point per octave. It cannot extend beyond the size of the cache.
SHORTEST, LONGEST = 1 / 3, 1.6
MEMORY = 2.0  # times the last-level cache: a flat part that ends beyond this size is the memory


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a good finding if each reported cache has a flat part of the ladder, otherwise a notice that names the others.

    Returns nothing without a ladder that extends beyond the caches, or if the system reports no cache.
    """
    chase = cases.find(evaluation.results, BENCHMARK, "chase")
    machine = evaluation.run.machine
    system_caches = [c for cpu in machine.cpus[:1] for c in cache_levels(machine, cpu)]
    flat_parts: tuple[Level, ...] = ()
    with suppress(KeyError, TypeError, ValueError):  # a ladder with invalid points
        flat_parts = levels(chase)
    sizes = [n for r in chase if (n := cases.number(r, "bytes"))]
    if not flat_parts or not system_caches or not sizes or max(sizes) <= MEMORY * system_caches[-1].size:
        return []
    inside = [level for level in flat_parts if level.largest <= MEMORY * system_caches[-1].size]
    matched = [(cache, _find_matching_level(cache, inside)) for cache in system_caches]
    lines = [_describe_level(cache, level) for cache, level in matched]
    beyond = [level for level in flat_parts if level.largest > MEMORY * system_caches[-1].size]
    lines += [f"Beyond the caches: {quantity(level.latency, 's')}." for level in beyond]
    strange = [cache for cache, level in matched if level is None]
    return [_make_finding(tuple(lines), strange, len(system_caches))]


def _find_matching_level(cache: Cache, flat_parts: Sequence[Level]) -> Level | None:
    """Returns the flat part that ends near the size of the cache, the longest of several."""
    fitting = [level for level in flat_parts if SHORTEST <= level.largest / max(1, cache.size) <= LONGEST]
    return max(fitting, key=lambda level: level.largest, default=None)


def _describe_level(cache: Cache, level: Level | None) -> str:
    name = f"L{cache.level} ({binary_size(cache.size)} reported)"
    if level is None:
        return f"{name}: the latency is not flat up to any size near this one."
    return f"{name}: the latency is {quantity(level.latency, 's')}, and flat up to {binary_size(level.largest)}."


def _make_finding(lines: tuple[str, ...], strange: list[Cache], count: int) -> Finding:
    if not strange:
        return Finding(
            "cache_levels",
            "good",
            f"The latency shows all {count} cache levels that the system reports.",
            lines,
            "Programs can use the caches that the system reports.",
            "",
            BENCHMARK,
        )
    names = ", ".join(f"L{cache.level} ({binary_size(cache.size)})" for cache in strange)
    claim = f"The latency does not show these cache levels that the system reports: {names}."
    cause = (
        "Something else uses a part of the cache, or it is partitioned, so that a program can use only a part of it. "
        "Other possible causes: with small pages, the latency does not show where the cache ends; or a hypervisor reports a "
        "cache that does not exist."
    )
    remedy = advise("Measure more sizes, and use huge pages: ", f"run --preset full --only {BENCHMARK}")
    return Finding(
        "cache_levels", "notice", claim, lines, cause, remedy, BENCHMARK, brief=f"Caches not found: {names}."
    )
