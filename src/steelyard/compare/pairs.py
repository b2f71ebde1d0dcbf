"""Compares two runs that were measured in turn, in pairs of launches that followed each other."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from steelyard.compare.classes import find_class
from steelyard.compare.launch_times import find_sides, pair_with_disturbed_launches
from steelyard.compare.matching import Match, match
from steelyard.compare.measuring_again import add_measurements
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.runs import Judged, RunComparison, list_disturbed, side_by_side
from steelyard.compare.wholes import Whole, by_class
from steelyard.model import Evaluation, Result, Run
from steelyard.statistics.difference.blocks import POWER
from steelyard.statistics.difference.compare import Comparison, compare_all_pairs, log_ratios
from steelyard.statistics.samples.interval import normal_quantile
from steelyard.statistics.samples.launches import CONFIDENCE

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
Compared = tuple[Match[Result], Ratios]


def are_partners(first: Run, second: Run) -> bool:
    """Returns whether the two runs were measured in turn."""
    a, b = first.in_turn, second.in_turn
    return bool(a and b and a.series == b.series and a.side != b.side)


def compare(a: Evaluation, b: Evaluation) -> RunComparison:
    """Compares run `b` with run `a`, which were measured in turn: launches of the same number followed each other.

    A case is judged by all its pairs, also the disturbed ones, since disturbances hit both runs equally often. A benchmark is
    judged by the median ratio of its cases in each round. A launch whose partner is missing does not count.
    """
    matched = match(a.results, b.results)
    pair_ratios = [_ratios(pair) for pair in matched.pairs]
    judged = _judge(pair_ratios)
    compared = [
        (pair, ratios)
        for pair, ratios, one in zip(matched.pairs, pair_ratios, judged, strict=True)
        if not isinstance(one, str) and not isinstance(ratios, str)
    ]
    rounds = {launch.number: launch.repetition for launch in a.run.plan.launches}
    groups: dict[str, list[Compared]] = {}
    for one in compared:
        groups.setdefault(one[0].a.benchmark, []).append(one)
    classes = by_class(groups, lambda one: find_class(one[0].a)) if len(groups) > 1 else {}
    of_classes = {kind: [one for members in parts.values() for one in members] for kind, parts in classes.items()}
    last = max((launch.repetition for launch in a.run.plan.launches), default=0)
    tables = (
        _wholes(of_classes, rounds, {kind: tuple(parts) for kind, parts in classes.items()}),
        _wholes(groups, rounds, {}),
    )
    of_class, of_benchmark = add_measurements(tables, a.run, b.run, last)
    runs = reduce_run(a), reduce_run(b)
    notes = a.run.in_turn.notes if a.run.in_turn else ()
    return side_by_side(a, b, runs, matched, judged, of_class, of_benchmark, (PAIRED, *notes))


def _wholes(
    groups: Mapping[str, Sequence[Compared]], rounds: Mapping[int, int], members: Mapping[str, tuple[str, ...]]
) -> tuple[Whole, ...]:
    together = compare_all_pairs(
        [_find_round_medians((ratios for _, ratios in cases), rounds) for cases in groups.values()], SMALLEST, LEVEL
    )
    return tuple(
        Whole(
            name=name, members=members.get(name, ()), cases=len(cases), ratio=c.ratio, low=c.low, high=c.high, p=c.p,
            call=c.call, smallest=_smallest(c, len(groups)), disturbed=all(list_disturbed(pair) for pair, _ in cases),
            unclear=c.unclear,
        )
        for (name, cases), c in zip(groups.items(), together, strict=True)
    )  # fmt: skip


def _smallest(c: Comparison, count: int) -> float:
    """Returns the relative difference that is found with probability `POWER`, if the pairs scatter as they did."""
    from steelyard.statistics.samples.distribution_functions import ndtri

    error = math.log(c.high / c.low) / 2 / normal_quantile(CONFIDENCE)
    power = float(ndtri(POWER)) * error
    return math.expm1(power + max(math.log1p(SMALLEST), float(ndtri(1 - LEVEL / 2 / count)) * error))


def _ratios(pair: Match[Result]) -> Ratios | str:
    sides = find_sides(pair_with_disturbed_launches(pair))
    if isinstance(sides, str):
        return sides
    a, b = sides
    numbers = sorted(set(a) & set(b))
    if len(numbers) < FEWEST_PAIRS:
        return f"Only {len(numbers)} pairs of launches were measured, but at least {FEWEST_PAIRS} are needed."
    return dict(zip(numbers, log_ratios([a[n] for n in numbers], [b[n] for n in numbers]), strict=True))


def _judge(pair_ratios: Sequence[Ratios | str]) -> list[Judged]:
    compared = iter(
        compare_all_pairs([list(r.values()) for r in pair_ratios if not isinstance(r, str)], SMALLEST, LEVEL)
    )
    return [r if isinstance(r, str) else next(compared) for r in pair_ratios]


def _find_round_medians(cases: Iterable[Ratios], rounds: Mapping[int, int]) -> list[float]:
    """Returns the median of the cases for each round, so that cases that scatter much do not hide the others."""
    ratios: dict[int, list[float]] = {}
    for case in cases:
        for number, ratio in case.items():
            ratios.setdefault(rounds[number], []).append(ratio)
    return [median(of_round) for of_round in ratios.values()]
