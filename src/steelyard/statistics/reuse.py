"""What only reused buffers give in the results of message benchmarks: curve by curve, beside those of fresh buffers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from steelyard.model import Machine, Result
from steelyard.statistics import cases, messages
from steelyard.statistics.artefact import Artefact, Caches, Point, artefact
from steelyard.statistics.identity import identity

# Buffers of the size of a message that each rank uses.
BUFFERS = {
    ("network.pingpong", "pingpong"): 2,
    ("network.sendrecv", "sendrecv"): 2,
    ("network.sendrecv", "exchange"): 4,
}
# Greatest over least bandwidth of a size's interval: of a wider one no factor can be told.
KNOWN = 1.5


class Seen(NamedTuple):
    """What only reuse gives on the `curve` of reused buffers; `compared` sizes have both kinds."""

    curve: list[Result]
    compared: int
    caches: Caches
    artefact: Artefact


def artefacts(results: Iterable[Result], machine: Machine, benchmark: str, kernel: str) -> Iterator[Seen]:
    """Each curve on which reuse changes the bandwidth; those of crowded processors are left out."""
    usual = cases.where(results, transport="default")
    usual = [r for r in usual if r.benchmark == benchmark and not messages.oversubscribed(r)]
    fresh = {
        identity(curve[0], messages.SIZE, "buffers"): _known(curve)
        for curve in messages.curves(cases.where(usual, buffers="fresh"), benchmark, kernel)
    }
    for curve in messages.curves(cases.where(usual, buffers="reused"), benchmark, kernel):
        reused = _known(curve)
        other = fresh.get(identity(curve[0], messages.SIZE, "buffers"), [])
        caches = messages.caches(machine, curve[0])
        seen = artefact(reused, other, caches, BUFFERS[benchmark, kernel])
        if seen:
            yield Seen(curve, len({p.size for p in reused} & {p.size for p in other}), caches, seen)


def _known(curve: list[Result]) -> list[Point]:
    found = messages.points(curve, "bandwidth")
    return [p for p in found if p.low is not None and p.high is not None and p.high <= KNOWN * p.low]
