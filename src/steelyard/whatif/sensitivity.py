"""What a better network or faster cores would bring, one parameter at a time, and where more of it brings nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from steelyard.whatif.network import INSIDE, Protocol
from steelyard.whatif.question import Point

# What is left of a cost. At the last nothing is; 0.9 is the tenth that people ask for.
FACTORS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)
TENTH = 0.9
ENOUGH = 0.01  # of the time: what is left to gain where a parameter is said to matter no more
FREE = 1e9  # speed of cores whose computations take no time


@dataclass(frozen=True)
class Sensitivity:
    """The times (s) of a parameter's `FACTORS`; shares of the time: `tenth` and `most` are gained by a tenth and by all of it.

    `enough`: the greatest factor from which on less than a hundredth of the time is left to gain.
    """

    name: str
    times: tuple[float, ...]
    tenth: float
    most: float
    enough: float


def _cheaper(change: Callable[[Protocol, float], Protocol]) -> Callable[[Point, float], Point]:
    def changed(point: Point, factor: float) -> Point:
        network = point.network

        def each(protocols: tuple[Protocol, ...]) -> tuple[Protocol, ...]:
            return tuple(change(protocol, factor) for protocol in protocols)

        own = {place: each(protocols) for place in INSIDE if (protocols := getattr(network, place))}
        made = replace(network, across=each(network.across), **own)  # type: ignore[arg-type]
        return replace(point, network=made)

    return changed


def _of_links(point: Point, factor: float) -> Point:
    """Latency is that of switches, too."""
    lower, upper = (replace(link, hop=factor * link.hop) for link in point.tree.uplinks)
    return replace(_LATENCY(point, factor), tree=replace(point.tree, uplinks=(lower, upper)))


def _of_rates(point: Point, factor: float) -> Point:
    lower, upper = (replace(link, G=None if link.G is None else factor * link.G) for link in point.tree.uplinks)
    return replace(_BANDWIDTH(point, factor), tree=replace(point.tree, uplinks=(lower, upper)))


_LATENCY = _cheaper(lambda p, factor: replace(p, L=factor * p.L))
_BANDWIDTH = _cheaper(lambda p, factor: replace(p, G=factor * p.G))
_OVERHEAD = _cheaper(lambda p, factor: replace(p, o=factor * p.o, g=factor * p.g, O=factor * p.O))

# What a user would buy, and the point with so much less of its cost.
PARAMETERS: tuple[tuple[str, Callable[[Point, float], Point]], ...] = (
    ("latency", _of_links),
    ("bandwidth", _of_rates),
    ("overhead of messages", _OVERHEAD),
    ("cores", lambda point, factor: replace(point, core=point.core / factor if factor else FREE)),
)


def points(base: Point) -> list[Point]:
    """The points to replay, by parameter, then by factor."""
    return [change(base, factor) for _, change in PARAMETERS for factor in FACTORS]


def sensitivities(times: list[float]) -> tuple[Sensitivity, ...]:
    """From the times of `points`."""
    found = []
    for number, (name, _) in enumerate(PARAMETERS):
        own = tuple(times[number * len(FACTORS) : (number + 1) * len(FACTORS)])
        first = own[0] or 1.0
        enough = next(f for f, time in zip(FACTORS, own, strict=True) if time - own[-1] <= ENOUGH * first)
        tenth = 1 - own[FACTORS.index(TENTH)] / first
        found.append(Sensitivity(name, own, tenth, 1 - own[-1] / first, enough))
    return tuple(found)
