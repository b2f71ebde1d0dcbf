"""The estimate of two sides from the times of their cases in blocks of time (see `blocks`)."""

from typing import NamedTuple

import numpy as np

from steelyard.statistics.difference.blocks import LONE_FREEDOM, LONE_VARIANCE, Estimate
from steelyard.statistics.samples.interval import Array


class Blocks(NamedTuple):
    """The blocks of one side: the weighted mean of the cases, and the sums from which the variance of a block follows."""

    mean: float
    squares: float
    trace: float
    trace_of_square: float
    share: float
    lone: float


def sum_up(times: Array, weights: Array) -> Blocks:
    """Returns the sums of one side: logarithms of seconds, a row for each case, a column for each block of time.

    NaN: the case was not measured in that block; each case has at least one time. The weights have the sum 1.

    Each block's residual is the weighted sum of what its cases differ from their own means in that run. The variance follows
    from the squares of these sums, so that blocks that scatter more and weigh more count more (cluster-robust variance: K.-Y.
    Liang and S. L. Zeger 1986, Biometrika 73:13; its degrees of freedom: R. M. Bell and D. F. McCaffrey 2002, Survey
    Methodology 28:169).
    """
    measured = np.isfinite(times)
    counts = measured.sum(axis=1, keepdims=True)
    parts = measured / counts  # of each block in the mean of a case
    filled = np.where(measured, times, 0.0)
    means = (parts * filled).sum(axis=1)
    residuals = weights @ (parts * np.where(measured, filled - means[:, None], 0.0))
    of_blocks = weights @ parts
    lone = (weights * (counts[:, 0] == 1)) @ parts
    # residuals = maker @ (block effects): a case's own mean holds a part of each of its blocks.
    maker = np.diag(of_blocks) - parts.T @ (parts * weights[:, None])
    form = maker.T @ maker
    return Blocks(
        float(weights @ means),
        float((residuals**2).sum()),
        float(form.trace()),
        float((form * form.T).sum()),
        float((of_blocks**2).sum()),
        float((lone**2).sum()),
    )


def contrast(a: Blocks, b: Blocks, groups: tuple[bool, bool] = (False, False)) -> Estimate:
    """Returns the estimate of b against a. `groups` says which side is a group of runs, whose blocks are its runs.

    Blocks of the same kind have a common variance. The launches of a run and the runs of a group scatter differently, so each
    has a variance of its own (B. L. Welch 1947, Biometrika 34:28).
    """
    if groups[0] != groups[1]:
        return _contrast_unlike(a, b)
    squares, trace, trace_of_square = (a[i] + b[i] for i in range(1, 4))
    usable = trace > 1e-12
    return Estimate(
        difference=b.mean - a.mean,
        variance=squares / trace if usable else 0.0,
        freedom=trace**2 / trace_of_square if usable else 0.0,
        share=a.share + b.share,
        lone=a.lone + b.lone,
        unseen=0 if groups[0] else 2,
    )


def _contrast_unlike(a: Blocks, b: Blocks) -> Estimate:
    share, parts = a.share + b.share, []
    for side in (a, b):
        usable = side.trace > 1e-12
        variance = side.squares / side.trace if usable else LONE_VARIANCE
        parts.append((variance * side.share, side.trace**2 / side.trace_of_square if usable else LONE_FREEDOM))
    variance = sum(part for part, _ in parts)
    own = sum(part**2 / freedom for part, freedom in parts)
    return Estimate(
        difference=b.mean - a.mean,
        variance=variance / share,
        freedom=variance**2 / own if own > 0 else sum(freedom for _, freedom in parts),
        share=share,
        unseen=1,
    )
