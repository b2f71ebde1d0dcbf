"""Changes of a time as percentages, or as factors if these are easier to read."""

import math
from collections.abc import Sequence

from steelyard.compare.wholes import VAST, Whole
from steelyard.model.units import percent, significant

DOUBLE = math.log(2) - 0.005  # from here on a factor is easier to read than a percentage
EXTREME = (1e-3, 1e4)  # outside, a ratio has an exponent: nobody counts the digits of 7390236
MOST_FACTOR = 1 + VAST  # a smallest difference beyond this factor is written as >×10


def write_factor(ratio: float) -> str:
    """Returns a ratio with two digits, or to a hundredth: '0.46', '7.4e6'."""
    if ratio > 0 and not EXTREME[0] <= ratio < EXTREME[1]:
        digits, exponent = f"{ratio:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return f"{ratio:.2f}" if 0.095 < ratio < 1.995 else significant(ratio, 2)


def write_change(ratio: float) -> str:
    """Returns the change of the time, such as '+11 %', or '×2.3' from a factor of two on."""
    return percent(ratio - 1, signed=True) if abs(math.log(ratio)) < DOUBLE else f"×{write_factor(ratio)}"


def write_span(w: Whole) -> str:
    """Returns the interval of the change of the time, such as '-6 to +4 %'."""
    if max(abs(math.log(w.low)), abs(math.log(w.high))) >= DOUBLE:
        return f"×{write_factor(w.low)} to {write_factor(w.high)}"
    return f"{100 * (w.low - 1):+.0f} to {write_change(w.high)}"


def state_smallest(ends: Sequence[float], depends_on: str) -> str:
    """Returns the sentence on the smallest differences that a comparison would find."""
    span = write_smallest_range(ends)
    depending = f", depending on the {depends_on}" if " to " in span else ""
    return f"The smallest difference that this comparison would find is {span}{depending}."


def write_smallest_range(ends: Sequence[float]) -> str:
    """Returns the least and the greatest of smallest differences, such as '16 % to ×2.1'; one text if both are alike."""
    return " to ".join(dict.fromkeys((write_smallest(min(ends)), write_smallest(max(ends)))))


def write_smallest(smallest: float) -> str:
    """Returns a smallest difference, such as '16 %', '×2.1' or '>×10'."""
    factor = 1 + smallest
    if factor < 2:
        return percent(smallest)
    return f"×{write_factor(factor)}" if factor < MOST_FACTOR else f">×{MOST_FACTOR:.0f}"
