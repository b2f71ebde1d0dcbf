"""The difference of two devices' clocks, from the moments at which each one measured the same changes of power."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.measure.telemetry.energy import NANO, Course, course
from steelyard.model.sensor import Trace, Values
from steelyard.statistics.samples.distribution_functions import stdtrit

REACH = 60.0  # seconds that the clocks may differ by at most: those of machines without time service drift apart so far in weeks
SHARE = 3  # and a third of the time that both traces tell of: the rest must still overlap
PARTS = 8  # parts of the changes, which are examined separately: chance rarely puts most of them at one place
AGREE = 6  # parts that must agree on the offset
CHOICE = 10  # places at each side that can be distinguished, at least: among few, parts agree by chance
RIVAL = 0.8  # of the greatest correlation: where another place has as much, the load repeats itself, and either may be meant
SCALES = (
    1,
    4,
    16,
)  # steps of the slower sensor over which a change is computed: noise hides fast changes, but not slow ones
FINER = 8  # points of the grid for each step of the slower sensor
MOST = 1 << 20  # points of the grid: 4 hours of readings 0.1 s apart at the finest
SURE = 0.95


@dataclass(frozen=True)
class Offset:
    """The second clock is `seconds` behind the first (negative: before it), with its 95 % interval `low` … `high`.

    `correlation` of the changes of power when they are laid upon each other, at most 1.
    """

    seconds: float
    low: float
    high: float
    correlation: float


@dataclass(frozen=True)
class _Changes:
    """The changes of power (W) of two sensors at the points of a common grid of `step` seconds; `slow`: the resolution (s)."""

    a: Values
    b: Values
    step: float
    slow: float


def estimate_offset(a: Trace, b: Trace, reach: float = REACH) -> Offset | None:
    """Returns by how much b's clock is behind a's, for two sensors of power or energy that measure the same load.

    None if they have no changes in common, or if the changes repeat, so that several offsets are equally likely.
    """
    first, second = course(a), course(b)
    if not first or not second:
        return None
    usual = max(_find_time_step(first), _find_time_step(second))
    doubt = usual / FINER + _estimate_time_error(first) + _estimate_time_error(second)
    for scale in SCALES:
        changes = _find_changes(first, second, scale * usual)
        result = _fit_offset(changes, reach, doubt) if changes else None
        if result:
            return result
    return None


def _find_time_step(course: Course) -> float:
    """Returns the resolution of the sensor in time, in seconds."""
    return max(float(np.median(np.diff(course.at))), course.sensor.window, course.sensor.update)


def _estimate_time_error(course: Course) -> float:
    """Returns the error of a reading's time, in seconds: a value may be as old as the update period of the device."""
    return course.blur + (course.sensor.update if course.sensor.quantity == "power" else 0.0)


def _fit_offset(changes: _Changes, reach: float, doubt: float) -> Offset | None:
    most = min(int(reach / changes.step), len(changes.a) // SHARE)
    whole = _correlate_changes(changes, slice(0, len(changes.a)), most)
    best = int(np.argmax(whole))
    if most * changes.step < CHOICE * changes.slow or not whole[best] > 0 or _has_rival_peak(whole, best, changes):
        return None
    places = [_find_peak_position(_correlate_changes(changes, part, most)) - most for part in _split_changes(changes)]
    near = [place * changes.step for place in places if abs(place - (best - most)) * changes.step <= changes.slow / 2]
    if len(near) < AGREE:
        return None
    middle = (_find_peak_position(whole) - most) * changes.step
    spread = float(np.std(near, ddof=1)) / len(near) ** 0.5 * float(stdtrit(len(near) - 1, (1 + SURE) / 2))
    width = spread + doubt
    return Offset(-middle, -middle - width, -middle + width, float(whole[best]))


def _find_changes(a: Course, b: Course, slow: float) -> _Changes | None:
    """Returns None if the two courses do not overlap for long enough."""
    shift = (b.origin - a.origin) * NANO
    begin, end = max(a.at[0], b.at[0] + shift), min(a.at[-1], b.at[-1] + shift)
    step = max(slow / FINER, (end - begin) / MOST)
    grid = np.arange(begin + slow, end - slow, step)
    if len(grid) < PARTS * FINER:
        return None
    return _Changes(_find_power_changes(a, grid, slow), _find_power_changes(b, grid - shift, slow), step, slow)


def _find_power_changes(course: Course, grid: Values, slow: float) -> Values:
    """Returns the mean power of the `slow` seconds after each moment minus that of those before it; 0 in gaps."""
    joules = [np.interp(grid + late, course.at, course.joules) for late in (-slow, 0.0, slow)]
    unknown = np.interp(grid + slow, course.at, _sum_gaps(course.gap)) > np.interp(
        grid - slow, course.at, _sum_gaps(course.gap)
    )
    change: Values = (joules[2] - 2 * joules[1] + joules[0]) / slow
    change[unknown] = 0.0
    change -= change.mean()
    return change


def _sum_gaps(gap: Values) -> Values:
    return np.concatenate(([0.0], np.cumsum(gap)))


def _split_changes(changes: _Changes) -> Iterator[slice]:
    """Yields intervals with equal amounts of change."""
    amount = np.cumsum(changes.a**2)
    edges = np.searchsorted(amount, amount[-1] * np.arange(1, PARTS) / PARTS)
    bounds = [0, *edges.tolist(), len(changes.a)]
    for begin, end in pairwise(bounds):
        yield slice(begin, max(end, begin + 1))


def _correlate_changes(changes: _Changes, part: slice, most: int) -> Values:
    """Returns the correlation of a part of `a` with `b` that is shifted by -most to most points."""
    pattern = changes.a[part]
    low, high = part.start - most, part.stop + most
    other = np.pad(changes.b[max(low, 0) : high], (max(-low, 0), max(high - len(changes.b), 0)))
    size = 1 << (len(other) - 1).bit_length()
    both = np.fft.irfft(np.fft.rfft(other, size) * np.fft.rfft(pattern, size).conj(), size)
    both = both[: len(other) - len(pattern) + 1]
    squares = _sum_gaps(other**2)
    norm = np.sqrt(
        np.maximum(squares[len(pattern) :] - squares[: len(squares) - len(pattern)], 0.0) * float((pattern**2).sum())
    )
    normalized: Values = np.divide(both, norm, out=np.zeros_like(both), where=norm > 0)
    return normalized


def _find_peak_position(correlation: Values) -> float:
    """Returns the place of the maximum, also between points: the top of the parabola through the three greatest."""
    best = int(np.argmax(correlation))
    if not 0 < best < len(correlation) - 1:
        return float(best)
    before, at, after = correlation[best - 1 : best + 2]
    bend = before - 2 * at + after
    return best + (float((before - after) / (2 * bend)) if bend < 0 else 0.0)


def _has_rival_peak(whole: Values, best: int, changes: _Changes) -> bool:
    """Returns whether another place, outside the peak around the best one, is nearly as good."""
    far: NDArray[np.bool_] = np.abs(np.arange(len(whole)) - best) * changes.step > 2 * changes.slow
    return bool((whole[far] > RIVAL * whole[best]).any())
