"""Comparison of two sets of launches: the interval of their ratio, a rank test, and a correction for many comparisons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

import numpy as np

from steelyard.model.scalars import Call
from steelyard.model.units import percent
from steelyard.statistics.difference.rank_test import mann_whitney
from steelyard.statistics.difference.sides import Launches, Side, bootstrap_intervals, logs_of, sides_of, thinned_row
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import median_error, moderate_variance
from steelyard.statistics.samples.summary import medians

Why = Literal["too wide", "hardly so large", "chance", "few launches", "other pace", "unsteady pace"]

LONE_SPREAD = 0.015  # assumed for one launch per side, which shows no spread
# Launches a side from which the least p of a rank test of their medians survives a correction for many.
MANY_LAUNCHES = 8

# For pairs in turn: a pair further out than this number of robust deviations has no weight, because other work hit one
# of its launches. The usual 4.685 finds a slowdown of 5 % in 83 of 100 cases instead of 92 if one pair in five is hit
# (simulated, 40 pairs).
OUTLYING = 3.0
SCORES = 32  # steps of a pair's weight: whole numbers, so that the distribution of their sum is exact
MANY_PAIRS = 100  # from which that distribution is as good as normal
MORE_ROUNDS = ". More rounds would make the interval narrower"
CORNERS = 16  # places between the middle and the outermost pair at which the end of the interval is sought


@dataclass(frozen=True)
class Unclear:
    """The reason why a difference is UNCLEAR: its kind, and a sentence."""

    kind: Why
    text: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of b with a. `ratio` is seconds of b / seconds of a (1.05: 5 % slower), `low` and `high` its interval.

    `p` is the chance that two equal sides differ by at least this much: the greater p of the t statistic of the launches
    and of the Mann-Whitney rank test; for pairs, the p of their signs. `call` is FASTER or SLOWER for b, SAME if any
    difference is smaller than required, or UNCLEAR if the interval is too wide. `detail` is the reason in a sentence;
    `unclear` has the kind of the reason of an UNCLEAR call.
    """

    ratio: float
    low: float
    high: float
    p: float
    call: Call
    detail: str
    unclear: Unclear | None = None


def compare(a: Launches, b: Launches, smallest: float = 0.015, confidence: float = 0.95) -> Comparison:
    """Compares launches `b` with launches `a` (seconds, each launch in the order of time).

    b differs if the interval of the ratio excludes 1, the ratio differs from 1 by more than `smallest`, and p
    < 1 − `confidence`. The interval is the hull of two: Student's, from the launches' medians with the spread
    of both sides pooled (and `USUAL_SPREAD`), and a bootstrap in two levels (launches drawn, then their
    medians within their error).

    Simulated, 3 launches a side of 8 … 30 samples that vary by 0.5 … 5 %: equal sides whose launches differ
    by 0 … 2 %, one in ten sides with an outlying launch, are called different in about 2 % of the cases; a
    slowdown of 5 % is found in about 95 % where launches differ by up to 1 %. With one launch a side 5 % is
    not found: nothing tells how launches differ, and `LONE_SPREAD` is assumed.
    Raises ValueError if a side has no launch, a launch no samples, or a sample is not positive and finite.
    """
    return compare_all([(a, b)], smallest, confidence)[0]


def _compare_sides(a: Side, b: Side, drawn: tuple[float, float], confidence: float) -> Comparison:
    """Returns the comparison without a call; `drawn` is the interval of the bootstrap, in logarithms."""
    difference = median(b.medians.tolist()) - median(a.medians.tolist())
    half, p = _compare_by_student_t(a, b, difference, confidence)
    low, high = min(difference - half, drawn[0]), max(difference + half, drawn[1])
    return Comparison(
        ratio=math.exp(difference),
        low=math.exp(low),
        high=math.exp(high),
        p=max(p, _rank_test(a, b)),
        call="UNCLEAR",
        detail="",
    )


def compare_in_turn(a: Launches, b: Launches, smallest: float = 0.015, level: float = 0.05) -> Comparison:
    """Compares launches that were measured in turn (a[0], b[0], a[1] …), so that slow changes cancel in each pair.

    The method and the errors are those of `log_ratios` and `compare_pairs`.
    """
    return compare_pairs(log_ratios(a, b), smallest, level)


def log_ratios(a: Launches, b: Launches) -> list[float]:
    """Returns the logarithm of the ratio of the medians, b / a, of each pair of launches.

    Raises ValueError if the sides are of different length, empty, or hold a sample that is not positive and finite.
    """
    if len(a) != len(b):
        raise ValueError(f"the sides have {len(a)} and {len(b)} launches; expected the same number")
    differences: list[float] = (medians(logs_of(b, "b")) - medians(logs_of(a, "a"))).tolist()
    return differences


