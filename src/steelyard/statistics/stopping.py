"""When a case has been sampled enough: the reference of the native harness's stopping rule."""

import math
from collections.abc import Sequence
from itertools import pairwise

NORMAL_QUANTILE = 1.959964  # of the standard normal distribution at 0.975: an interval of 95 %
# Fewer do not show their own dependence: with 1 instead of 12, and samples that depend on each other (0.7),
# the interval held the truth in 80 % of the simulated cases instead of 89 %; independent ones then needed 11
# samples instead of 16.
LEAST_EFFECTIVE = 12
BATCHES = 20  # few enough to be long against what wanders, many enough to know their variance within a third
GROWTH = 1.1  # the rule is asked again when there are 10 % more samples: each look is a chance to stop by luck


def enough(samples: Sequence[float], width: float, least: int) -> bool:
    """Whether the 95 % interval of the median of `samples`, in the order of time, is within ± `width` of it.

    The algorithm, exactly (the native harness does the same):

    1. n = number of samples. Fewer than `least`: no. Sort a copy. median = the middle one, or the mean of the
       middle two. A median that is not positive and finite: no.
    2. Effective size m of the signs: see `effective_count`. m < `LEAST_EFFECTIVE`: no.
    3. half = 1.959964 / 2 · n / √m, in ranks (the binomial's normal approximation, widened by √(n/m)).
       Ranks, counted from 1: low = (n+1)/2 − half, high = (n+1)/2 + half. low < 1: no.
    4. A rank that is not whole is interpolated linearly between the two order statistics beside it.
    5. Yes if (value(high) − value(low)) / 2 ≤ width · median.

    Ask it only when the number of samples has grown by `GROWTH` since the last time: the sort costs O(n log
    n), and stopping at the first lucky look makes the interval miss the truth more often. How often
    `summary.median_interval` holds it, of samples with 2 % of spread that were stopped by this rule
    (`simulate.coverage_when_stopped`, 1000 repetitions, ± 1.5), and after how many samples on average:

        width   independent   0.3         0.5         0.7 (Gaussian, of first order)
        2 %     98 % (16)     94 % (21)   91 % (27)   90 % (43)
        1 %     96 % (31)     93 % (40)   91 % (53)   89 % (83)
        0.5 %   94 % (115)    93 % (160)  93 % (234)  92 % (396)
    """
    return len(samples) >= least and relative_half_width(samples) <= width


def relative_half_width(samples: Sequence[float]) -> float:
    """Half of the 95 % interval of the median over the median; infinite where none can be stated."""
    if not samples:
        return math.inf
    ordered = sorted(samples)
    middle = (len(ordered) + 1) / 2
    median = value_at(ordered, middle)
    if not 0 < median < math.inf:
        return math.inf
    effective = effective_count(samples, median)
    half = NORMAL_QUANTILE / 2 * len(ordered) / math.sqrt(effective)
    if effective < LEAST_EFFECTIVE or middle - half < 1:
        return math.inf
    return (value_at(ordered, middle + half) - value_at(ordered, middle - half)) / 2 / median


def value_at(ordered: Sequence[float], rank: float) -> float:
    """The order statistic at `rank`, counted from 1 and interpolated; `rank` lies within 1 … len(ordered)."""
    below = min(int(rank), len(ordered) - 1) if len(ordered) > 1 else 1
    lower, upper = ordered[below - 1], ordered[min(below, len(ordered) - 1)]
    return lower + (rank - below) * (upper - lower)


def effective_count(samples: Sequence[float], median: float) -> float:
    """How many independent samples tell as much about the median as these do: between 1 and n.

    sign(i) = −1, 0 or +1 as sample i is below, at or above the median. r = Σ sign(i)·sign(i+1) / Σ sign(i)²,
    put right for its bias to r + (1 + 4r)/n (M. G. Kendall 1954, Biometrika 41:403) and held within 0 … 0.95.
    For a Gaussian process of first order with coefficient p, neighbouring signs correlate by r = 2/π·asin(p),
    and signs k apart by 2/π·asin(p^k) (the arcsine law, J. H. Van Vleck). So p = sin(π/2·r),
    tau = 1 + 2·Σ 2/π·asin(p^k) over k = 1, 2 … while p^k > 0.001, and the effective size is n / tau.
    No sign but 0 (all samples equal): n.

    What wanders slowly beside fast noise hides from neighbours. From 40 samples on the signs' means over `BATCHES`
    stretches of equal length are therefore looked at, too: their variance over `BATCHES` is that of the mean sign, and the
    mean square of the signs divided by it is how many independent ones would show the same. The lesser of the two counts.
    """
    n = len(samples)
    signs = [(sample > median) - (sample < median) for sample in samples]
    squares = sum(sign * sign for sign in signs)
    if squares == 0:
        return float(n)
    r = sum(a * b for a, b in pairwise(signs)) / squares
    p = math.sin(math.pi / 2 * min(max(r + (1 + 4 * r) / n, 0.0), 0.95))
    tau, power = 1.0, p
    while power > 0.001:
        tau += 4 / math.pi * math.asin(power)
        power *= p
    return max(1.0, min(n / tau, _by_batches(signs, squares)))


def _by_batches(signs: Sequence[int], squares: int) -> float:
    n, length = len(signs), len(signs) // BATCHES
    if n < 2 * BATCHES:
        return float(n)
    means = [sum(signs[i * length : (i + 1) * length]) / length for i in range(BATCHES)]
    middle = sum(means) / BATCHES
    variance = sum((mean - middle) ** 2 for mean in means) / (BATCHES - 1)
    return squares / n / (variance / BATCHES) if variance > 1e-12 else float(n)
