"""Comparison of two runs by blocks of time: many cases share the state of the machine at one time and are not independent.

The model of a case c in a block t of one run is log(time) = c + u(t) + e. The block effect u(t) is random and common to all
cases that were measured then: the pace of cores and memory, other guests, the pages of that launch. The precision of the
ratio of two runs therefore follows from the number of blocks, not from the number of cases or samples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from steelyard.model.scalars import Call
from steelyard.statistics.difference.compare import holm_array
from steelyard.statistics.samples.interval import Array, normal_quantile
from steelyard.statistics.samples.launches import CONFIDENCE, RUN_SPREAD, USUAL_SPREAD

# Log ratios that two equal runs may show: two runs of one machine differ by up to 2 % from hour to hour (temperature, other
# guests, placement of pages), and the blocks of one run do not show this. A call needs more than `SMALLEST_OF_ALL`, SAME less
# than `LARGEST_OF_SAME` with the whole interval.
SMALLEST_OF_ALL, LARGEST_OF_SAME = 0.025, 0.05
# On a quiet machine, blocks scatter little and runs differ less. The spread of runs is `RUN_BY_BLOCK` times the usual spread of a
# block, but at least `QUIET_RUN_SPREAD` and at most `RUN_SPREAD`. `SMALLEST_OF_ALL` shrinks with it.
QUIET_RUN_SPREAD, RUN_BY_BLOCK = 0.003, 0.8
SMALLEST_OF_GROUPS = 0.015  # the same for two groups of runs, whose spread shows how runs differ
FEWEST_TO_POOL = 5  # estimates from which the usual variance of a block is taken
LEAST_WEIGHT, MOST_WEIGHT = 0.5, 20.0  # degrees of freedom that the usual variance may have
POWER = 0.8  # probability of finding the smallest difference that a comparison states
FEWEST_DEGREES = 1.0  # of freedom, for a call
LONE_FREEDOM, LONE_VARIANCE = 1.0, 0.1**2  # assumed where no two blocks of a case show a variance


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The weighted mean over cases of log(b / a). `variance` is that of a block; the mean's is `variance` · `share`.

    `freedom` are the degrees of freedom of `variance` (Satterthwaite); 0 if no case has two blocks. `lone` is the part of
    `share` from cases with one block in a run, whose blocks show no variance: at least `LONE_VARIANCE` is assumed for them.
    `unseen` is the number of sides that are a single run: no block shows how much other runs of that system differ.
    `run_spread` is the standard deviation of runs that is assumed for them.
    """

    difference: float
    variance: float
    freedom: float
    share: float
    lone: float = 0.0
    unseen: int = 2
    run_spread: float = RUN_SPREAD

    @property
    def least(self) -> float:
        """Returns the difference that two equal sides may show beside their error."""
        return SMALLEST_OF_ALL * self.run_spread / RUN_SPREAD if self.unseen else SMALLEST_OF_GROUPS

    @property
    def error(self) -> float:
        """Returns the standard error of `difference`."""
        return math.sqrt(self.variance * self.share + max(0.0, LONE_VARIANCE - self.variance) * self.lone)


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Many estimates as columns: an element of each array for each estimate."""

    difference: Array
    variance: Array
    freedom: Array
    share: Array
    lone: Array
    unseen: Array
    run_spread: Array

    @property
    def error(self) -> Array:
        """Returns the standard errors of `difference`."""
        error: Array = np.sqrt(self.variance * self.share + np.maximum(0.0, LONE_VARIANCE - self.variance) * self.lone)
        return error


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Seconds of b / seconds of a over all cases, its 95 % interval, p after correction, and the call for b.

    `smallest` is the least relative difference that this comparison finds with a probability of `POWER`.
    """

    ratio: float
    low: float
    high: float
    p: float
    call: Call
    smallest: float


def stack(estimates: Sequence[Estimate]) -> Estimates:
    """Returns the estimates as columns."""
    return Estimates(
        **{f.name: np.array([getattr(e, f.name) for e in estimates], dtype=float) for f in fields(Estimate)}
    )


