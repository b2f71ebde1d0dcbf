"""Stopping rule of sampling: the reference of the rule in the native harness."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from steelyard.statistics.samples.interval import CAUTION, CORRECTION, GRID

NORMAL_QUANTILE = 1.959963984540054  # quantile 0.975 of the standard normal distribution, for an interval of 95 %
# If a series stays on one side of its true median with a greater probability than this, it has no interval.
LEVEL = 0.05
COEFFICIENTS = len(GRID)
# Fewer do not show their own dependence: with 1 instead of 12, and samples that depend on each other (0.7),
# the interval held the truth in 78 % of the simulated cases instead of 87 %; independent ones then needed 9
# samples instead of 16.
LEAST_EFFECTIVE = 12
GROWTH = 1.1  # the rule is applied again after 10 % more samples, since each application may stop by chance


def is_narrow_enough(samples: Sequence[float], width: float, least: int) -> bool:
    """Returns whether the 95 % interval of the median of `samples`, in the order of time, is within ± `width` of it.

    It is the interval that will be stated (`summary.median_interval`), so that a case which stopped has the width that
    was asked. The algorithm, exactly (the native harness does the same):

    1. n = number of samples. Fewer than `least`: no. Sort a copy. median = the middle one, or the mean of the
       middle two. A median that is not positive and finite: no.
    2. Coefficient p and effective size m as neighbours show them: see `size_by_neighbours`. (1/2 + asin(p)/π)^(n−1) above
       0.05: no.
    3. half = 1.96 / 2 · n / √m, in ranks (the binomial's normal approximation, widened by √(n/m)). Ranks, counted
       from 1: low = (n+1)/2 − half, high = (n+1)/2 + half. m < `LEAST_EFFECTIVE`: no.
    4. A rank that is not whole is interpolated linearly between the two order statistics beside it.
    5. (value(high) − value(low)) / 2 > width · median: no.
    6. The same once more with the lesser of m and `size_by_waves`, which costs more: yes if it is not "no" again.

    Ask it only when the number of samples has grown by `GROWTH` since the last time: the sort costs O(n log
    n), and stopping at the first lucky look makes the interval miss the truth more often. How often
    `summary.median_interval` holds it, of samples with 2 % of spread that were stopped by this rule
    (`simulate.coverage_when_stopped`, 4000 repetitions, ± 0.8), and after how many samples on average:

        width   independent   0.3         0.5         0.7 (Gaussian, of first order)
        2 %     97 % (16)     94 % (22)   90 % (32)   87 % (56)
        1 %     96 % (31)     92 % (41)   89 % (60)   87 % (103)
        0.5 %   94 % (109)    93 % (159)  93 % (241)  92 % (429)
    """
    return len(samples) >= least and relative_half_width(samples, width) <= width


def relative_half_width(samples: Sequence[float], asked: float = math.inf) -> float:
    """Returns half of the 95 % interval of the median over the median; infinite without an interval.

    If the dependence of neighbours alone makes it wider than `asked`, the costlier estimate is skipped.
    """
    n, ordered = len(samples), sorted(samples)
    median = value_at(ordered, (n + 1) / 2) if samples else 0.0
    if not 0 < median < math.inf:
        return math.inf
    p, effective = size_by_neighbours(samples, ordered)
    if (0.5 + math.asin(p) / math.pi) ** (n - 1) > LEVEL:
        return math.inf
    width = _find_half_width(ordered, median, effective)
    return width if width > asked else _find_half_width(ordered, median, min(effective, size_by_waves(samples, median)))


def value_at(ordered: Sequence[float], rank: float) -> float:
    """Returns the interpolated order statistic at `rank`, which lies within 1 … len(ordered)."""
    below = min(int(rank), len(ordered) - 1) if len(ordered) > 1 else 1
    lower, upper = ordered[below - 1], ordered[min(below, len(ordered) - 1)]
    return lower + (rank - below) * (upper - lower)


def size_by_neighbours(samples: Sequence[float], ordered: Sequence[float]) -> tuple[float, float]:
    """Returns the first-order coefficient of neighbours (0 … 1) and the effective size (1 … n).

    The first estimate of `interval.correlations`. Ranks are counted from the middle one, equal samples share their
    mean rank. r = Σ rank(i)·rank(i+1) / Σ rank(i)², put right for its bias to r + (1 + 4r)/n and held within
    0 … 1. p = 2 sin(π r / 6), but 1 for r = 1. tau = 1 + 2·Σ 2/π·asin(p^k) over k = 1, 2 … up to the first k beyond
    p^k = 0.001; computed at the two of 200 coefficients between 0 and 0.99 beside p and interpolated. It is too short
    by its own noise: tau' = 1 + (tau − 1)(1 + 4 tau / n). The effective size is n / tau'. Fewer than 3
    samples, or all equal: 0 and n.
    """
    n = len(samples)
    ranks = [(bisect_left(ordered, sample) + bisect_right(ordered, sample) - n) / 2 for sample in samples]
    squares = sum(rank * rank for rank in ranks)
    if n < 3 or squares == 0:
        return 0.0, float(n)
    r = sum(a * b for a, b in pairwise(ranks)) / squares
    r = min(max(r + (1 + 4 * r) / n, 0.0), 1.0)
    p = 2 * math.sin(math.pi / 6 * r) if r < 1 else 1.0
    step = float(GRID[-1]) / (COEFFICIENTS - 1)
    place = min(p, float(GRID[-1])) / step
    below = min(int(place), COEFFICIENTS - 2)
    lower, upper = _compute_tau(below * step), _compute_tau((below + 1) * step)
    tau = lower + (place - below) * (upper - lower)
    tau = 1 + (tau - 1) * (1 + CORRECTION * tau / n)
    return p, min(max(n / tau, 1.0), n)


def size_by_waves(samples: Sequence[float], median: float) -> float:
    """Returns the effective size (1 … n) by the signs around the median, which show slow waves below the noise.

    The second estimate of `interval.correlations`. sign(i) = −1, 0 or +1 as sample i is below, at or above the median,
    c(k) = Σ sign(i)·sign(i+k). The pairs (c(0) + c(1))/c(0), (c(2) + c(3))/c(0) … below lag n/2 are summed while they
    are positive, each counted as the least so far: tau = 2·sum − 1, at least 1. For q pairs tau' = tau·(1 + 2q/n), at
    most n. The effective size is n / tau' · (1 + 15/n). All samples equal: n.
    """
    n = len(samples)
    signs = np.sign(np.asarray(samples) - median)
    power = float(signs @ signs)
    if power == 0:
        return float(n)
    total, least, pairs = 0.0, math.inf, 0
    for lag in range(0, max(2, n // 4 * 2), 2):
        pair = float(signs[: n - lag] @ signs[lag:] + signs[: max(0, n - lag - 1)] @ signs[lag + 1 :]) / power
        if pair <= 0:
            break
        least = min(least, pair)
        total += least
        pairs += 1
    tau = min(max(1.0, 2 * total - 1) * (1 + 2 * pairs / n), n)
    return min(max(n / tau * (1 + CAUTION / n), 1.0), n)


def _find_half_width(ordered: Sequence[float], median: float, effective: float) -> float:
    if effective < LEAST_EFFECTIVE:
        return math.inf
    middle, half = (len(ordered) + 1) / 2, NORMAL_QUANTILE / 2 * len(ordered) / math.sqrt(effective)
    return (value_at(ordered, middle + half) - value_at(ordered, middle - half)) / 2 / median


@cache
def _compute_tau(p: float) -> float:
    terms = 1 + math.ceil(math.log(1e-3) / math.log(p)) if p > 0 else 1
    return 1 + 4 / math.pi * sum(math.asin(p**k) for k in range(1, terms + 1))
