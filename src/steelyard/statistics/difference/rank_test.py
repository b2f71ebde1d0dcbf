"""The Mann-Whitney test. Written here because SciPy's, behind the import of all its statistics, costs every command a second.

H. B. Mann, D. R. Whitney: On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other, 1947.
"""

import numpy as np

from steelyard.statistics.samples.interval import Array

EXACT = 8  # values of the smaller side up to which the distribution is counted out; a normal one is as good beyond


def mann_whitney(a: Array, b: Array) -> float:
    """Returns the two-sided p of two rows with at least two different values.

    Exact for up to `EXACT` values on one side without ties, otherwise normal, corrected for ties and for continuity.
    """
    from steelyard.statistics.samples.distribution_functions import ndtr

    values, place, count = np.unique(np.concatenate((a, b)), return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2  # the mean rank of equal values
    m, n = len(a), len(b)
    above = float(middle[place[:m]].sum()) - m * (m + 1) / 2
    most = max(above, m * n - above)
    if min(m, n) <= EXACT and len(values) == m + n:
        ways = _count_ways(min(m, n), max(m, n))
        return min(1.0, 2 * float(ways[round(most) :].sum() / ways.sum()))
    ties = float((count**3 - count).sum()) / ((m + n) * (m + n - 1))
    error = (m * n / 12 * (m + n + 1 - ties)) ** 0.5
    return min(1.0, 2 * float(ndtr(-(most - m * n / 2 - 0.5) / error)))


def _count_ways(few: int, many: int) -> Array:
    """Returns the number of partitions of each sum 0 … few × many into at most `few` parts of at most `many`."""
    ways = np.zeros((few + 1, few * many + 1))
    ways[:, 0] = 1.0  # parts of nothing
    for part in range(1, many + 1):
        for used in range(1, few + 1):
            ways[used, part:] += ways[used - 1, :-part]
    counted: Array = ways[few]
    return counted
