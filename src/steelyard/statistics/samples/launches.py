"""Several launches of the same case combined, since two launches differ more than two samples of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

import numpy as np

from steelyard.statistics.samples.interval import Array, interval_at, normal_quantile
from steelyard.statistics.samples.summary import Samples, Summary, summarise_all

# With fewer, even the range of the launches' medians is not a 95 % interval: 2 · 0.5^5 > 0.05.
LAUNCHES_FOR_RANKS = 6
CONFIDENCE = 0.95
SAMPLES_FOR_RANGE = 6  # as above, for independent samples
# Usual spread of the launches of a program, with the weight of two further launches (see `moderate_variance`).
USUAL_SPREAD, USUAL_WEIGHT = 0.005, 2
LONE_SPREAD = 0.01  # assumed spread for a single launch, which shows no spread
# Additional standard deviation between undisturbed runs of one machine: heat and other guests change the clock of all
# launches of a run by some percent.
RUN_SPREAD = 0.01
# Standard error of the median of k normal values over that of their mean; at k = 3 1.16, in the limit √(π/2).
MEDIAN_ERROR = {1: 1.0, 2: 1.0, 3: 1.16, 4: 1.09, 5: 1.20}
MEDIAN_OF_MANY = math.sqrt(math.pi / 2)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A case over its launches, in the samples' unit.

    `value` is the median of the launches' medians, `low` … `high` its 95 % interval (None: too little was
    measured). `within` is the mean coefficient of variation inside a launch (root mean square); None if one sample
    shows no spread. `effective` is the number of independent samples in all launches.
    """

    value: float
    low: float | None
    high: float | None
    within: float | None
    medians: tuple[float, ...]  # medians of the launches
    effective: float

    @property
    def launches(self) -> int:
        """Returns the number of launches."""
        return len(self.medians)

    @property
    def between(self) -> float | None:
        """Returns the coefficient of variation of the launches' medians (with a rest of `within`); None for one launch."""
        return stdev(self.medians) / abs(self.value) if self.launches > 1 and self.value != 0 else None


def combine(launches: Sequence[Samples]) -> Spread:
    """Combines launches; each is its samples in the order of time.

    With 6 launches or more, the interval is the nonparametric one of their medians. With fewer, it is the hull of the
    intervals of the launches (the whole range of a launch without one) and of Student's interval, which adds the
    difference between launches: as measured, and as usual (`USUAL_SPREAD`, for one launch `LONE_SPREAD`). Raises
    ValueError if there is no launch, a launch has no samples, or a sample is not finite.
    """
    if not launches:
        raise ValueError("no launches to combine: expected at least one list of samples")
    return combine_summaries(summarise_all(launches))


def combine_summaries(summaries: Sequence[Summary]) -> Spread:
    """Combines the summaries of launches, at least one."""
    medians = [summary.median for summary in summaries]
    value = median(medians)
    low, high = _find_interval(summaries, medians)
    variations = [summary.variation for summary in summaries if summary.variation is not None]
    return Spread(
        value=value,
        low=low,
        high=high,
        within=fmean(variation**2 for variation in variations) ** 0.5 if variations else None,
        medians=tuple(medians),
        effective=sum(summary.effective for summary in summaries),
    )


def widen_for_runs(spread: Spread) -> Spread:
    """Returns the spread with an interval that also covers the differences between runs, which one run does not show."""
    if spread.low is None or spread.high is None or spread.low <= 0:
        return spread
    ends = spread.value / spread.low, spread.high / spread.value
    down, up = (math.exp(add_run_spread(math.log(end))) for end in ends)
    return replace(spread, low=spread.value / down, high=spread.value * up)


def add_run_spread(half: float) -> float:
    """Returns the relative half-width of an interval with the difference between runs added."""
    return math.hypot(half, normal_quantile(CONFIDENCE) * RUN_SPREAD)


def median_error(n: int) -> float:
    """Returns the standard error of the median of n normal values over that of their mean."""
    return MEDIAN_ERROR.get(n, MEDIAN_OF_MANY)


def moderate_variance(groups: Sequence[Array], lone: float, median_variance: float) -> tuple[float, int]:
    """Returns the variance of launches within `groups` (logarithms of their medians) and its degrees of freedom.

    The prior is the usual spread (`USUAL_SPREAD`, or `lone` if no group has two) and the variance `median_variance` of a
    median itself, so that two launches that agree by chance do not claim to be exact.
    Source: the moderated t statistic, G. K. Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3:3.
    """
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    usual = (USUAL_SPREAD if freedom else lone) ** 2 + median_variance
    return (squares + USUAL_WEIGHT * usual) / (freedom + USUAL_WEIGHT), freedom + USUAL_WEIGHT


def _find_interval(summaries: Sequence[Summary], medians: Sequence[float]) -> tuple[float | None, float | None]:
    if len(medians) >= LAUNCHES_FOR_RANKS:
        # Launches are shuffled over the run, so that they may count as independent.
        low, high = interval_at(np.sort([medians], axis=1), np.array([float(len(medians))]), CONFIDENCE)
        return float(low[0]), float(high[0])
    if all(summary.low is None for summary in summaries) and sum(s.count for s in summaries) < SAMPLES_FOR_RANGE:
        return None, None
    if len(summaries) == 1 and summaries[0].low is None:
        return None, None
    least = min(summary.best if summary.low is None else summary.low for summary in summaries)
    most = max(summary.worst if summary.high is None else summary.high for summary in summaries)
    if least <= 0:
        return least, most
    value, factor = median(medians), _bound_between_launches(summaries, medians)
    return min(least, value / factor), max(most, value * factor)


def _bound_between_launches(summaries: Sequence[Summary], medians: Sequence[float]) -> float:
    """Returns the end of Student's interval over its middle, from the spread of the launches and the error of their medians."""
    from steelyard.statistics.samples.distribution_functions import stdtrit

    variances = [
        (math.log(s.high / s.low) / 2 / normal_quantile(CONFIDENCE)) ** 2
        for s in summaries
        if s.low is not None and s.high is not None
    ]
    variance, freedom = moderate_variance([np.log(medians)], LONE_SPREAD, fmean(variances) if variances else 0.0)
    error = median_error(len(medians)) * math.sqrt(variance / len(medians))
    return math.exp(float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error)
