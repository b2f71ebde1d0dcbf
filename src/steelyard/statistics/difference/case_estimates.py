"""Estimates of many single cases of two sides at once, each from the launches of that case."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.statistics.difference.blocks import LONE_FREEDOM, LONE_VARIANCE, Estimates
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import RUN_SPREAD


@dataclass(frozen=True, eq=False)
class CaseSums:
    """For each case: the number of launches, the mean of the logarithms of their seconds, and the sum of squares around it."""

    count: Array
    mean: Array
    squares: Array

    def of(self, cases: NDArray[np.int64]) -> "CaseSums":
        """Returns the sums of these cases."""
        return CaseSums(self.count[cases], self.mean[cases], self.squares[cases])


def sum_launches(case: NDArray[np.int64], log_seconds: Array, cases: int) -> CaseSums:
    """Returns the sums of `cases` cases from a row for each launch; the mean of a case without launches is NaN."""
    count = np.bincount(case, minlength=cases).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(case, log_seconds, cases) / count
    squares = np.bincount(case, (log_seconds - mean[case]) ** 2, cases).astype(np.float64)
    return CaseSums(count, mean, squares)


def estimate_cases(a: CaseSums, b: CaseSums, groups: tuple[bool, bool]) -> Estimates:
    """Returns the estimates of log(b / a), as `block_sums.contrast` with each launch of a case as a block.

    `groups` says which side is a group of runs. Each case has at least one launch on both sides.
    """
    share = 1 / a.count + 1 / b.count
    difference = b.mean - a.mean
    if groups[0] != groups[1]:
        parts = [np.where(s.count > 1, s.squares / np.maximum(s.count - 1, 1), LONE_VARIANCE) / s.count for s in (a, b)]
        freedoms = [np.where(s.count > 1, s.count - 1, LONE_FREEDOM) for s in (a, b)]
        variance = parts[0] + parts[1]
        own = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
        freedom = np.where(own > 0, variance**2 / np.where(own > 0, own, 1.0), freedoms[0] + freedoms[1])
        none = np.zeros(len(share))
        return Estimates(
            difference=difference,
            variance=variance / share,
            freedom=freedom,
            share=share,
            lone=none,
            unseen=none + 1,
            run_spread=none + RUN_SPREAD,
        )
    trace = sum((s.count - 1) / s.count**2 for s in (a, b))
    trace_of_square = sum((s.count - 1) / s.count**4 for s in (a, b))
    usable = np.where(trace > 0, trace, 1.0)
    return Estimates(
        difference=difference,
        variance=(a.squares / a.count**2 + b.squares / b.count**2) / usable,
        freedom=np.where(trace > 0, usable**2 / np.where(trace > 0, trace_of_square, 1.0), 0.0),
        share=share,
        lone=(a.count == 1) * 1.0 + (b.count == 1),
        unseen=np.full(len(share), 0.0 if groups[0] else 2.0),
        run_spread=np.full(len(share), RUN_SPREAD),
    )
