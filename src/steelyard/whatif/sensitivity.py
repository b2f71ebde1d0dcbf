"""The gain from a better network or faster cores, one parameter at a time, and where a further change gains nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.whatif.network import INSIDE, Protocol
from steelyard.whatif.question import Point

# Remaining shares of a cost. 0.9 is the tenth less that the sentences state.
FACTORS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)
TENTH = 0.9
ENOUGH = 0.01  # share of the time below which a further reduction does not matter
MATTERS = 0.01  # share of the time that a tenth of a parameter must save to have its own sentence
FREE = 1e9  # speed of cores whose computations take no time


Ask = Callable[[Sequence[Point]], Sequence[float]]  # the times of points, s
Times = Mapping[float, float]  # s, by factor


@dataclass(frozen=True)
class Sensitivity:
    """The times (s) of a parameter's `FACTORS`; none if only some were asked.

    `tenth` and `most` are the shares of the time that a tenth less of the cost and no cost save.

    `enough`: the greatest factor from which on less than a hundredth of the time is left to gain.
    """

    name: str
    times: tuple[float, ...]
    tenth: float
    most: float
    enough: float


def _scale(change: Callable[[Protocol, float], Protocol]) -> Callable[[Point, float], Point]:
    def changed(point: Point, factor: float) -> Point:
        network = point.network

        def each(protocols: tuple[Protocol, ...]) -> tuple[Protocol, ...]:
            return tuple(change(protocol, factor) for protocol in protocols)

        places = {place: each(protocols) for place in INSIDE if (protocols := getattr(network, place))}
        made = replace(network, across=each(network.across), **places)  # type: ignore[arg-type]
        return replace(point, network=made)

    return changed


def _scale_latency(point: Point, factor: float) -> Point:
    """Scales the latency of the network and of the switches."""
    lower, upper = (replace(link, hop=factor * link.hop) for link in point.tree.uplinks)
    return replace(_LATENCY(point, factor), tree=replace(point.tree, uplinks=(lower, upper)))


def _scale_bandwidth(point: Point, factor: float) -> Point:
    lower, upper = (replace(link, G=None if link.G is None else factor * link.G) for link in point.tree.uplinks)
    return replace(_BANDWIDTH(point, factor), tree=replace(point.tree, uplinks=(lower, upper)))


_LATENCY = _scale(lambda p, factor: replace(p, L=factor * p.L))
_BANDWIDTH = _scale(lambda p, factor: replace(p, G=factor * p.G))
_OVERHEAD = _scale(lambda p, factor: replace(p, o=factor * p.o, g=factor * p.g, O=factor * p.O))

# The costs, and functions that return a point with a share of the cost.
PARAMETERS: tuple[tuple[str, Callable[[Point, float], Point]], ...] = (
    ("latency", _scale_latency),
    ("bandwidth", _scale_bandwidth),
    ("overhead of messages", _OVERHEAD),
    ("cores", lambda point, factor: replace(point, core=point.core / factor if factor else FREE)),
)


def measure_gains(base: Point, time: float, ask: Ask, whole: bool = True) -> tuple[Sensitivity, ...]:
    """Returns the gains of a point that takes `time` s, for each cost.

    `whole`: replays all factors. Otherwise it replays only those that the sentences need: no cost and a tenth less of each,
    and enough others of those that matter to find `enough`. A smaller cost never takes longer.
    """
    if whole:
        times = ask([change(base, factor) for _, change in PARAMETERS for factor in FACTORS])
        return tuple(
            _make_sensitivity(name, dict(zip(FACTORS, times[len(FACTORS) * number :], strict=False)))
            for number, (name, _) in enumerate(PARAMETERS)
        )
    ends = iter(ask([change(base, factor) for _, change in PARAMETERS for factor in (TENTH, FACTORS[-1])]))
    times_of: dict[str, dict[float, float]] = {
        name: {1.0: time, TENTH: next(ends), FACTORS[-1]: next(ends)} for name, _ in PARAMETERS
    }
    while asked := [
        (name, change, factor)
        for name, change in PARAMETERS
        if (factor := _next(times_of[name])) is not None and 1 - times_of[name][TENTH] / (time or 1.0) >= MATTERS
    ]:
        for (name, _, factor), answer in zip(asked, ask([c(base, f) for _, c, f in asked]), strict=True):
            times_of[name][factor] = answer
    return tuple(_make_sensitivity(name, times) for name, times in times_of.items())


def _next(times: Times) -> float | None:
    """Returns the next factor to replay, between the last one that leaves a gain and the first one that does not, or None.

    The first one follows from a straight line through the whole cost and a tenth less, on which most times lie. Each further
    one halves the rest.
    """
    indices = [FACTORS.index(factor) for factor in sorted(times, reverse=True)]
    first = next(i for i in indices if not _has_gain_left(times, FACTORS[i]))
    last = max((i for i in indices if i < first), default=first)
    if first - last < 2:
        return None
    if len(times) > 3:
        return FACTORS[(last + first) // 2]
    slope = (times[1.0] - times[TENTH]) / (1.0 - TENTH)
    least = 1.0 - (times[1.0] - times[FACTORS[-1]] - ENOUGH * times[1.0]) / slope
    return min((factor for factor in FACTORS[last + 1 : first] if factor > least), default=FACTORS[last + 1])


def _has_gain_left(times: Times, factor: float) -> bool:
    """Returns whether more than a hundredth of the time can still be saved below a factor."""
    return times[factor] - times[FACTORS[-1]] > ENOUGH * (times[1.0] or 1.0)


def _make_sensitivity(name: str, times: Times) -> Sensitivity:
    first, last = times[1.0], times[FACTORS[-1]]
    enough = next(factor for factor in FACTORS if factor in times and not _has_gain_left(times, factor))
    whole = tuple(times[factor] for factor in FACTORS) if len(times) == len(FACTORS) else ()
    tenth, most = (1 - less / first if first else 0.0 for less in (times[TENTH], last))
    return Sensitivity(name, whole, tenth, most, enough)
