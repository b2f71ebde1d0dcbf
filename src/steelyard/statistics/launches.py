"""Several launches of the same case put together: two starts differ more than two samples of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np

from steelyard.statistics.interval import interval_at
from steelyard.statistics.summary import Summary, summarise

# With fewer, not even least … greatest of the launches' medians is a 95 % interval: 2 · 0.5^5 > 0.05.
LAUNCHES_FOR_RANKS = 6
SAMPLES_FOR_RANGE = 6  # the same for independent samples


@dataclass(frozen=True)
class Spread:
    """A case over its launches, in the samples' unit.

    `value` is the median of the launches' medians, `low` … `high` its 95 % interval (None: too little was
    measured). `within` is the mean coefficient of variation inside a launch (root mean square), `between`
    that of the launches' medians (which holds what is left of `within`); None where one sample, or one
    launch, shows no spread. `effective` is the number of independent samples in all launches.
    """

    value: float
    low: float | None
    high: float | None
    within: float | None
    between: float | None
    launches: int
    effective: float


def combine(launches: Sequence[Sequence[float]]) -> Spread:
    """Put launches together; each is its samples in the order of time.

    The interval: of one launch its own; of 6 launches or more the nonparametric one of their medians; of
    fewer the hull of the launches' own intervals. A launch that cannot state an interval counts with its
    whole range. The hull is wider than needed when the launches agree; when they differ, it shows by how
    much, but the next launch may still lie outside: three launches cannot promise more. Raises ValueError if
    there is no launch, a launch has no samples, or a sample is not finite.
    """
    if not launches:
        raise ValueError("no launches to combine: expected at least one list of samples")
    summaries = [summarise(samples) for samples in launches]
    medians = [summary.median for summary in summaries]
    value = median(medians)
    low, high = _interval(summaries, medians)
    variations = [summary.variation for summary in summaries if summary.variation is not None]
    return Spread(
        value=value,
        low=low,
        high=high,
        within=fmean(variation**2 for variation in variations) ** 0.5 if variations else None,
        between=stdev(medians) / abs(value) if len(medians) > 1 and value != 0 else None,
        launches=len(launches),
        effective=sum(summary.effective for summary in summaries),
    )


def _interval(summaries: Sequence[Summary], medians: Sequence[float]) -> tuple[float | None, float | None]:
    if len(summaries) == 1:
        return summaries[0].low, summaries[0].high
    if len(medians) >= LAUNCHES_FOR_RANKS:
        # Launches are shuffled over the run, so that they may count as independent.
        low, high = interval_at(np.sort([medians], axis=1), np.array([float(len(medians))]), 0.95)
        return float(low[0]), float(high[0])
    if all(summary.low is None for summary in summaries) and sum(s.count for s in summaries) < SAMPLES_FOR_RANGE:
        return None, None
    return (
        min(summary.best if summary.low is None else summary.low for summary in summaries),
        max(summary.worst if summary.high is None else summary.high for summary in summaries),
    )
