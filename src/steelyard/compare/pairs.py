"""Two runs that were measured in turn, compared in pairs: each launch with the one beside it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from steelyard.compare.matching import Match, match
from steelyard.compare.runs import Judged, RunComparison, disturbed_in, side_by_side, sides_of, whole
from steelyard.model import Evaluation, Result, Verdict
from steelyard.statistics.difference.compare import compare_all_pairs, log_ratios

# Of the cases together, and of the benchmarks together: so that of 20 pairs of equal runs hardly ever two are called different.
LEVEL = 0.005
SMALLEST = 0.015  # relative; of cases and benchmarks alike, since what changes from hour to hour falls out of the pairs
FEWEST_PAIRS = 6  # with fewer, not even pairs that all agree state a 95 % interval

PAIRED = (
    "Measured in turn: each ratio comes from pairs of launches, one right after the other, that of a benchmark as a whole "
    "from the middle case of each round. It is surer than the values beside it, which hold what the machine did meanwhile."
)

Ratios = Mapping[int, float]  # of each launch's number the logarithm of the ratio of the times, b / a


def compare(a: Evaluation, b: Evaluation, notes: Sequence[str] = ()) -> RunComparison:
    """Compare run `b` with run `a`, which were measured in turn: launches of the same number were one after the other.

    A case is judged by its pairs, disturbed or not, since a neighbour hits either side as often; a benchmark as a whole by
    the middle of its cases' ratios in each round. Where one launch of a pair is missing, the other does not count.
    """
    matched = match(a.results, b.results)
    found = [_ratios(pair) for pair in matched.pairs]
    judged = _judge(found)
    known = [
        (pair, ratios, one)
        for pair, ratios, one in zip(matched.pairs, found, judged, strict=True)
        if not isinstance(one, str) and not isinstance(ratios, str)
    ]
    rounds = {launch.number: launch.repetition for launch in a.run.plan.launches}
    by_benchmark = {name: [k for k in known if k[0].a.benchmark == name] for name in _names(known)}
    together = compare_all_pairs(
        [_by_round((ratios for _, ratios, _ in members), rounds) for members in by_benchmark.values()], SMALLEST, LEVEL
    )
    wholes = [
        whole(name, [one.ratio for _, _, one in members], c, all(disturbed_in(pair) for pair, _, _ in members))
        for (name, members), c in zip(by_benchmark.items(), together, strict=True)
        if math.isfinite(c.high)
    ]
    return side_by_side(a, b, matched, judged, wholes, (PAIRED, *notes))


def _names(known: Iterable[tuple[Match, object, object]]) -> list[str]:
    return list(dict.fromkeys(pair.a.benchmark for pair, _, _ in known))


def _ratios(pair: Match) -> Ratios | str:
    sides = sides_of(replace(pair, a=_with_disturbed(pair.a), b=_with_disturbed(pair.b)))
    if isinstance(sides, str):
        return sides
    a, b = sides
    numbers = sorted(set(a) & set(b))
    if len(numbers) < FEWEST_PAIRS:
        return f"Only {len(numbers)} pairs of launches were measured, and {FEWEST_PAIRS} are the fewest that tell anything."
    return dict(zip(numbers, log_ratios([a[n] for n in numbers], [b[n] for n in numbers]), strict=True))


def _with_disturbed(result: Result) -> Result:
    """The result, resting on its disturbed launches as well: to choose among them would break the pairs."""
    clean = Verdict("CLEAN")
    records = (replace(r, verdict=clean) if r.verdict.level == "DISTURBED" else r for r in result.records)
    return replace(result, records=tuple(records))


def _judge(found: Sequence[Ratios | str]) -> list[Judged]:
    compared = iter(compare_all_pairs([list(r.values()) for r in found if not isinstance(r, str)], SMALLEST, LEVEL))
    judged: list[Judged] = [r if isinstance(r, str) else next(compared) for r in found]
    apart = "The pairs of launches lie too far apart to state an interval; more rounds would tell."
    return [j if isinstance(j, str) or (j.low > 0 and math.isfinite(j.high)) else apart for j in judged]


def _by_round(found: Iterable[Ratios], rounds: Mapping[int, int]) -> list[float]:
    """Of each round the median over the cases: cases that scatter much do not drown those that do not."""
    ratios: dict[int, list[float]] = {}
    for case in found:
        for number, ratio in case.items():
            ratios.setdefault(rounds[number], []).append(ratio)
    return [median(of_round) for of_round in ratios.values()]
