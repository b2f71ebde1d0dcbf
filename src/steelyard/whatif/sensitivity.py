"""What a better network or faster cores would bring, one parameter at a time, and where more of it brings nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.whatif.network import INSIDE, Protocol
from steelyard.whatif.question import Point

# What is left of a cost. At the last nothing is; 0.9 is the tenth that people ask for.
FACTORS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)
TENTH = 0.9
ENOUGH = 0.01  # of the time: what is left to gain where a parameter is said to matter no more
MATTERS = 0.01  # of the time: what a tenth of a parameter brings, where it is worth a word
FREE = 1e9  # speed of cores whose computations take no time


Ask = Callable[[Sequence[Point]], Sequence[float]]  # the times of points, s
Times = Mapping[float, float]  # s, by factor


@dataclass(frozen=True)
class Sensitivity:
    """The times (s) of a parameter's `FACTORS`, or none where not all were asked.

    `tenth` and `most` are shares of the time: what is gained by a tenth and by all of it.

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


def sensitivities(base: Point, time: float, ask: Ask, whole: bool = True) -> tuple[Sensitivity, ...]:
    """What less of each cost would bring to a point that takes `time` s.

    `whole`: with the times of all factors. Without, only those are asked that the sentences need: no cost and a tenth less of
    each, and of those that matter so many that `enough` is between two factors, since less of a cost never takes longer.
    """
    if whole:
        times = ask([change(base, factor) for _, change in PARAMETERS for factor in FACTORS])
        return tuple(
            _of(name, dict(zip(FACTORS, times[len(FACTORS) * number :], strict=False)))
            for number, (name, _) in enumerate(PARAMETERS)
        )
    ends = iter(ask([change(base, factor) for _, change in PARAMETERS for factor in (TENTH, FACTORS[-1])]))
    known: dict[str, dict[float, float]] = {
        name: {1.0: time, TENTH: next(ends), FACTORS[-1]: next(ends)} for name, _ in PARAMETERS
    }
    while asked := [
        (name, change, factor)
        for name, change in PARAMETERS
        if (factor := _between(known[name])) is not None and 1 - known[name][TENTH] / (time or 1.0) >= MATTERS
    ]:
        for (name, _, factor), found in zip(asked, ask([c(base, f) for _, c, f in asked]), strict=True):
            known[name][factor] = found
    return tuple(_of(name, times) for name, times in known.items())


def _between(times: Times) -> float | None:
    """The next factor to ask, between the last that leaves something to gain and the first that does not; None if none is left.

    The first one asked follows from a straight line through the whole cost and a tenth less, which most times lie on; each
    further one halves those that are left.
    """
    known = [FACTORS.index(factor) for factor in sorted(times, reverse=True)]
    first = next(i for i in known if not _gains(times, FACTORS[i]))
    last = max((i for i in known if i < first), default=first)
    if first - last < 2:
        return None
    if len(times) > 3:
        return FACTORS[(last + first) // 2]
    slope = (times[1.0] - times[TENTH]) / (1.0 - TENTH)
    least = 1.0 - (times[1.0] - times[FACTORS[-1]] - ENOUGH * times[1.0]) / slope
    return min((factor for factor in FACTORS[last + 1 : first] if factor > least), default=FACTORS[last + 1])


def _gains(times: Times, factor: float) -> bool:
    """Whether from a factor on more than a hundredth of the time is left to gain."""
    return times[factor] - times[FACTORS[-1]] > ENOUGH * (times[1.0] or 1.0)


def _of(name: str, times: Times) -> Sensitivity:
    first, last = times[1.0] or 1.0, times[FACTORS[-1]]
    enough = next(factor for factor in FACTORS if factor in times and not _gains(times, factor))
    whole = tuple(times[factor] for factor in FACTORS) if len(times) == len(FACTORS) else ()
    return Sensitivity(name, whole, 1 - times[TENTH] / first, 1 - last / first, enough)
