"""Sizes of messages, relations of pairs and numbers of ranks that the network's benchmarks share."""

from collections.abc import Iterable

from steelyard.machine.rank_placement import pair_placements
from steelyard.model import Effort, Machine, Result
from steelyard.model.figure import Band
from steelyard.statistics.results.reuse import artefacts

HOLDS = {
    "core": "only a core's own cache gives it",
    "last": "only the last-level cache gives it",
    "memory": "only reuse gives it",
}

LARGEST = 64 << 20
BUFFERS = ("reused", "fresh")


def message_sizes(effort: Effort, least: int = 0, largest: int = LARGEST) -> tuple[int, ...]:
    """0 and the powers of two up to `largest` bytes; in a quick run every fourth power (every second from 32 KiB to 4 MiB,
    where caches and protocols show)."""
    powers = [1 << k for k in range(27)]
    if effort.name == "quick":
        powers = [8, 128, 1 << 11, 1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 20, 1 << 22]
    return tuple(size for size in (0, *powers) if least <= size <= largest)


def pairs(machine: Machine) -> tuple[str, ...]:
    """The relations that two ranks can have; "compact" on a machine with one processor, where they take turns."""
    return pair_placements(machine) or ("compact",)


def rank_counts(machine: Machine) -> tuple[int, ...]:
    """2, 4, 8 … and as many as there are processors (or slots of the hosts)."""
    most = max(2, sum(h.slots for h in machine.hosts) or len(machine.cpus))
    counts = [2]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return tuple(counts) if most == 2 else (*counts, most)


def reuse_bands(results: Iterable[Result], machine: Machine, buffers: int) -> tuple[Band, ...]:
    """The sizes at which reused buffers look faster than they are, by the cache that explains it: of the nearest pair.

    The results are of one kernel. `buffers`: of the size of a message, that each rank uses.
    """
    observed = next(artefacts(results, machine, buffers), None)
    if observed is None:
        return ()
    # A region reaches half an octave beyond its sizes, so that a single one has a width, too.
    return tuple(Band(part.first / 2**0.5, part.last * 2**0.5, HOLDS[part.place]) for part in observed.artefact.parts)
