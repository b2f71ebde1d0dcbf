"""The sides of comparisons: the medians and errors of their launches, and the bootstrap of many pairs at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.statistics.samples.interval import Array, medians_of
from steelyard.statistics.samples.summary import effective_sizes, medians

Launches = Sequence[Sequence[float] | Array]

DRAWN_AT_ONCE = 1 << 20  # numbers of the bootstrap that are held together
FEW = 5  # launches
BOOTSTRAPS, SEED = 2000, 1  # fixed, so that the same samples always give the same answer


@dataclass(frozen=True)
class Side:
    """The launches of a side: logarithms of their seconds, and the median, its error and the effective size of each."""

    logs: list[Array]
    medians: Array
    errors: Array
    effective: Array


def sides_of(logs: Sequence[list[Array]]) -> list[Side]:
    """Returns the side of each list of logarithms; it computes rows of equal length together for speed."""
    if not logs:
        return []
    rows = [row for side in logs for row in side]
    ends = np.cumsum([len(side) for side in logs])[:-1]
    effective = effective_sizes(rows)
    middles = medians(rows)
    errors = _median_errors(rows, middles, effective)
    parts = zip(logs, *(np.split(column, ends) for column in (middles, errors, effective)), strict=True)
    return [Side(*part) for part in parts]


def logs_of(launches: Launches, side: str) -> list[Array]:
    """Returns the logarithms of the seconds of each launch. Raises ValueError unless all are positive and finite."""
    if not launches:
        raise ValueError(f"side {side} has no launches to compare")
    rows = [np.asarray(samples, dtype=np.float64) for samples in launches]
    for row in rows:
        if row.size == 0 or not (np.isfinite(row) & (row > 0)).all():
            raise ValueError(f"a launch of side {side} has no samples, or one that is not positive and finite")
    return [np.log(row) for row in rows]


def median_errors(logs: list[Array]) -> Array:
    """Returns the standard error of each launch's median: √(π/2) · robust deviation / √effective; 0 if unknown."""
    return _median_errors(logs, medians(logs), effective_sizes(logs))


def _median_errors(logs: list[Array], middles: Array, effective: Array) -> Array:
    spreads = 1.4826 * medians([np.abs(row - middle) for row, middle in zip(logs, middles, strict=True)])
    errors: Array = math.sqrt(math.pi / 2) * spreads / np.sqrt(effective)
    return errors


def bootstrap_intervals(a: Sequence[Side], b: Sequence[Side], tail: float) -> list[tuple[float, float]]:
    """Returns the bootstrap interval of the difference of the medians, b - a, of each pair."""
    alike: dict[tuple[int, int], list[int]] = {}
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        alike.setdefault((len(one.medians), len(other.medians)), []).append(place)
    intervals: dict[int, tuple[float, float]] = {}
    for launches, places in alike.items():
        step = max(1, DRAWN_AT_ONCE // (BOOTSTRAPS * sum(launches)))
        for some in (places[first : first + step] for first in range(0, len(places), step)):
            draws = _bootstrap_sides([b[i] for i in some], SEED) - _bootstrap_sides([a[i] for i in some], SEED + 1)
            ends = np.quantile(draws, (tail, 1 - tail), axis=1)
            intervals |= {place: (float(low), float(high)) for place, low, high in zip(some, *ends, strict=True)}
    return [intervals[place] for place in range(len(a))]


def _bootstrap_sides(sides: Sequence[Side], seed: int) -> Array:
    """Returns the median of each draw, a row for each side; all sides have the same number of launches."""
    drawn, moved = _draw_indexes(len(sides[0].medians), seed)
    middles, errors = (np.stack(column) for column in ([s.medians for s in sides], [s.errors for s in sides]))
    return _medians_of_columns(
        [middles[:, one] + errors[:, one] * by for one, by in zip(drawn.T, moved.T, strict=True)]
    )


def _medians_of_columns(columns: list[Array]) -> Array:
    """Returns the median over the columns at each place; it sorts a few columns against each other for speed."""
    if len(columns) > FEW:
        return medians_of(np.sort(np.stack(columns, axis=-1), axis=-1))
    half, lower = len(columns) // 2, (len(columns) - 1) // 2
    for last in range(len(columns) - 1, lower - 1, -1):  # the greatest of those that are left goes there
        for i in range(last):
            columns[i], columns[i + 1] = np.minimum(*columns[i : i + 2]), np.maximum(*columns[i : i + 2])
    return columns[half] if len(columns) % 2 else (columns[lower] + columns[half]) / 2


@lru_cache(maxsize=4)  # of a thousand launches 30 MB each
def _draw_indexes(launches: int, seed: int) -> tuple[NDArray[np.int64], Array]:
    """Returns the drawn launches and their shifts in units of their errors; equal for all sides with this number of launches."""
    random = np.random.default_rng(seed)
    drawn = random.integers(launches, size=(BOOTSTRAPS, launches))
    return drawn, random.standard_normal(drawn.shape)


def thinned_row(row: Array, effective: float) -> Array:
    """Returns as many samples as there are independent ones, evenly spread over time."""
    kept = max(1, round(effective))
    thinned: Array = row[_choose_evenly(len(row), kept)]
    return thinned


@lru_cache(maxsize=4096)
def _choose_evenly(length: int, kept: int) -> NDArray[np.int64]:
    return np.linspace(0, length - 1, kept).round().astype(int)