def moderate(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Returns the estimates with variances drawn towards the usual one (see `moderate_columns`)."""
    drawn = moderate_columns(stack(estimates))
    return [
        replace(e, variance=float(variance), freedom=float(freedom), run_spread=float(run_spread))
        for e, variance, freedom, run_spread in zip(
            estimates, drawn.variance, drawn.freedom, drawn.run_spread, strict=True
        )
    ]


def moderate_columns(e: Estimates) -> Estimates:
    """Returns the estimates with variances drawn towards the usual one, weighted by degrees of freedom.

    The usual variance and its weight follow from the variances of all estimates (empirical Bayes: G. K. Smyth 2004, Stat.
    Appl. Genet. Mol. Biol. 3:3). Two blocks that agree by chance so do not claim to be exact. With few estimates, each keeps
    its own variance and `USUAL_SPREAD`, or has `LONE_VARIANCE` if no two of its blocks show one. Many estimates with a small
    usual variance show a quiet machine.
    """
    shown = e.freedom >= FEWEST_DEGREES
    if shown.sum() < FEWEST_TO_POOL:
        return replace(
            e,
            variance=np.where(shown, e.variance + USUAL_SPREAD**2, LONE_VARIANCE),
            freedom=np.where(shown, e.freedom, LONE_FREEDOM),
        )
    usual, weight = _estimate_usual_variance(e.variance[shown], e.freedom[shown])
    known = np.where(shown, e.freedom, 0.0)
    variance = (weight * usual + known * e.variance) / (weight + known)
    run_spread = min(max(RUN_BY_BLOCK * math.sqrt(usual), QUIET_RUN_SPREAD), RUN_SPREAD)
    return replace(
        e,
        variance=np.maximum(variance, USUAL_SPREAD**2),
        freedom=weight + known,
        run_spread=np.full_like(e.variance, run_spread),
    )


def combine(together: Estimate, parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Returns the estimate of a class of benchmarks (`parts`, weights with the sum 1), with the largest of three errors.

    That of its blocks (`together`) has what benchmarks share at one time; that of its benchmarks the usual variance of one
    with few launches; and their differences from each other show whether the class differs or only one of them (random effects
    of benchmarks: R. DerSimonian and N. Laird 1986, Control. Clin. Trials 7:177).
    """
    errors = [(weight * part.error) ** 2 for weight, part in zip(weights, parts, strict=True)]
    freedom = sum(errors) ** 2 / sum(v * v / part.freedom for v, part in zip(errors, parts, strict=True))
    candidates = [(together.error**2, together.freedom), (sum(errors), freedom)]
    if len(parts) > 1:
        apart = [(w * (part.difference - together.difference)) ** 2 for w, part in zip(weights, parts, strict=True)]
        effective = sum(w**2 for w in weights) ** 2 / sum(w**4 for w in weights)
        candidates.append((sum(apart) * len(parts) / (len(parts) - 1), max(FEWEST_DEGREES, effective - 1)))
    variance, freedom = max(candidates)
    run_spread = max(part.run_spread for part in parts)
    return replace(together, variance=variance / together.share, freedom=freedom, lone=0.0, run_spread=run_spread)


def _estimate_usual_variance(variances: Array, freedoms: Array) -> tuple[float, float]:
    """Returns the usual variance of a block and its weight in degrees of freedom (Smyth 2004, section 6.2).

    Blocks on shared machines are not normal: two of them often miss a guest that the other run meets. So the usual variance
    is two standard errors above its estimate, and the scatter of the variances one. Simulated with 14 benchmarks and two
    launches, with and without guests, this calls equal runs different in 0 to 4 % of the tables instead of 0 to 10 %.
    """
    from steelyard.statistics.samples.distribution_functions import polygamma, psi

    halves = freedoms / 2
    logs = np.log(np.maximum(variances, USUAL_SPREAD**2 / 100)) - psi(halves) + np.log(halves)
    scatter = float(logs.var(ddof=1)) * (1 + math.sqrt(2 / (len(logs) - 1)))
    middle = float(logs.mean()) + 2 * math.sqrt(scatter / len(logs))
    excess = scatter - float(polygamma(1, halves).mean())
    weight = 2 * _invert_trigamma(excess) if excess > 0 else MOST_WEIGHT
    weight = min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)
    return math.exp(middle + float(psi(weight / 2)) - math.log(weight / 2)), weight


