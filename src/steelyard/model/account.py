"""The account of a time that processors spent on something, with the time that these processors had."""

import math
from dataclasses import dataclass
from typing import Self

from steelyard.model.scalars import Number

TICK = 0.01  # s: the unit of the kernel's accounts of each processor
TICKS = (
    2  # of each processor's account, that are no evidence: one is counted in full if any part of it falls into the time
)


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds, added over all `processors` that the account covers, within `elapsed` seconds.

    A share of time exists only as that of the time of all these processors.
    """

    seconds: float
    processors: float
    elapsed: float

    @classmethod
    def of(cls, seconds: Number, processors: Number, elapsed: Number) -> Self | None:
        """Returns the account; None if a part of it is unknown or impossible.

        Counters of guests jump: back after a move to another host, or far beyond the time of their processors.
        """
        if seconds is None or processors is None or elapsed is None:
            return None
        possible = 1 <= processors < math.inf and 0 < elapsed < math.inf
        possible = possible and 0 <= seconds <= processors * (elapsed + TICKS * TICK)
        return cls(seconds, processors, elapsed) if possible else None

    @property
    def share(self) -> float:
        """Returns the share of the time of all these processors, at most 1."""
        return min(1.0, self.seconds / (self.processors * self.elapsed))

    @property
    def cores(self) -> float:
        """Returns the number of processors that this time kept busy on average."""
        return self.share * self.processors

    def exceeds(self, limit: float, among: float = 1) -> bool:
        """Returns whether the share is above the limit by more than the kernel's ticks can show.

        `among`: this account is the greatest of so many. The greatest of ten times as many counts of ticks is higher by chance,
        by at most one tick where the limit is several times their mean (Poisson).
        """
        return self.share > limit + (TICKS + math.log10(among)) * TICK / self.elapsed
