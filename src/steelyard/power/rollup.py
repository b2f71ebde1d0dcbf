"""Rollups of readings by second, minute or hour: their number, least, mean and greatest value, and the energy.

The energy is that of the sensor's course (`energy.py`), so that the seconds of an hour add up to the hour. Time without readings
is not filled in: `known` is the number of seconds that the energy covers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.measure.telemetry.energy import FAR_OUT, NANO, Course, course
from steelyard.model.sensor import Moments, Rollup, Trace, Values

NAMES = {"1s": 1, "1min": 60, "1h": 3600}  # seconds of a stretch
LEVELS = tuple(NAMES.values())
SECOND = 1_000_000_000  # ns
HOUR = 3600 * SECOND  # ns
COLUMNS = ("at", "count", "least", "mean", "greatest", "joules", "known")  # columns of a rollup, besides `number`
MARGIN = 600 * SECOND  # ns: how far a reading counts beyond its own moment; slower sensors are known in part only


@dataclass(frozen=True)
class _CumulativeEnergy:
    """The knots of a course (s after its origin, ns since 1970) with what is known up to each: energy (J) and time (s)."""

    origin: int
    at: Values
    joules: Values
    seconds: Values


def roll_up(node: str, trace: Trace, level: int, start: int, end: int) -> Rollup:
    """Returns the intervals of `level` seconds that begin from `start` up to `end` (ns since 1970) and have readings.

    The trace should reach beyond both ends: the energy of the first and last interval depends on the readings around it.
    """
    return roll_up_levels(node, trace, (level,), start, end)[0]


@FAR_OUT
def roll_up_levels(node: str, trace: Trace, levels: Sequence[int], start: int, end: int) -> list[Rollup]:
    """Returns the rollups of `roll_up` for several levels."""
    if not len(trace.at):
        return [NOTHING] * len(levels)
    whole = course(trace)
    powers, steps = _list_powers(trace, whole), _accumulate_energy(whole) if whole else None
    early = int(trace.at[0]) if whole is None else whole.origin + int(whole.at[0] / NANO)  # the first one's window
    rollups = []
    for level in levels:
        width = level * SECOND
        first = max(-(-start // width), early // width)
        last = min(-(-end // width), int(trace.at[-1]) // width + 1)
        rollups.append(
            _make_intervals((node, trace.sensor.name), level, powers, steps, first, last) if last > first else NOTHING
        )
    return rollups


def _make_intervals(
    name: tuple[str, str],
    level: int,
    powers: tuple[Moments, Values],
    steps: _CumulativeEnergy | None,
    first: int,
    last: int,
) -> Rollup:
    """Returns the intervals with the numbers `first` up to `last`."""
    (at, value), width = powers, level * SECOND
    begin, end = np.searchsorted(at, (first * width, last * width))
    count, mean, least, greatest = _summarise_places(at[begin:end] // width - first, value[begin:end], last - first)
    edges = np.arange(first, last + 1, dtype=np.int64) * width
    joules, seconds = _interpolate_energy(steps, edges)
    kept = (count > 0) | (seconds > 0)
    columns = (edges[:-1], count, least, mean, greatest, joules, seconds)
    return make_rollup(level, name, [column[kept] for column in columns])


def make_rollup(level: int, name: tuple[str, str], columns: Sequence[NDArray[Any]]) -> Rollup:
    """Returns the rollup of one sensor from its COLUMNS."""
    number = np.zeros(len(columns[0]), dtype=np.int32)
    return Rollup(seconds=level, sensors=(name,), number=number, **dict(zip(COLUMNS, columns, strict=True)))


def choose(of: Rollup, rows: NDArray[np.int64]) -> Rollup:
    """Returns only these rows, in this order."""
    return replace(of, **{name: getattr(of, name)[rows] for name in ("number", *COLUMNS)})


def join_rollups(parts: Sequence[Rollup], level: int) -> Rollup:
    """Joins several rollups into one, in their order."""
    sensors = tuple(dict.fromkeys(sensor for part in parts for sensor in part.sensors))
    place = {sensor: number for number, sensor in enumerate(sensors)}
    number = [np.array([place[sensor] for sensor in p.sensors], dtype=np.int32)[p.number] for p in parts]
    columns = {name: np.concatenate([getattr(p, name) for p in (NOTHING, *parts)]) for name in COLUMNS}
    return Rollup(seconds=level, sensors=sensors, number=np.concatenate([NOTHING.number, *number]), **columns)


def _list_powers(trace: Trace, whole: Course | None) -> tuple[Moments, Values]:
    """Returns moments and values for least, mean and greatest: the readings, or the power (W) between those of a counter."""
    usable = np.isfinite(trace.value)
    if trace.sensor.quantity != "energy":
        return trace.at[usable], trace.value[usable]
    if whole is None:
        return trace.at[:0], trace.value[:0]
    sound = whole.gap == 0
    powers = np.diff(whole.joules)[sound] / np.diff(whole.at)[sound]
    moments = whole.origin + np.round((whole.at[1:] + whole.blur)[sound] / NANO).astype(np.int64)
    return moments, powers


def _summarise_places(place: Moments, value: Values, stretches: int) -> tuple[Moments, Values, Values, Values]:
    count = np.bincount(place, minlength=stretches).astype(np.int64)
    mean, least, greatest = (np.full(stretches, np.nan) for _ in range(3))
    if len(place):
        begins = np.flatnonzero(np.diff(place, prepend=-1))  # first reading of each interval: the readings are in order
        filled = place[begins]
        mean[filled] = np.add.reduceat(value, begins) / count[filled]
        least[filled] = np.minimum.reduceat(value, begins)
        greatest[filled] = np.maximum.reduceat(value, begins)
    return count, mean, least, greatest


def _interpolate_energy(steps: _CumulativeEnergy | None, edges: Moments) -> tuple[Values, Values]:
    if steps is None:
        return np.full(len(edges) - 1, np.nan), np.zeros(len(edges) - 1)
    at = (edges - steps.origin) * NANO
    joules = np.diff(np.interp(at, steps.at, steps.joules))
    seconds = np.diff(np.interp(at, steps.at, steps.seconds))
    joules[seconds <= 0] = np.nan
    return joules, seconds


def _accumulate_energy(whole: Course) -> _CumulativeEnergy:
    joules, lengths = np.diff(whole.joules), np.diff(whole.at)
    sound = whole.gap == 0
    mean = joules[sound].sum() / lengths[sound].sum() if sound.any() else 0.0
    measured = np.concatenate(([0.0], np.cumsum(joules - mean * whole.gap)))
    return _CumulativeEnergy(whole.origin, whole.at, measured, np.concatenate(([0.0], np.cumsum(lengths - whole.gap))))


_NO_MOMENTS, _NO_VALUES = np.empty(0, dtype=np.int64), np.empty(0)
NOTHING = replace(make_rollup(0, ("", ""), [_NO_MOMENTS] * 2 + [_NO_VALUES] * 5), sensors=())
