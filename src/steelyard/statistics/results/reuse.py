"""Curves of message benchmarks with reused buffers, compared with fresh buffers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from steelyard.model import Machine, Result
from steelyard.statistics.models.artefact import Artefact, Caches, Point, find_artefact
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import identity

# Greatest over least bandwidth of the interval of a size; a wider one gives no factor.
KNOWN = 1.5


class Reuse(NamedTuple):
    """The artefact on the `curve` of reused buffers; `compared` sizes have both kinds of buffers."""

    curve: list[Result]
    compared: int
    caches: Caches
    artefact: Artefact


def artefacts(results: Iterable[Result], machine: Machine, buffers: int) -> Iterator[Reuse]:
    """Yields each curve of a kernel on which reuse changes the bandwidth, without oversubscribed results.

    `buffers` is the number of buffers of the message size that each rank uses.
    """
    usual = cases.select(results, transport="default")
    usual = [r for r in usual if not messages.oversubscribed(r)]
    fresh = {
        identity(curve[0], messages.SIZE, "buffers"): _select_precise_points(curve)
        for curve in messages.curves(cases.select(usual, buffers="fresh"))
    }
    for curve in messages.curves(cases.select(usual, buffers="reused")):
        reused = _select_precise_points(curve)
        other = fresh.get(identity(curve[0], messages.SIZE, "buffers"), [])
        caches = messages.caches(machine, curve[0])
        difference = find_artefact(reused, other, caches, buffers)
        if difference:
            yield Reuse(curve, len({p.size for p in reused} & {p.size for p in other}), caches, difference)


def _select_precise_points(curve: list[Result]) -> list[Point]:
    points = messages.points(curve, "bandwidth")
    return [p for p in points if p.low is not None and p.high is not None and p.high <= KNOWN * p.low]
