"""The newest value of a series beside those before it: as usual, or outside the range in which a further value lies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.difference.peers import MAD
from steelyard.statistics.samples.distribution_functions import stdtr, stdtrit

LEAST = 5  # earlier values that show how the series scatters
SMALLEST = 0.01  # relative
UNUSUAL = 0.05  # chance that any figure of a usual run is called unusual


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest value over the median of the `count` values before it, and the 95 % range `low` … `high` of such a ratio.

    `p` is the chance of a value so far away, on either side, if nothing changed.
    """

    ratio: float
    low: float
    high: float
    p: float
    count: int

    @property
    def is_usual(self) -> bool:
        """Returns whether the value lies within the range, or differs by less than what matters."""
        return self.low <= self.ratio <= self.high or abs(math.log(self.ratio)) < math.log1p(SMALLEST)


def are_unusual(newest: Sequence[Newest]) -> list[bool]:
    """Returns which newest values of several series are unusual; the chance that any usual one is called so is 5 %."""
    return [not one.is_usual and one.p < UNUSUAL / len(newest) for one in newest]


def judge_newest(values: Sequence[float]) -> Newest | None:
    """Returns how the last of the positive values stands to the others; None for fewer than five others."""
    *others, newest = np.log(np.asarray(values, dtype=float)).tolist() or [0.0]
    if len(others) < LEAST:
        return None
    center = float(np.median(others))
    # The median distance, which a few disturbed runs do not widen, but never less than the smallest that matters is resolved.
    deviation = MAD * float(np.median(np.abs(np.array(others) - center))) * math.sqrt(1 + math.pi / 2 / len(others))
    half = float(stdtrit(len(others) - 1, 0.975)) * deviation
    distance = newest - center
    p = 2 * float(stdtr(len(others) - 1, -abs(distance) / deviation)) if deviation else float(distance == 0)
    return Newest(ratio=math.exp(distance), low=math.exp(-half), high=math.exp(half), p=p, count=len(others))
