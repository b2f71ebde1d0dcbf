"""Questions about a machine's caches: which a processor has, how much of them a set of processors reaches."""

from collections.abc import Iterable

from steelyard.model import Cache, Machine


def cache_levels(machine: Machine, cpu: int) -> list[Cache]:
    """The data and unified caches of one processor, nearest first; empty when the machine does not tell."""
    caches = (cache for cache in machine.caches if cpu in cache.cpus and cache.kind != "instruction")
    return sorted(caches, key=lambda cache: cache.level)


def reachable_cache(machine: Machine, cpus: Iterable[int]) -> int:
    """Bytes that these processors can keep in their caches: every last-level instance that they reach, once.

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
