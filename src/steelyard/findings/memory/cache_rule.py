"""Rule: vectors that are too small for STREAM's rule measure the caches, not the memory."""

from steelyard.benchmarks.memory.stream import CACHE_RULE, LARGEST_SHARE, VECTORS
from steelyard.errors import SteelyardError
from steelyard.machine.caches import reachable_cache
from steelyard.machine.placement import place
from steelyard.model import Evaluation, Finding, Machine
from steelyard.statistics.results import cases
from steelyard.units import binary_size, percent

BENCHMARK = "memory.stream"
LEAST = 0.1  # of a pass that comes from memory, at least supposed


def find(evaluation: Evaluation) -> list[Finding]:
    """A notice where the largest vectors are smaller than the rule asks, or where it cannot be checked."""
    stream = [r for r in evaluation.results if r.benchmark == BENCHMARK and r.metrics]
    sizes = [n for r in stream if (n := cases.number(r, "elements"))]
    if not sizes:
        return []
    vector = int(max(sizes)) * 8
    threads = max((int(cases.number(r, "threads") or 1) for r in stream), default=1)
    machine = evaluation.run.machine
    cache = reachable_cache(machine, _cpus(machine, threads))
    if not cache:
        return [_unknown(vector)]
    needed = CACHE_RULE * cache
    if vector >= needed - 64:  # the number of elements is rounded down to whole lines
        return []
    return [_too_small(machine, vector, cache, needed)]


def _cpus(machine: Machine, threads: int) -> tuple[int, ...]:
    try:
        return place(machine, threads, "compact") or machine.cpus
    except SteelyardError:
        return machine.cpus


def _unknown(vector: int) -> Finding:
    return Finding(
        "cache_rule",
        "notice",
        f"Whether vectors of {binary_size(vector)} are large enough cannot be said: no cache size is known.",
        ("Neither the kernel's files nor lstopo tell the caches of this machine.",),
        "A hypervisor or a container hides them.",
        f"Look whether the bandwidth still falls with larger vectors: steelyard run --only {BENCHMARK} --set "
        f"kernel=triad --set elements={vector // 2},{vector // 8 * 4}",
        BENCHMARK,
    )


def _too_small(machine: Machine, vector: int, cache: int, needed: int) -> Finding:
    possible = int(machine.memory_available * LARGEST_SHARE)
    evidence = [
        f"The last-level caches that the threads reach hold {binary_size(cache)} together.",
        f"STREAM's rule asks for {CACHE_RULE} times that in each of {VECTORS} vectors: {binary_size(needed)}.",
    ]
    if VECTORS * needed > possible:
        evidence.append(
            f"That is {binary_size(VECTORS * needed)} in all, and {binary_size(possible)} of memory may be "
            f"used ({percent(LARGEST_SHARE)} of what was free)."
        )
        cause = "There is too little free memory for the rule."
        remedy = "Free memory or lift the container's limit (steelyard doctor names it), then run again."
    else:
        cause = "The size was set smaller than the rule asks."
        remedy = f"Let the rule choose the size: steelyard run --only {BENCHMARK} (without --set elements=…)."
    return Finding(
        "cache_rule",
        "notice",
        f"The largest vectors have {binary_size(vector)} each, {vector / cache:.2g} times the last-level "
        "caches: a part of every pass may come from a cache.",
        tuple(evidence),
        cause,
        remedy,
        BENCHMARK,
        # Of a pass over all vectors so much may come from the caches, and cost nothing beside the rest.
        effect=1 / max(1 - cache / (VECTORS * vector), LEAST),
        reach="figures",
    )