def compare_pairs(differences: Sequence[float], smallest: float = 0.015, level: float = 0.05) -> Comparison:
    """Compares two sides by the logarithms of the ratios b / a of their pairs.

    If which launch of a pair went first was left to chance, each difference between equal sides has either sign with the
    same probability, however the machine wanders: p is the probability of a sum as far from 0 as theirs, each
    difference weighted by Tukey's biweight (R. A. Fisher 1935, The Design of Experiments, § 21; A. E. Beaton and J. W.
    Tukey 1974, Technometrics 16:147). Its scale is the median of their absolute values, in which no sign shows. The ratio
    is the place around which the weighted sum vanishes, the 95 % interval holds the places that are not rejected. b
    differs if the interval excludes 1, p < `level`, and the ratio differs from 1 by more than `smallest`. With fewer than
    six pairs there is no interval (0 … ∞).

    Simulated, 40 pairs of launches that scatter by 3 % while the machine wanders by 10 %: the interval holds the truth in
    94 … 96 %; at `level` 0.005 equal sides are called different in 0.7 %, 5 % are found in 99 %, in 91 … 98 % where a
    neighbour hits one pair in five. Raises ValueError if there is no difference or one is not finite.
    """
    row = np.asarray(differences, dtype=np.float64)
    if row.size == 0 or not np.isfinite(row).all():
        raise ValueError(
            "the pairs are empty or not finite; expected at least one pair, each with the logarithm of a ratio"
        )
    middle = _find_middle(row)
    low, high = -_find_end(-row, -middle), _find_end(row, middle)
    comparison = Comparison(
        ratio=math.exp(middle), low=math.exp(low), high=math.exp(high), p=_sign_flips(row), call="UNCLEAR", detail=""
    )
    return _add_call(comparison, smallest, level, MORE_ROUNDS)


def _score_differences(row: Array) -> Array:
    """Returns the signed score of each difference: whole numbers up to `SCORES`, all equal if most differences are 0."""
    sizes = np.abs(row)
    scale = 1.4826 * float(np.median(sizes))
    u = np.minimum(sizes / (OUTLYING * scale), 1.0) if scale else np.full(len(row), math.sqrt(0.2))
    highest = 16 / 25 * math.sqrt(0.2)  # of u · (1 − u²)², at u = √0.2
    scores: Array = np.rint(np.sign(row) * u * (1 - u * u) ** 2 / highest * SCORES)
    return scores


def _sign_flips(row: Array) -> float:
    """Returns the two-sided p of the sum of the scores, if both signs of each score are equally likely."""
    from steelyard.statistics.samples.distribution_functions import ndtr

    scores = _score_differences(row)
    total, sizes = abs(int(scores.sum())), np.abs(scores).astype(int)
    if total == 0:
        return 1.0
    if len(row) > MANY_PAIRS:
        return float(2 * ndtr(-total / math.sqrt(float((sizes**2).sum()))))
    # Chances of every sum from that of all minus signs upward, one pair after the other.
    chances = np.zeros(int(sizes.sum()) + 1)
    chances[0] = 1.0
    for size in sizes[sizes > 0]:
        chances[size:] = (chances[size:] + chances[:-size]) / 2
        chances[:size] /= 2
    # A sum of `total` has plus signs that hold (all + total) / 2.
    return float(min(1.0, 2 * chances[(int(sizes.sum()) + total) // 2 :].sum()))


def _find_middle(row: Array) -> float:
    """Returns Tukey's biweight estimate of location, iterated from the median."""
    place = float(np.median(row))
    for _ in range(50):
        apart = row - place
        scale = 1.4826 * float(np.median(np.abs(apart)))
        if scale == 0:
            break
        weights = np.maximum(1 - (apart / (OUTLYING * scale)) ** 2, 0) ** 2
        step = float((weights * apart).sum() / weights.sum())
        place += step
        if abs(step) < 1e-9:
            break
    return place


def _find_end(row: Array, middle: float) -> float:
    """Returns the place furthest above `middle` that the pairs do not reject (p ≥ 0.05)."""

    def rejected(place: float) -> bool:
        return _sign_flips(row - place) < 0.05

    beyond = float(row.max()) + 1e-9
    if not rejected(beyond):
        # The outermost pairs have little weight there. Seen from further out, all pairs weigh alike.
        beyond += float(np.ptp(row))
        if not rejected(beyond):
            return math.inf
    places = np.linspace(middle, beyond, CORNERS)
    inside = max((i for i, place in enumerate(places) if not rejected(float(place))), default=0)
    kept, lost = float(places[inside]), float(places[min(inside + 1, CORNERS - 1)])
    for _ in range(25):
        between = (kept + lost) / 2
        kept, lost = (kept, between) if rejected(between) else (between, lost)
    return kept


def compare_all(
    pairs: Sequence[tuple[Launches, Launches]], smallest: float = 0.015, confidence: float = 0.95
) -> list[Comparison]:
    """Compares many pairs (a, b) as `compare` does, with `p` corrected by `holm` for their number."""
    sides = sides_of([logs_of(launches, name) for pair in pairs for launches, name in zip(pair, "ab", strict=True)])
    a_sides, b_sides = sides[0::2], sides[1::2]
    drawn = bootstrap_intervals(a_sides, b_sides, (1 - confidence) / 2)
    comparisons = [_compare_sides(a, b, d, confidence) for a, b, d in zip(a_sides, b_sides, drawn, strict=True)]
    adjusted = holm([comparison.p for comparison in comparisons])
    return [
        _add_call(replace(comparison, p=p), smallest, 1 - confidence, _advise(a, b))
        for comparison, p, (a, b) in zip(comparisons, adjusted, pairs, strict=True)
    ]


def compare_all_pairs(rows: Sequence[Sequence[float]], smallest: float, level: float) -> list[Comparison]:
    """Compares many rows of differences as `compare_pairs` does, with `p` corrected by `holm` for their number."""
    comparisons = [compare_pairs(differences, smallest, level) for differences in rows]
    adjusted = holm([comparison.p for comparison in comparisons])
    return [
        _add_call(replace(c, p=p), smallest, level, MORE_ROUNDS) for c, p in zip(comparisons, adjusted, strict=True)
    ]


def holm(ps: Sequence[float]) -> list[float]:
    """Returns `ps` corrected for their number, in the same order: at most 1, never less than before.

    Source: S. Holm 1979, Scand. J. Statist. 6:65.
    """
    adjusted: list[float] = holm_array(np.asarray(ps, dtype=float)).tolist()
    return adjusted


def holm_array(ps: Array) -> Array:
    """Returns an array corrected by `holm`."""
    order = np.argsort(ps, kind="stable")
    adjusted = np.empty(len(ps))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(ps), 0, -1) * ps[order]))
    return adjusted


