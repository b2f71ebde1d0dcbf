"""Comparison of two runs by blocks of time: many cases share the state of the machine at one time and are not independent.

The model of a case c in a block t of one run is log(time) = c + u(t) + e. The block effect u(t) is random and common to all
cases that were measured then: the pace of cores and memory, other guests, the pages of that launch. The precision of the
ratio of two runs therefore follows from the number of blocks, not from the number of cases or samples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.statistics.difference.compare import Call, holm
from steelyard.statistics.samples.interval import Array, normal_quantile
from steelyard.statistics.samples.launches import CONFIDENCE, RUN_SPREAD, USUAL_SPREAD

# Log ratios that two equal runs may show: two runs of one machine differ by up to 2 % from hour to hour (temperature, other
# guests, placement of pages), and the blocks of one run do not show this. A call needs more than `SMALLEST_OF_ALL`, SAME less
# than `LARGEST_OF_SAME` with the whole interval.
SMALLEST_OF_ALL, LARGEST_OF_SAME = 0.025, 0.05
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
    """

    difference: float
    variance: float
    freedom: float
    share: float
    lone: float = 0.0

    @property
    def error(self) -> float:
        """Returns the standard error of `difference`."""
        return math.sqrt(self.variance * self.share + max(0.0, LONE_VARIANCE - self.variance) * self.lone)


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


def estimate(a: Array, b: Array, weights: Array) -> Estimate:
    """Returns the estimate from two runs: logarithms of seconds, a row for each case, a column for each block of time.

    NaN: the case was not measured in that block; each case has at least one time in both runs. The weights have the sum 1.

    Each block's residual is the weighted sum of what its cases differ from their own means in that run. The variance follows
    from the squares of these sums, so that blocks that scatter more and weigh more count more (cluster-robust variance: K.-Y.
    Liang and S. L. Zeger 1986, Biometrika 73:13; its degrees of freedom: R. M. Bell and D. F. McCaffrey 2002, Survey
    Methodology 28:169).
    """
    sides = [_side(run, weights) for run in (a, b)]
    squares, trace, trace_of_square, share, lone = (sum(side[i] for side in sides) for i in range(1, 6))
    usable = trace > 1e-12
    return Estimate(
        difference=sides[1][0] - sides[0][0],
        variance=squares / trace if usable else 0.0,
        freedom=trace**2 / trace_of_square if usable else 0.0,
        share=share,
        lone=lone,
    )


def _side(times: Array, weights: Array) -> tuple[float, ...]:
    measured = np.isfinite(times)
    parts = measured / measured.sum(axis=1, keepdims=True)  # of each block in the mean of a case
    filled = np.where(measured, times, 0.0)
    means = (parts * filled).sum(axis=1)
    residuals = weights @ (parts * np.where(measured, filled - means[:, None], 0.0))
    of_blocks = weights @ parts
    lone = (weights * (measured.sum(axis=1) == 1)) @ parts
    # residuals = maker @ (block effects): a case's own mean holds a part of each of its blocks.
    maker = np.diag(of_blocks) - parts.T @ (parts * weights[:, None])
    form = maker.T @ maker
    return (
        float(weights @ means),
        float((residuals**2).sum()),
        float(np.trace(form)),
        float((form * form.T).sum()),
        float((of_blocks**2).sum()),
        float((lone**2).sum()),
    )


