"""The plateau of readings: the level near which the best of them lie, however many readings and however wrong single ones."""

import math
from collections.abc import Iterable

STEP = 0.0025  # width of a bin, relative
LEAST, LEAST_SHARE = 3, 0.03  # readings, and share of all, that make a level: wrong ones agree by chance only


class Levels:
    """Counts of positive readings by their logarithm, from which the highest level with enough readings follows.

    A best of N grows with the number of readings, and with it every error of a reading. The upper mode does neither.
    """

    def __init__(self) -> None:
        self.count = 0
        self._bins: dict[int, tuple[int, float]] = {}  # number of readings, and their sum

    def add(self, readings: Iterable[float | None]) -> bool:
        """Adds the readings that are positive and finite; returns whether there were any."""
        before = self.count
        for reading in readings:
            if reading and 0 < reading < math.inf:
                place = _number_bin(reading)
                number, total = self._bins.get(place, (0, 0.0))
                self._bins[place] = number + 1, total + reading
                self.count += 1
        return self.count > before

    def share_from(self, level: float, tolerance: float, higher: bool) -> float:
        """Returns the share of the readings that reach this level, less the tolerance."""
        edge = _number_bin(level * (1 - tolerance) if higher else level / (1 - tolerance))
        reached = (n for place, (n, _) in self._bins.items() if (place >= edge if higher else place <= edge))
        return sum(reached) / self.count if self.count else 0.0

    def plateau(self, tolerance: float, higher: bool) -> float | None:
        """Returns the mean of the readings of the best level; None without readings.

        A level is as wide as twice the `tolerance` and has at least `LEAST` readings and `LEAST_SHARE` of all (fewer where
        there are few). `higher`: whether greater readings are better.
        """
        reach = max(1, round(math.log1p(tolerance) / STEP))
        needed = max(min(LEAST, -(-self.count // LEAST)), LEAST_SHARE * self.count)
        ordered = sorted(self._bins, reverse=higher)
        best, most, edge = None, 0, 0
        for place in ordered:
            if best is not None and abs(place - edge) > 2 * reach:
                break
            number, total = self._sum_bins(place, reach)
            if number < needed:
                continue
            if best is None:
                edge = place
            if number > most:
                best, most = total / number, number
        return best

    def _sum_bins(self, place: int, reach: int) -> tuple[int, float]:
        near = [found for at in range(place - reach, place + reach + 1) if (found := self._bins.get(at))]
        return sum(number for number, _ in near), math.fsum(total for _, total in near)


def _number_bin(reading: float) -> int:
    return math.floor(math.log(reading) / STEP)