def _add_call(comparison: Comparison, smallest: float, level: float, advice: str) -> Comparison:
    span = f"the ratio of the times is {comparison.ratio:.3f} (interval {comparison.low:.3f} to {comparison.high:.3f})"
    certain = (comparison.low > 1 or comparison.high < 1) and comparison.p < level
    if certain and abs(comparison.ratio - 1) > smallest:
        word: Call = "SLOWER" if comparison.ratio > 1 else "FASTER"
        return replace(comparison, call=word, detail=f"{word.capitalize()}: {span}, with p = {comparison.p:.2g}.")
    if comparison.low > 1 - smallest and comparison.high < 1 + smallest:
        return replace(
            comparison,
            call="SAME",
            detail=f"The same: {span}, and the whole interval is within {percent(smallest, 1)} of 1.",
        )
    kind: Why = "too wide"
    why = f"The interval is too wide for a difference of {percent(smallest, 1)}"
    if certain:
        kind, why = "hardly so large", f"There is a difference, but it may be below {percent(smallest, 1)}"
    elif comparison.low > 1 or comparison.high < 1:
        kind, why = "chance", f"With p = {comparison.p:.2g}, this may be chance"
    text = f"{span}. {why}{advice}."
    return replace(comparison, call="UNCLEAR", detail=f"Unclear: {text}", unclear=Unclear(kind, text))


def mark_unclear(comparison: Comparison, kind: Why, text: str) -> Comparison:
    """Returns the comparison as UNCLEAR, for a reason that its samples do not show."""
    return replace(comparison, call="UNCLEAR", detail=text, unclear=Unclear(kind, text))


def _advise(a: Launches, b: Launches) -> str:
    return ". More launches of each would make the interval narrower" if min(len(a), len(b)) < 10 else ""


def _compare_by_student_t(a: Side, b: Side, difference: float, confidence: float) -> tuple[float, float]:
    """Returns half of the interval and p of the difference of the medians of `b` and `a` (logarithms of seconds)."""
    from steelyard.statistics.samples.distribution_functions import stdtr, stdtrit

    errors = np.concatenate((a.errors, b.errors))
    variance, freedom = moderate_variance((a.medians, b.medians), LONE_SPREAD, float(np.mean(errors**2)))
    factors = [median_error(launches) ** 2 / launches for launches in (len(a.medians), len(b.medians))]
    error = math.sqrt(variance * sum(factors))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return half, p


def _rank_test(a: Side, b: Side) -> float:
    """Returns p of the Mann-Whitney test of the medians of the launches, or of thinned samples if launches are few."""
    row_a, row_b = a.medians, b.medians
    if min(len(row_a), len(row_b)) < MANY_LAUNCHES:
        row_a, row_b = (np.concatenate(list(map(thinned_row, side.logs, side.effective))) for side in (a, b))
    if np.ptp(np.concatenate((row_a, row_b))) == 0:
        return 1.0  # all equal: there are no ranks to test
    return mann_whitney(row_a, row_b)
