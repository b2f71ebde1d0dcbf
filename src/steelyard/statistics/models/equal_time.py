"""The count of ranks or nodes at which a program reaches a given time, with an interval, from times at measured counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from steelyard.statistics.models.scaling_models import AMDAHL, DRAWS, REACH, SEED, USL, Costs, predict
from steelyard.statistics.samples.interval import Array, normal_quantile

How = Literal["interpolated", "extrapolated", "equal", "fewer", "more"]
Z = normal_quantile(0.95)
STEPS = 48  # grid points between two measured counts, and from the greatest one to the furthest
# Share of the difference between the smooth and the straight line through the measured times by which the smooth line may be
# wrong: enough for Amdahl's law and the universal scalability law with counts that double (tests/core/test_equal_time.py).
CURVED = 0.6
LEAST_ERROR = 1e-6  # least error of a logarithm, for the weights of a fit


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The count at which the time is reached, with its 95 % interval; an end that the measured counts do not show is None.

    "interpolated": between two measured counts. "extrapolated": beyond the greatest one, by a `law` that describes the times.
    "equal": the time at the measured `count` is the same within the intervals. "fewer": even the fewest that were measured
    (`count`) need less time; `high` are enough unless fewer are less efficient. "more": all measured counts need more time, and
    `count` is the fastest of them.
    """

    count: float
    low: float | None
    high: float | None
    how: How
    law: str = ""


@dataclass(frozen=True)
class _Curve:
    """Logarithms on a grid: of the count, of the time, and of the factors by which the time may be lower or higher (95 %)."""

    counts: Array
    times: Array
    down: Array
    up: Array

    def margins(self, time: float, error: float) -> Array:
        """Returns for each point how far its time is from `time` beyond both intervals; at most 0 if they may be equal."""
        gap = self.times - time
        allowed = np.hypot(np.where(gap > 0, self.down, self.up), Z * error)
        margins: Array = np.abs(gap) - allowed
        return margins

    def beyond(self, other: "_Curve") -> "_Curve":
        """Returns this curve followed by the other one."""
        pairs = zip((self.counts, self.times, self.down, self.up), _split_curve(other), strict=True)
        return _Curve(*(np.concatenate(pair) for pair in pairs))


def solve_count(
    counts: Sequence[int], logs: Sequence[float], errors: Sequence[float], time: float, error: float
) -> Reached:
    """Returns the count at which the time falls to `time`, the logarithm of seconds, with its standard error.

    `logs` and their standard errors `errors` are those of the times at `counts`, in rising order. Between two counts, the time
    follows a smooth line through the logarithms. Beyond them it follows a law of scaling that describes the times, up to `REACH`
    times the greatest count. The interval contains all counts around the solution whose time may be `time`.
    Raises ValueError if there is no count.
    """
    if not counts:
        raise ValueError("there is no count with a time; expected at least one")
    place, heights, spreads = np.log(np.asarray(counts, float)), np.asarray(logs, float), np.asarray(errors, float)
    curve = _interpolate_curve(place, heights, spreads)
    at = _find_crossing(curve.times, time)
    how: How = "interpolated"
    if at is None:
        gaps = np.abs(heights - time)
        nearest = int(np.argmin(gaps - np.hypot(Z * spreads, Z * error)))
        if gaps[nearest] <= Z * math.hypot(spreads[nearest], error):
            at, how = float(nearest * STEPS), "equal"
        elif heights[0] < time:
            # By the efficiency of the fewest: less of them are hardly ever less efficient.
            most = counts[0] * math.exp(heights[0] - time + Z * math.hypot(spreads[0], error))
            return Reached(count=counts[0], low=None, high=min(max(1.0, most), counts[0]), how="fewer")
    law = ""
    if at is None or curve.margins(time, error)[-1] <= 0:
        further, law = _extrapolate(tuple(counts), tuple(logs), tuple(errors))
        end = len(curve.times) - 1
        curve = curve.beyond(further)
        if at is None and (beyond := _find_crossing(curve.times, time)) is not None and law:
            at, how = max(beyond, end), "extrapolated"
    if at is None:
        fastest = counts[int(np.argmin(heights))]
        return Reached(count=fastest, low=fastest, high=None, how="more")
    low, high = _find_ends(curve, at, time, error)
    return Reached(count=_find_count(curve, at), low=low, high=high, how=how, law=law if how == "extrapolated" else "")


def _split_curve(curve: _Curve) -> tuple[Array, Array, Array, Array]:
    return curve.counts, curve.times, curve.down, curve.up


def _find_crossing(times: Array, time: float) -> float | None:
    """Returns the first place on the grid at which the curve falls to the time; None if it does not, or begins there."""
    if times[0] <= time:
        return None
    below = np.flatnonzero((times[1:] <= time) & (times[:-1] > time))
    if not below.size:
        return None
    first = int(below[0])
    return first + float((times[first] - time) / (times[first] - times[first + 1]))


