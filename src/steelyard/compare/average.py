"""The mean of values of several runs."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from steelyard.model import Value
from steelyard.statistics.validity.trust import WIDEST


def average(values: Sequence[Value]) -> Value | None:
    """Returns the geometric mean of the values of several runs with its 95 % interval (Student's t of their logarithms).

    None without positive values. An interval whose ends differ by a factor of more than `WIDEST` is None.
    """
    logs = [math.log(v.value) for v in values if 0 < v.value < math.inf]
    if not logs:
        return None
    mean, low, high = fmean(logs), None, None
    if len(logs) > 1:
        from steelyard.statistics.samples.distribution_functions import stdtrit
        from steelyard.statistics.samples.launches import CONFIDENCE  # with NumPy, which one run does not need

        half = float(stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2)) * stdev(logs) / len(logs) ** 0.5
        if 2 * half < math.log(WIDEST):
            low, high = math.exp(mean - half), math.exp(mean + half)
    return Value(math.exp(mean), values[0].unit, low, high, values[0].better)
