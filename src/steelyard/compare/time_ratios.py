"""Ratios of the times of two values for the same work, with an interval and a call only if both values have an interval."""

import math

from steelyard.compare.compared_sides import NOT_JUDGED, SideCall
from steelyard.model import Value

Ratio = tuple[float, float | None, float | None]  # of times, with its interval, if both values have one


def call_ratio(ratio: Ratio) -> SideCall:
    """Returns the call for a ratio of times: intervals of both values that do not overlap show a difference."""
    _, low, high = ratio
    if low is None or high is None:
        return NOT_JUDGED
    return "SLOWER" if low > 1 else "FASTER" if high < 1 else "UNCLEAR"


def time_ratio(first: Value, other: Value, foreign: bool = False) -> Ratio | None:
    """Returns the time of the other for the same work over that of the first; None if a value is not positive.

    The interval is that of two `foreign` values; that of one measured by Steelyard holds for its run alone.
    """
    if not (0 < first.value < math.inf and 0 < other.value < math.inf):
        return None
    fast, slow = (first, other) if first.better == "higher" else (other, first)
    low = high = None
    if foreign and fast.low and fast.high and slow.low and slow.high and min(fast.low, slow.low) > 0:
        low, high = fast.low / slow.high, fast.high / slow.low
    return fast.value / slow.value, low, high