def _find_count(curve: _Curve, at: float) -> float:
    return math.exp(float(np.interp(at, np.arange(len(curve.counts)), curve.counts)))


def _find_ends(curve: _Curve, at: float, time: float, error: float) -> tuple[float | None, float | None]:
    """Returns the ends of the counts around the place whose times may be equal; None for an end beyond the grid."""
    margins = curve.margins(time, error)
    left = np.flatnonzero(margins[: math.floor(at) + 1] > 0)
    right = np.flatnonzero(margins[math.ceil(at) :] > 0)
    low = high = None
    if left.size:
        low = min(_find_zero(margins, int(left[-1]), int(left[-1]) + 1), at)
    if right.size:
        first = math.ceil(at) + int(right[0])
        high = max(_find_zero(margins, first, first - 1), at)
    return tuple(None if end is None else _find_count(curve, end) for end in (low, high))  # type: ignore[return-value]


def _find_zero(margins: Array, outside: int, inside: int) -> float:
    """Returns the place between two neighbours at which the margin is 0."""
    if not 0 <= inside < len(margins) or margins[inside] > 0:
        return float(outside)
    share = float(margins[outside] / (margins[outside] - margins[inside]))
    return outside + share * (inside - outside)


# --------------------------------------------------------------------------- between the measured counts


def _interpolate_curve(place: Array, heights: Array, spreads: Array) -> _Curve:
    """Returns the curve through the measured times. The smooth line blends the parabolas of each two neighbouring triples.

    Source: A. W. Overhauser 1968, Ford Motor Company technical report SL 68-40.
    """
    if len(place) == 1:
        return _Curve(place, heights, Z * spreads, Z * spreads)
    steps = np.linspace(0, 1, STEPS, endpoint=False)
    grid = np.append((place[:-1, None] + np.diff(place)[:, None] * steps).ravel(), place[-1])
    segment = np.minimum(np.arange(len(grid)) // STEPS, len(place) - 2)
    straight = np.zeros((len(grid), len(place)))
    rows = np.arange(len(grid))
    share = (grid - place[segment]) / (place[segment + 1] - place[segment])
    straight[rows, segment], straight[rows, segment + 1] = 1 - share, share
    smooth = _blend_segments(place, grid, segment, share) if len(place) > 2 else straight
    times = smooth @ heights
    half = Z * np.sqrt(smooth**2 @ spreads**2)
    curved = CURVED * np.abs(times - straight @ heights)
    if len(place) > 2:
        return _Curve(grid, times, half + curved, half + curved)
    # Two counts do not show the curve between them: it is not steeper than the ideal, and does not rise.
    ideal = np.maximum(heights[0] - (grid - place[0]), np.minimum(heights[1], heights[0]))
    return _Curve(grid, times, half + np.maximum(0.0, times - ideal), half)


def _blend_segments(place: Array, grid: Array, segment: Array, share: Array) -> Array:
    """Returns the weights of the measured times at each point of the grid (grid × counts)."""
    weights = np.zeros((len(grid), len(place)))
    last = len(place) - 3
    for side, part in ((segment - 1, 1 - share), (segment, share)):
        first = np.clip(side, 0, last)  # first index of the three points
        for k in range(3):
            others = [first + j for j in range(3) if j != k]
            factor = np.ones(len(grid))
            for other in others:
                factor *= (grid - place[other]) / (place[first + k] - place[other])
            weights[np.arange(len(grid)), first + k] += part * factor
    return weights


# --------------------------------------------------------------------------- beyond the measured counts


@lru_cache(maxsize=256)  # a side is asked for the times of many others
def _extrapolate(counts: tuple[int, ...], logs: tuple[float, ...], errors: tuple[float, ...]) -> tuple[_Curve, str]:
    """Returns the curve beyond the greatest count, and the law that it follows; without points and "" if no law holds.

    The interval includes those of all laws that describe the measured times.
    """
    scatter = np.random.default_rng(SEED).standard_normal((DRAWS, len(counts)))
    costs = Costs(counts, np.asarray(logs, float), np.maximum(errors, LEAST_ERROR), scatter)
    grid = math.log(counts[-1]) + math.log(REACH) * np.arange(1, STEPS + 1) / STEPS
    made = [(law.name, *both) for law in (USL, AMDAHL) if (both := predict(law, costs, np.exp(grid)))]
    if not made:
        none = np.zeros(0)
        return _Curve(none, none, none, none), ""
    name, times, _ = made[0]
    ends = [np.quantile(drawn, (0.025, 0.975), axis=0) for _, _, drawn in made]
    low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
    return _Curve(grid, times, np.maximum(0.0, times - low), np.maximum(0.0, high - times)), name
