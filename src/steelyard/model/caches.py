"""Questions about a machine's caches: which a processor has, how much of them a set of processors reaches."""

from collections.abc import Iterable

from steelyard.model import Cache, Machine

MEMORY = "memory"
# The bandwidth of a cache uses working sets of at most half of it and at least twice the level before.
WELL_INSIDE, WELL_BEYOND, ROOMY = 0.5, 2.0, 0.75


def cache_levels(machine: Machine, cpu: int) -> list[Cache]:
    """Returns the data and unified caches of one processor, nearest first. It is empty if the system lists no caches."""
    caches = (cache for cache in machine.caches if cpu in cache.cpus and cache.kind != "instruction")
    return sorted(caches, key=lambda cache: cache.level)


def reachable_cache(machine: Machine, cpus: Iterable[int]) -> int:
    """Returns the bytes that these processors can keep in their caches: every last-level instance that they reach, once.

    Where the last level does not repeat what level 2 holds (`inclusive` is False), the level 2 instances
    count as well. 0 when no cache is known: then a size has to be chosen in another way. STREAM's arrays are
    sized by it (J. McCalpin's run rules: four times all last-level caches).
    """
    wanted, levels_of = set(cpus), dict[int, list[Cache]]()
    for cache in sorted(machine.caches, key=lambda cache: cache.level):
        if cache.kind != "instruction":
            for cpu in wanted.intersection(cache.cpus):
                levels_of.setdefault(cpu, []).append(cache)
    counted: set[Cache] = set()
    for levels in levels_of.values():
        counted.add(levels[-1])
        if levels[-1].inclusive is False:
            counted.update(cache for cache in levels if cache.level == 2)
    return sum(cache.size for cache in counted)


def level_of(size: float, threads: int, machine: Machine) -> str | None:
    """Returns the level ("L1" …, "memory") of a working set that the first `threads` processors share; None: between two levels.

    A working set fits a cache if it leaves some room, and the last-level cache, which is shared, if it takes half of its
    size. A greater one that is less than twice the last-level cache lies partly in it.
    """
    levels = capacities(threads, machine)
    shares = [ROOMY] * (len(levels) - 1) + [WELL_INSIDE if len(levels) > 1 else ROOMY]
    name = next((name for (name, capacity), part in zip(levels, shares, strict=False) if size <= part * capacity), None)
    if name or not levels:
        return name
    return MEMORY if size >= WELL_BEYOND * levels[-1][1] else None


def capacities(threads: int, machine: Machine) -> list[tuple[str, int]]:
    """Returns the bytes of each cache level that the first `threads` processors use, the nearest first."""
    reached = {cache for cpu in machine.cpus[:threads] for cache in cache_levels(machine, cpu)}
    return [(f"L{n}", sum(c.size for c in reached if c.level == n)) for n in sorted({c.level for c in reached})]