def moderate(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Returns the estimates with variances drawn towards the usual one, weighted by degrees of freedom.

    The usual variance and its weight follow from the variances of all estimates (empirical Bayes: G. K. Smyth 2004, Stat.
    Appl. Genet. Mol. Biol. 3:3). Two blocks that agree by chance so do not claim to be exact. With few estimates, each keeps
    its own variance (see `add_floor`).
    """
    shown = [e for e in estimates if e.freedom >= FEWEST_DEGREES]
    if len(shown) < FEWEST_TO_POOL:
        return [add_floor(e) for e in estimates]
    usual, weight = _usual(shown)
    drawn = []
    for e in estimates:
        known = e.freedom if e.freedom >= FEWEST_DEGREES else 0.0
        variance = (weight * usual + known * e.variance) / (weight + known)
        drawn.append(replace(e, variance=max(variance, USUAL_SPREAD**2), freedom=weight + known))
    return drawn


def add_floor(e: Estimate) -> Estimate:
    """Returns the estimate with `USUAL_SPREAD` added to its blocks; with `LONE_VARIANCE` if no two blocks show a variance."""
    if e.freedom < FEWEST_DEGREES:
        return replace(e, variance=LONE_VARIANCE, freedom=LONE_FREEDOM)
    return replace(e, variance=e.variance + USUAL_SPREAD**2)


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
    return replace(together, variance=variance / together.share, freedom=freedom, lone=0.0)


def _usual(shown: Sequence[Estimate]) -> tuple[float, float]:
    """Returns the usual variance of a block and its weight in degrees of freedom (Smyth 2004, section 6.2).

    Blocks on shared machines are not normal: two of them often miss a guest that the other run meets. So the usual variance
    is two standard errors above its estimate, and the scatter of the variances one. Simulated with 14 benchmarks and two
    launches, with and without guests, this calls equal runs different in 0 to 4 % of the tables instead of 0 to 10 %.
    """
    from steelyard.statistics.samples.distribution_functions import polygamma, psi

    halves = np.array([e.freedom / 2 for e in shown])
    logs = np.log([max(e.variance, USUAL_SPREAD**2 / 100) for e in shown]) - psi(halves) + np.log(halves)
    scatter = float(logs.var(ddof=1)) * (1 + math.sqrt(2 / (len(shown) - 1)))
    middle = float(logs.mean()) + 2 * math.sqrt(scatter / len(shown))
    excess = scatter - float(polygamma(1, halves).mean())
    weight = 2 * _inverse_trigamma(excess) if excess > 0 else MOST_WEIGHT
    weight = min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)
    return math.exp(middle + float(psi(weight / 2)) - math.log(weight / 2)), weight


def _inverse_trigamma(value: float) -> float:
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


def judge(estimates: Sequence[Estimate], tables: int = 1) -> list[Judgement]:
    """Calls all estimates of a table; over `tables` such tables, at least one call is false with probability 5 % at most.

    b is FASTER or SLOWER if the interval excludes 1 and p < 0.05. p is the chance of a difference at least this large if the
    true one is `SMALLEST_OF_ALL`, corrected by `holm` and multiplied by `tables`. SAME: the whole interval is within
    `LARGEST_OF_SAME`. The interval also holds the difference between runs that no run shows (`RUN_SPREAD`).
    """
    adjusted = holm([_chance(e) for e in estimates])
    return [
        _judgement(e, min(1.0, p * tables), len(estimates) * tables) for e, p in zip(estimates, adjusted, strict=True)
    ]


def widen(judgement: Judgement, other: float) -> Judgement:
    """Returns the judgement for the case that any part of a factor `other` of the ratio is not due to the systems."""
    ends = (judgement.low, judgement.high, judgement.low / other, judgement.high / other)
    smallest = (1 + judgement.smallest) * max(other, 1 / other) - 1
    return replace(judgement, low=min(ends), high=max(ends), smallest=smallest)


def _chance(e: Estimate) -> float:
    from steelyard.statistics.samples.distribution_functions import stdtr

    if e.error == 0:
        return 1.0
    ends = (SMALLEST_OF_ALL - abs(e.difference), -SMALLEST_OF_ALL - abs(e.difference))
    return min(1.0, sum(float(stdtr(e.freedom, end / e.error)) for end in ends))


def _judgement(e: Estimate, p: float, count: int) -> Judgement:
    from steelyard.statistics.samples.distribution_functions import stdtrit

    def quantile(chance: float) -> float:
        return float(stdtrit(e.freedom, chance))

    half = math.hypot(quantile((1 + CONFIDENCE) / 2) * e.error, normal_quantile(CONFIDENCE) * RUN_SPREAD * math.sqrt(2))
    low, high = e.difference - half, e.difference + half
    found = SMALLEST_OF_ALL + (quantile(1 - (1 - CONFIDENCE) / count) + quantile(POWER)) * e.error
    call: Call = "UNCLEAR"
    if p < 1 - CONFIDENCE and (low > 0 or high < 0):
        call = "SLOWER" if e.difference > 0 else "FASTER"
    elif low > -LARGEST_OF_SAME and high < LARGEST_OF_SAME:
        call = "SAME"
    return Judgement(ratio=_exp(e.difference), low=_exp(low), high=_exp(high), p=p, call=call, smallest=_exp(found) - 1)


def _exp(x: float) -> float:
    return math.exp(min(max(x, -700.0), 700.0))
