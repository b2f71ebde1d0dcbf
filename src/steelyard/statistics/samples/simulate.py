"""Simulated samples with a known median, for tests of the statistics."""

import math
from typing import Literal, get_args

import numpy as np

from steelyard.statistics.samples.interval import Array, median_intervals
from steelyard.statistics.samples.stopping import GROWTH, is_narrow_enough

Process = Literal["normal", "lognormal", "heavy", "ar0.3", "ar0.5", "ar0.7"]
PROCESSES: tuple[Process, ...] = get_args(Process)

MEDIAN = 1.0  # true median of every process, in seconds
LEAST = 5  # samples, as `model.Sampling` has it
SPREAD = 0.02  # relative standard deviation of the normal process: that of a good measurement


def draw(process: Process, repetitions: int, n: int, seed: int) -> Array:
    """Returns `repetitions` × `n` samples in seconds with the true median `MEDIAN`.

    "heavy" is Student's t with 1.5 degrees of freedom (no variance); "ar0.5" is Gaussian, of first order,
    coefficient 0.5. Raises ValueError for an unknown process.
    """
    random = np.random.default_rng(seed)
    if process == "normal":
        return MEDIAN + SPREAD * random.standard_normal((repetitions, n))
    if process == "lognormal":
        return MEDIAN * np.exp(SPREAD * random.standard_normal((repetitions, n)))
    if process == "heavy":
        return MEDIAN + SPREAD * random.standard_t(1.5, (repetitions, n))
    if process in PROCESSES:
        return MEDIAN + SPREAD * _simulate_first_order(float(process.removeprefix("ar")), repetitions, n, random)
    raise ValueError(f"process '{process}' is unknown; expected one of {', '.join(PROCESSES)}")


def coverage(process: Process, n: int, repetitions: int, seed: int) -> float:
    """Returns the share of 95 % intervals of `n` simulated samples that hold the true median (aim: 0.93 … 0.97).

    Repetitions in which no interval is stated do not count. Raises ValueError if none states one.
    """
    low, high = median_intervals(draw(process, repetitions, n, seed), 0.95)
    return _share_containing(low, high)


def coverage_when_stopped(process: Process, width: float, repetitions: int, seed: int, most: int = 2000) -> float:
    """Returns the coverage if the stopping rule ends each repetition, at `most` at the latest.

    Stopping at a narrow interval costs coverage; `stopping.enough` has the values.
    """
    rows = draw(process, repetitions, most, seed)
    low, high = np.full(repetitions, np.nan), np.full(repetitions, np.nan)
    for index, row in enumerate(rows):
        kept = row[: _find_stop(row, width)]
        (low[index],), (high[index],) = median_intervals(kept[np.newaxis, :], 0.95)
    return _share_containing(low, high)


def _find_stop(row: Array, width: float) -> int:
    values, n = row.tolist(), LEAST
    while n < len(values) and not is_narrow_enough(values[:n], width, LEAST):
        n = min(len(values), math.ceil(n * GROWTH))
    return n


def _share_containing(low: Array, high: Array) -> float:
    stated = ~np.isnan(low)
    if not stated.any():
        raise ValueError("no repetition could state an interval: simulate more samples")
    return float(np.mean((low[stated] <= MEDIAN) & (high[stated] >= MEDIAN)))


def _simulate_first_order(coefficient: float, repetitions: int, n: int, random: np.random.Generator) -> Array:
    """x(i) = c · x(i−1) + √(1 − c²) · e(i), stationary from the first sample, with unit variance."""
    rows = random.standard_normal((n, repetitions))
    rows[1:] *= math.sqrt(1 - coefficient**2)
    for i in range(1, n):
        rows[i] += coefficient * rows[i - 1]
    return np.ascontiguousarray(rows.T)
