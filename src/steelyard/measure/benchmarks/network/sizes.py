"""Message sizes, placements of pairs and numbers of ranks that the network benchmarks share."""

import math
from collections.abc import Iterable

from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.measure.machine.rank_placement import pair_placements
from steelyard.model import Effort, Limit, Machine, Result
from steelyard.model.benchmark import Demands
from steelyard.model.figure import Band
from steelyard.statistics.results.reuse import artefacts

HOLDS = {
    "core": "only because the buffers fit the core's own cache",
    "last": "only because the buffers fit the last-level cache",
    "memory": "only because the buffers are reused",
}

LARGEST = 64 << 20
BUFFERS = ("reused", "fresh")
ANYWHERE = (*BUFFERS, "device")  # buffers that a user may ask for
# Conditions that several programs set for a case.
TWO_RANKS: Demands = {"ranks must be 2 or more": lambda p: p["ranks"] >= 2}
RANKS_FOR_PAIRS: Demands = {"pairs must be at most half of the ranks": lambda p: 2 * p["pairs"] <= p["ranks"]}


def message_sizes(effort: Effort, least: int = 0, largest: int = LARGEST) -> tuple[int, ...]:
    """Returns 0 and the powers of two up to `largest` bytes.

    A quick run has every fourth power, and every second one where caches and protocols matter.
    """
    powers = [1 << k for k in range(27)]
    if effort.name == "quick":
        powers = [8, 128, 1 << 11, 1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 20, 1 << 22]
    return tuple(size for size in (0, *powers) if least <= size <= largest)


def pairs(machine: Machine) -> tuple[str, ...]:
    """Returns the possible placements of two ranks; "compact" with one processor, on which they take turns."""
    return pair_placements(machine) or ("compact",)


def rank_counts(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """Returns 2, 4, 8 … and the number of processors (or of slots of the hosts).

    A quick run has three: 2, those of a memory node (or a host; without several, one in the middle), and all.
    """
    most = max(2, sum(h.slots for h in machine.hosts) or len(machine.cpus))
    if effort.name == "quick":
        parts = [h.slots for h in machine.hosts] or [len(node.cpus) for node in main_nodes(machine.nodes)]
        middle = parts[0] if len(parts) > 1 else 1 << round(math.log2(2 * most) / 2)
        return tuple(sorted({2, min(max(2, middle), most), most}))
    counts = [2]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return tuple(counts) if most == 2 else (*counts, most)


def limit_of_link(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the link's rate for a bandwidth, if a system file gives it and the ranks are on two nodes."""
    across = result.parameters.get("placement") == "other node"
    return machine.limits.get("network_bandwidth") if metric == "bandwidth" and across else None


def reuse_bands(results: Iterable[Result], machine: Machine, buffers: int) -> tuple[Band, ...]:
    """Returns the sizes at which reused buffers appear too fast, with the cache that explains it, for the nearest pair.

    The results are of one kernel. `buffers`: number of buffers of the message size that each rank uses.
    """
    reuse = next(artefacts(results, machine, buffers), None)
    if reuse is None:
        return ()
    # A region reaches half an octave beyond its sizes, so that a single size has a width, too.
    return tuple(Band(part.first / 2**0.5, part.last * 2**0.5, HOLDS[part.place]) for part in reuse.artefact.parts)
