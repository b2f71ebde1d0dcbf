"""The cache artefact of message benchmarks: the bandwidth that only reused buffers reach, and the cache that explains it.

Source: an evaluation of an HA8000 cluster (Opteron 8356) with IMB Sendrecv, whose two buffers of 32 to 128 kB stayed in
the second cache of a core, and showed a bandwidth that no application gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

RATIO = 1.2  # ratio of the bandwidths; above it, reuse has changed the result
Place = Literal["core", "last", "memory"]


class Point(NamedTuple):
    """Bandwidth (B/s) at a message of `size` bytes: the median and its interval; None: no interval can be stated."""

    size: float
    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Caches:
    """Bytes of the cache that each core has alone (`core`: L2) and of the last level (`last`); None: there is none.

    `sharing` is how many of the communicating ranks share one instance of the last level.
    """

    core: int | None
    last: int | None
    sharing: int = 1


@dataclass(frozen=True)
class Part:
    """Sizes `first` … `last` whose buffers one cache holds ("core", "last") or none ("memory")."""

    first: float
    last: float
    place: Place
    explanation: str


@dataclass(frozen=True, kw_only=True)
class Artefact:
    """At the sizes from `first` to `last` (bytes) a reused buffer is faster than fresh ones by more than a fifth.

    `sizes` are those at which it was observed. It is greatest at `size`: `factor` times, `apparent` instead of `bandwidth`
    (B/s, with its interval `low` … `high`), on which an application can count. `parts` say by which cache.
    """

    first: float
    last: float
    sizes: tuple[float, ...]
    size: float
    factor: float
    apparent: float
    bandwidth: float
    low: float | None
    high: float | None
    parts: tuple[Part, ...]


def find_artefact(
    reused: Sequence[Point], fresh: Sequence[Point], caches: Caches, buffers: int = 2, ratio: float = RATIO
) -> Artefact | None:
    """Returns the artefact of two curves; None if they agree within `ratio` or their intervals overlap.

    Sizes that only one curve has do not count, nor those without an interval or a bandwidth. `buffers` of the size of
    a message are used by each rank: one to send from and one to receive into.
    """
    by_size = {point.size: point for point in fresh}
    differing = [
        (point, by_size[point.size])
        for point in sorted(reused)
        if point.size in by_size and _is_different(point, by_size[point.size], ratio)
    ]
    if not differing:
        return None
    most, honest = max(differing, key=lambda pair: pair[0].median / pair[1].median)
    sizes = tuple(point.size for point, _ in differing)
    factor = most.median / honest.median
    return Artefact(
        first=sizes[0],
        last=sizes[-1],
        sizes=sizes,
        size=most.size,
        factor=factor,
        apparent=most.median,
        bandwidth=honest.median,
        low=honest.low,
        high=honest.high,
        parts=_find_parts(sizes, caches, buffers),
    )


def place(size: float, caches: Caches, buffers: int = 2) -> Place:
    """Returns where reused buffers of messages of `size` bytes stay.

    They stay in the private cache of the core if the buffers of a rank are smaller than it. Otherwise they stay in the
    last-level cache if the buffers of all ranks that share it fit, or in memory.
    """
    if caches.core is not None and buffers * size < caches.core:
        return "core"
    if caches.last is not None and caches.sharing * buffers * size <= caches.last:
        return "last"
    return "memory"


def _is_different(reused: Point, fresh: Point, ratio: float) -> bool:
    if reused.low is None or fresh.high is None or fresh.median <= 0:
        return False
    return reused.median > ratio * fresh.median and reused.low > fresh.high


def _find_parts(sizes: Sequence[float], caches: Caches, buffers: int) -> tuple[Part, ...]:
    groups: dict[Place, list[float]] = {}
    for size in sizes:
        groups.setdefault(place(size, caches, buffers), []).append(size)
    return tuple(Part(min(g), max(g), where, _explain_artefact(where, caches, buffers)) for where, g in groups.items())


def _explain_artefact(where: Place, caches: Caches, buffers: int) -> str:
    of_rank = f"the {buffers} buffers of a rank" if buffers > 1 else "the buffer of a rank"
    if where == "core":
        return f"{of_rank} stay in the cache of its core"
    if where == "last":
        together = f"the buffers of the {caches.sharing} ranks that share it" if caches.sharing > 1 else of_rank
        outgrown = "" if caches.core is None else f"{of_rank} do not fit the cache of its core; "
        return f"{outgrown}{together} stay in the last-level cache"
    return "no known cache holds the buffers; pages that are already mapped or another cache may explain the difference"
