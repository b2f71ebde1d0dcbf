"""The logarithmic axis of a small drawing in a table: a value with its range, beside what is normal or equal."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

MARGIN = 1.2  # beyond what is drawn


@dataclass(frozen=True)
class RangeAxis:
    """Places of numbers, in percent of the width from the left; `reverse`: the least one is on the right."""

    least: float
    greatest: float
    reverse: bool = False

    def place(self, number: float) -> float:
        """Returns the place of a positive number; one beyond the axis is at its end."""
        first, last = math.log(self.least / MARGIN), math.log(self.greatest * MARGIN)
        share = (math.log(min(max(number, self.least), self.greatest)) - first) / (last - first)
        return round(100 * (1 - share if self.reverse else share), 1)

    def span(self, numbers: Iterable[float]) -> tuple[float, float]:
        """Returns the left and the right end of a range."""
        places = [self.place(number) for number in numbers]
        return min(places), max(places)


def make_axis(numbers: Iterable[float | None], reverse: bool = False) -> RangeAxis:
    """Returns the axis that has all numbers; those that a logarithm has no place for do not count."""
    known = [number for number in numbers if number and 0 < number < math.inf]
    return RangeAxis(min(known), max(known), reverse)
