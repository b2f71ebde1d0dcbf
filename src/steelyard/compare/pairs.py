"""Compares two runs that were measured in turn, in pairs of launches that followed each other."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from steelyard.compare.matching import Match, match
from steelyard.compare.runs import Judged, RunComparison, find_sides, list_disturbed, side_by_side, whole
from steelyard.model import Evaluation, Result, Verdict
from steelyard.statistics.difference.compare import compare_all_pairs, log_ratios

# For all cases together and for all benchmarks together: of 20 pairs of equal runs, two are hardly ever called different.
LEVEL = 0.005
SMALLEST = 0.015  # relative; the same for cases and benchmarks, since slow changes of the machine cancel in pairs
FEWEST_PAIRS = 6  # with fewer, even pairs that all agree give no 95 % interval

PAIRED = (
    "The runs were measured in turn. The ratio of a case comes from pairs of launches that directly follow each other, the "
    "ratio of a benchmark from the median case of each round. The ratios are more reliable than the values beside them, which "
    "include all changes of the machine."
)

Ratios = Mapping[int, float]  # number of a launch → logarithm of the ratio of the times, b / a


def compare(a: Evaluation, b: Evaluation, notes: Sequence[str] = ()) -> RunComparison:
    """Compares run `b` with run `a`, which were measured in turn: launches of the same number followed each other.

    A case is judged by all its pairs, also the disturbed ones, since disturbances hit both runs equally often. A benchmark is
    judged by the median ratio of its cases in each round. A launch whose partner is missing does not count.
    """
    matched = match(a.results, b.results)
    pair_ratios = [_ratios(pair) for pair in matched.pairs]
    judged = _judge(pair_ratios)
    compared = [
        (pair, ratios, one)
        for pair, ratios, one in zip(matched.pairs, pair_ratios, judged, strict=True)
        if not isinstance(one, str) and not isinstance(ratios, str)
    ]
    rounds = {launch.number: launch.repetition for launch in a.run.plan.launches}
    by_benchmark = {name: [k for k in compared if k[0].a.benchmark == name] for name in _names(compared)}
    together = compare_all_pairs(
        [_by_round((ratios for _, ratios, _ in members), rounds) for members in by_benchmark.values()], SMALLEST, LEVEL
    )
    wholes = [
        whole(name, [one.ratio for _, _, one in members], c, all(list_disturbed(pair) for pair, _, _ in members))
        for (name, members), c in zip(by_benchmark.items(), together, strict=True)
        if math.isfinite(c.high)
    ]
    return side_by_side(a, b, matched, judged, wholes, (PAIRED, *notes))


def _names(compared: Iterable[tuple[Match, object, object]]) -> list[str]:
    return list(dict.fromkeys(pair.a.benchmark for pair, _, _ in compared))


def _ratios(pair: Match) -> Ratios | str:
    sides = find_sides(replace(pair, a=_with_disturbed(pair.a), b=_with_disturbed(pair.b)))
    if isinstance(sides, str):
        return sides
    a, b = sides
    numbers = sorted(set(a) & set(b))
    if len(numbers) < FEWEST_PAIRS:
        return f"Only {len(numbers)} pairs of launches were measured, but at least {FEWEST_PAIRS} are needed."
    return dict(zip(numbers, log_ratios([a[n] for n in numbers], [b[n] for n in numbers]), strict=True))


def _with_disturbed(result: Result) -> Result:
    """Returns the result with its disturbed launches as CLEAN, since a choice of launches would break the pairs."""
    clean = Verdict("CLEAN")
    records = (replace(r, verdict=clean) if r.verdict.level == "DISTURBED" else r for r in result.records)
    return replace(result, records=tuple(records))


def _judge(pair_ratios: Sequence[Ratios | str]) -> list[Judged]:
    compared = iter(
        compare_all_pairs([list(r.values()) for r in pair_ratios if not isinstance(r, str)], SMALLEST, LEVEL)
    )
    judged: list[Judged] = [r if isinstance(r, str) else next(compared) for r in pair_ratios]
    apart = "The pairs of launches differ too much for an interval. Measure more rounds."
    return [j if isinstance(j, str) or (j.low > 0 and math.isfinite(j.high)) else apart for j in judged]


def _by_round(cases: Iterable[Ratios], rounds: Mapping[int, int]) -> list[float]:
    """Returns the median of the cases for each round, so that cases that scatter much do not hide the others."""
    ratios: dict[int, list[float]] = {}
    for case in cases:
        for number, ratio in case.items():
            ratios.setdefault(rounds[number], []).append(ratio)
    return [median(of_round) for of_round in ratios.values()]