def _invert_trigamma(value: float) -> float:
    """Returns x with trigamma(x) = value > 0, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    from steelyard.statistics.samples.distribution_functions import polygamma

    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


CALLS: tuple[Call, ...] = ("UNCLEAR", "SAME", "FASTER", "SLOWER")


@dataclass(frozen=True, kw_only=True, eq=False)
class Judgements:
    """Many judgements as columns. `call` has places in `CALLS`."""

    ratio: Array
    low: Array
    high: Array
    p: Array
    call: Array
    smallest: Array


def judge(estimates: Sequence[Estimate], tables: int = 1) -> list[Judgement]:
    """Calls all estimates of a table (see `judge_columns`)."""
    if not estimates:
        return []
    j = judge_columns(stack(estimates), tables)
    rows = zip(*(getattr(j, f.name).tolist() for f in fields(Judgement)), strict=True)
    return [
        Judgement(ratio=ratio, low=low, high=high, p=p, call=CALLS[call], smallest=smallest)
        for ratio, low, high, p, call, smallest in rows
    ]


def judge_columns(e: Estimates, tables: int = 1) -> Judgements:
    """Calls all estimates of a table; over `tables` such tables, at least one call is false with probability 5 % at most.

    b is FASTER or SLOWER if the interval excludes 1 and p < 0.05. p is the chance of a difference at least this large if the
    true one is the least (`SMALLEST_OF_ALL`, less on a quiet machine, or `SMALLEST_OF_GROUPS` between groups). It is corrected
    by `holm` and multiplied by `tables`. SAME: the whole interval is within `LARGEST_OF_SAME`. The interval also holds the
    difference between runs that no run shows (`run_spread`).

    Simulated, 1,000 pages of 14 benchmarks with five launches, which scatter by 0.3 %, while runs differ by 0.2 %: equal sides
    are called different on no page, 3 % are found in more than 99 % of the benchmarks.
    """
    from steelyard.statistics.samples.distribution_functions import stdtrit

    p = np.minimum(1.0, holm_array(_compute_chances(e)) * tables)
    error = e.error
    between = normal_quantile(CONFIDENCE) * e.run_spread * np.sqrt(e.unseen)
    freedoms, of_freedom = np.unique(e.freedom, return_inverse=True)  # few, and their quantiles take long
    middle, least, power = (
        stdtrit(freedoms, chance)[of_freedom]
        for chance in ((1 + CONFIDENCE) / 2, 1 - (1 - CONFIDENCE) / max(1, len(p) * tables), POWER)
    )
    half = np.hypot(middle * error, between)
    low, high = e.difference - half, e.difference + half
    smallest = _find_smallest(e) + (least + power) * error
    same = (low > -LARGEST_OF_SAME) & (high < LARGEST_OF_SAME)
    certain = (p < 1 - CONFIDENCE) & ((low > 0) | (high < 0))
    slower = np.where(e.difference > 0, CALLS.index("SLOWER"), CALLS.index("FASTER"))
    call = np.where(certain, slower, np.where(same, CALLS.index("SAME"), CALLS.index("UNCLEAR")))
    return Judgements(
        ratio=_exp(e.difference), low=_exp(low), high=_exp(high), p=p, call=call, smallest=_exp(smallest) - 1
    )


def widen(judgement: Judgement, other: float) -> Judgement:
    """Returns the judgement for the case that any part of a factor `other` of the ratio is not due to the systems."""
    ends = (judgement.low, judgement.high, judgement.low / other, judgement.high / other)
    smallest = (1 + judgement.smallest) * max(other, 1 / other) - 1
    return replace(judgement, low=min(ends), high=max(ends), smallest=smallest)


def _compute_chances(e: Estimates) -> Array:
    from steelyard.statistics.samples.distribution_functions import stdtr

    error = np.where(e.error > 0, e.error, np.inf)
    smallest = _find_smallest(e)
    ends = (smallest - np.abs(e.difference), -smallest - np.abs(e.difference))
    chances = np.minimum(1.0, sum(stdtr(e.freedom, end / error) for end in ends))
    return np.where(e.error > 0, chances, 1.0)


def _find_smallest(e: Estimates) -> Array:
    smallest: Array = np.where(e.unseen > 0, SMALLEST_OF_ALL * e.run_spread / RUN_SPREAD, SMALLEST_OF_GROUPS)
    return smallest


def _exp(x: Array) -> Array:
    bounded: Array = np.exp(np.clip(x, -700.0, 700.0))
    return bounded
