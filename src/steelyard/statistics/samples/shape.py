"""Shape of the samples of a case: two modes, or a drift."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from steelyard.statistics.samples.interval import Array, correlations, find_median, medians_of, quantile_of

LEAST_FOR_MODES, LEAST_FOR_DRIFT = 20, 12  # fewer samples may show them by chance
MODE_SHARE, MODE_LEAST = 0.15, 5  # least share and number of the samples in each mode: fewer are outliers
MODE_DISTANCE = 0.05  # relative, between the modes' medians
# In robust standard deviations, and the part of the distance that must lie empty between the inner tenths:
# halves of one normal population reach 2.3 and 0.2, those of a uniform one 2.7 and 0.2; small samples scatter
# around that.
MODE_SEPARATION, MODE_GAP = 5.0, 0.6
DRIFT, DRIFT_SIGMAS = 0.03, 3.29  # relative, first to last sample; p < 0.001
BLOCKS = 60  # blocks for the slope: the number of pairs grows with the square


@dataclass(frozen=True)
class Modes:
    """Two modes: their medians, and the share of the samples in the upper one."""

    lower: float
    upper: float
    upper_share: float


def find_modes(row: Array) -> Modes | None:
    """Returns the two modes of positive samples, or None if one mode explains them.

    The split of their logarithms that leaves the least squares within (N. Otsu 1979, IEEE Trans. SMC 9:62),
    each side not too small; its distance in robust deviations as in Ashman's D (K. M. Ashman et al. 1994,
    Astron. J. 108:2348).
    """
    n = len(row)
    if n < LEAST_FOR_MODES:
        return None
    logs = np.log(np.sort(row))
    least = max(MODE_LEAST, math.ceil(MODE_SHARE * n))
    count = np.arange(1, n)
    sums = np.cumsum(logs - logs.mean())[:-1]
    gain = sums**2 / (count * (n - count))
    split = int(np.argmax(gain[least - 1 : n - least])) + least
    lower, upper = logs[:split], logs[split:]
    apart = quantile_of(upper, 0.5) - quantile_of(lower, 0.5)
    spread = math.hypot(_measure_deviation(lower), _measure_deviation(upper)) / math.sqrt(2)
    gap = quantile_of(upper, 0.1) - quantile_of(lower, 0.9)
    if apart < math.log1p(MODE_DISTANCE) or apart < MODE_SEPARATION * spread or gap < MODE_GAP * apart:
        return None
    return Modes(math.exp(quantile_of(lower, 0.5)), math.exp(quantile_of(upper, 0.5)), len(upper) / n)


def find_drift(row: Array) -> float | None:
    """Returns the drift of positive samples from first to last, relative to their median; None without a drift.

    Theil's slope of the medians of at most `BLOCKS` blocks; significant by Mann and Kendall, with the
    variance of a trend widened for the dependence that is left when the slope is taken away (K. H. Hamed & A.
    R. Rao 1998).
    """
    n = len(row)
    if n < LEAST_FOR_DRIFT:
        return None
    size = math.ceil(n / BLOCKS)
    k = n // size
    blocks = medians_of(np.sort(row[n - k * size :].reshape(k, size), axis=1))
    first, second = _list_pairs(k)
    rises = (blocks[second] - blocks[first]) / (second - first)
    slope = find_median(rises)
    total = slope * (k - 1) / find_median(row)
    if abs(total) < DRIFT:
        return None
    level = blocks - slope * np.arange(k)
    effective = float(correlations(level[np.newaxis, :])[1][0])
    sigma = math.sqrt(k * (k - 1) * (2 * k + 5) / 18 * k / effective)
    return total if abs(float(np.sign(rises).sum())) > DRIFT_SIGMAS * sigma else None


@cache
def _list_pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the first and the second member of each pair."""
    return np.triu_indices(count, 1)


def _measure_deviation(values: Array) -> float:
    """Returns a robust standard deviation: 1.4826 × the median distance from the median."""
    return 1.4826 * find_median(np.abs(values - find_median(values)))
