"""Compares two runs: the conditions that differ, and the figures that really differ."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median
from typing import Literal

import numpy as np

from steelyard.compare.matching import Match, Matched, match
from steelyard.compare.pace import measure_unsteadiness, weaken_call
from steelyard.compare.placement_names import name_placements
from steelyard.compare.replacement import Replacement, find_replacements
from steelyard.compare.surroundings import Difference, find_differences
from steelyard.evidence import sentence
from steelyard.model import Better, Evaluation, Level, Result, Scalar, Value
from steelyard.statistics.difference import compare as statistics
from steelyard.statistics.results.cost import launches_by_number
from steelyard.statistics.results.result import rests_on, undisturbed
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.summary import medians
from steelyard.words import plural

Call = statistics.Call | Literal["NOT COMPARABLE"]
Judged = statistics.Comparison | str  # or the reason why they cannot be compared

# For a benchmark as a whole. Two runs of one machine differ by up to 2 % from hour to hour (temperature, other guests,
# placement of pages), and the launches within one run do not show this.
SMALLEST_OF_ALL = 0.025
THINNED = 20  # samples of a case in a launch that count for the benchmark, so that all cases have the same weight
RULE_4 = (
    "A mean of ratios shows how much the cases differ on average. It does not show the time of a mix of "
    "cases: add up their times instead (T. Hoefler and R. Belli 2015, Scientific Benchmarking of Parallel "
    "Computing Systems, rule 4)."
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case in both runs. `ratio` is b's value of the metric over a's, `low` … `high` its interval.

    `time_ratio` is the ratio of the times for the same work, b / a: above 1 b is slower. `call` is b's.
    `disturbed` and `unsettled` name the runs ("a", "b") in which the case has that verdict. An unsettled case is judged like
    any other, since its interval and its call include the scatter of its samples and launches. `parameters` are the same in
    both; `differing` holds (name, in a, in b) of those that differ. Unknown values are None.
    """

    benchmark: str
    kernel: str
    parameters: Mapping[str, Scalar]
    differing: tuple[tuple[str, Scalar | None, Scalar | None], ...]
    metric: str
    a: Value | None
    b: Value | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    time_ratio: float | None = None
    p: float | None = None
    call: Call = "NOT COMPARABLE"
    detail: str = ""
    disturbed: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()
    unclear: statistics.Unclear | None = None  # why the call is UNCLEAR


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A benchmark over all its comparable cases. `mean` is the geometric mean of the ratios of times, b / a.

    `ratio`, `low`, `high` and `call` come from all samples together, each relative to its case. For runs that were measured
    in turn, they come from the median case of each round.
    """

    benchmark: str
    cases: int
    mean: float
    ratio: float
    low: float
    high: float
    p: float
    call: Call
    disturbed: bool


@dataclass(frozen=True)
class Lone:
    """A case that only one of the runs has."""

    benchmark: str
    kernel: str
    parameters: Mapping[str, Scalar]


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """The comparison of b with a. `counts` are notes about the rows, and follow all other `notes`."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    rows: tuple[Row, ...]
    wholes: tuple[Whole, ...]
    only_a: tuple[Lone, ...]
    only_b: tuple[Lone, ...]
    notes: tuple[str, ...]
    replacements: tuple[Replacement, ...] = ()
    counts: tuple[str, ...] = ()


def compare(a: Evaluation, b: Evaluation) -> RunComparison:
    """Compares run `b` with run `a`: their conditions, then every case that both have.

    A case that is INVALID in one run is not compared. The calls are corrected for their number (Holm).
    """
    matched = match(name_placements(a), name_placements(b))
    same_machine = not any(d.group in ("machine", "setting") for d in find_differences(a.run, b.run))
    unsteadiness = measure_unsteadiness((*a.results, *b.results)) if same_machine else None
    judged = _judge(matched.pairs, unsteadiness)
    return side_by_side(a, b, matched, judged, _wholes(matched.pairs, judged, unsteadiness))


def side_by_side(
    a: Evaluation,
    b: Evaluation,
    matched: Matched,
    judged: Sequence[Judged],
    wholes: Sequence[Whole],
    notes: Sequence[str] = (),
) -> RunComparison:
    """Returns the comparison from the judgements of all pairs and benchmarks, with the conditions and notes of both runs."""
    rows = tuple(_row(a, pair, judgement) for pair, judgement in zip(matched.pairs, judged, strict=True))
    return RunComparison(
        a=a.run.id, b=b.run.id, differences=tuple(find_differences(a.run, b.run)), rows=rows, wholes=tuple(wholes),
        only_a=tuple(map(_lone, matched.only_a)), only_b=tuple(map(_lone, matched.only_b)),
        notes=(*notes, *_notes(a, b, rows)), replacements=find_replacements(a, b), counts=tuple(_counts(rows)),
    )  # fmt: skip


def list_slower(comparison: RunComparison) -> list[str]:
    """Returns the undisturbed cases and benchmarks in which b is certainly slower."""
    rows = [f"{r.benchmark} {r.kernel}" for r in comparison.rows if r.call == "SLOWER" and not r.disturbed]
    return rows + [w.benchmark for w in comparison.wholes if w.call == "SLOWER" and not w.disturbed]


# --------------------------------------------------------------------------- judging

Launches = Mapping[int, Array]
FEWEST_LAUNCHES = 3  # per run, for the call of a single case; a benchmark has the launches of all its cases


def _judge(pairs: Sequence[Match], unsteadiness: float | None) -> list[Judged]:
    """`unsteadiness` None: the machines differ, and their pace is part of it."""
    sides = [find_sides(pair) for pair in pairs]
    comparable = [s for s in sides if not isinstance(s, str)]
    comparisons = iter(statistics.compare_all([(list(a.values()), list(b.values())) for a, b in comparable]))
    judged = [s if isinstance(s, str) else _with_enough_launches(next(comparisons), *s) for s in sides]
    if unsteadiness is None:
        return judged
    return [
        j if isinstance(j, str) else weaken_call(j, (p.a,), (p.b,), unsteadiness)
        for p, j in zip(pairs, judged, strict=True)
    ]


def _with_enough_launches(comparison: statistics.Comparison, a: Launches, b: Launches) -> statistics.Comparison:
    """Makes a call UNCLEAR if there are too few launches: consecutive launches often get the same pages and differ too little."""
    fewest = min(len(a), len(b))
    if comparison.call not in ("FASTER", "SLOWER") or fewest >= FEWEST_LAUNCHES:
        return comparison
    few = f"{plural(fewest, 'launch')} per run cannot show how much launches differ. Use --preset standard (five launches)."
    return statistics.mark_unclear(comparison, "few launches", few)


def find_sides(pair: Match) -> tuple[Launches, Launches] | str:
    """Returns the launches of both, in seconds for the same work, or a sentence that says why they cannot be compared."""
    for result, run in ((pair.a, "first"), (pair.b, "second")):
        if result.verdict.level == "INVALID":
            why = "".join(map(sentence, result.verdict.evidence[:1])) or "no reason is recorded"
            return f"The case is INVALID in the {run} run: {why}"
    a, b = launches_by_number(pair.a), launches_by_number(pair.b)
    if not (a and b):  # a kernel that counts no work compares by its seconds if both did the same
        if pair.differing_size:
            return "The sizes differ, and the kernel does not count its work."
        a, b = _seconds(pair.a), _seconds(pair.b)
    if not (a and b):
        return f"The case has no samples in the {'second' if a else 'first'} run."
    return a, b


def _seconds(result: Result) -> Mapping[int, Array]:
    timed = (r for r in rests_on(result) if r.samples and all(0 < s < math.inf for s in r.samples))
    return {r.launch: np.array(undisturbed(r)) for r in timed}


def _wholes(pairs: Sequence[Match], judged: Sequence[Judged], unsteadiness: float | None) -> list[Whole]:
    comparable = [(p, j) for p, j in zip(pairs, judged, strict=True) if not isinstance(j, str)]
    groups = []
    for name in dict.fromkeys(p.a.benchmark for p, _ in comparable):
        members = [(p, j) for p, j in comparable if p.a.benchmark == name]
        # Clean cases represent the benchmark if there are any.
        clean = [(p, j) for p, j in members if not list_disturbed(p)]
        used = clean or members
        sides = [s for p, _ in used if not isinstance(s := find_sides(p), str)]
        groups.append((name, [p for p, _ in used], [j.ratio for _, j in used], _together(sides), not clean))
    compared = statistics.compare_all([together for _, _, _, together, _ in groups], SMALLEST_OF_ALL)
    if unsteadiness is not None:
        compared = [
            weaken_call(c, [p.a for p in f[1]], [p.b for p in f[1]], unsteadiness)
            for f, c in zip(groups, compared, strict=True)
        ]
    return [
        whole(name, ratios, c, disturbed) for (name, _, ratios, _, disturbed), c in zip(groups, compared, strict=True)
    ]


def whole(name: str, ratios: Sequence[float], found: statistics.Comparison, disturbed: bool) -> Whole:
    """A benchmark whose cases have these ratios of times, and that was compared as a whole."""
    return Whole(
        benchmark=name, cases=len(ratios), mean=geometric_mean(ratios), ratio=found.ratio, low=found.low, high=found.high,
        p=found.p, call=found.call, disturbed=disturbed,
    )  # fmt: skip


def _together(sides: Sequence[tuple[Launches, Launches]]) -> tuple[list[list[float]], list[list[float]]]:
    """Returns all cases of a launch in one row, with each sample relative to the mean of its case in both runs."""
    rows: tuple[dict[int, list[float]], dict[int, list[float]]] = ({}, {})
    for pair in sides:
        middles = [median(medians(list(side.values())).tolist()) for side in pair]
        middle = geometric_mean(middles)
        for into, side in zip(rows, pair, strict=True):
            for launch, samples in side.items():
                step = max(1, len(samples) // THINNED)
                into.setdefault(launch, []).extend((samples[::step][:THINNED] / middle).tolist())
    return list(rows[0].values()), list(rows[1].values())


def _row(a: Evaluation, pair: Match, judged: Judged) -> Row:
    name = _metric(a, pair)
    value_a, value_b = pair.a.metrics.get(name), pair.b.metrics.get(name)
    row = Row(
        parameters={k: v for k, v in pair.a.parameters.items() if pair.b.parameters.get(k) == v},
        benchmark=pair.a.benchmark, kernel=pair.a.kernel, differing=pair.differing, metric=name,
        a=value_a, b=value_b, disturbed=list_disturbed(pair), unsettled=_in(pair, "UNSETTLED"),
    )  # fmt: skip
    if isinstance(judged, str):
        return replace(row, detail=judged)
    better: Better = value_a.better if value_a else "lower"
    span = (judged.ratio, judged.low, judged.high)
    ratio, low, high = (1 / span[0], 1 / span[2], 1 / span[1]) if better == "higher" else span  # of rates, or of times
    detail = judged.detail
    if row.disturbed:
        runs = " and ".join({"a": "the first", "b": "the second"}[run] for run in row.disturbed)
        detail += f" It was disturbed in {runs} run, so the disturbance may cause the difference."
    called = replace(row, call=judged.call, detail=detail, unclear=judged.unclear)
    return replace(called, ratio=ratio, low=low, high=high, time_ratio=judged.ratio, p=judged.p)


def _metric(a: Evaluation, pair: Match) -> str:
    """Returns the first metric that the benchmark declares and both results have, or "time"."""
    benchmark = a.benchmarks.get(pair.a.benchmark)
    declared = [m.name for m in benchmark.metrics if m.better != "none"] if benchmark else []
    names = [n for n in (*declared, *pair.a.metrics) if n in pair.a.metrics and n in pair.b.metrics]
    return names[0] if names else "time"


def list_disturbed(pair: Match) -> tuple[str, ...]:
    """Returns the runs ("a", "b") in which the case was disturbed."""
    return _in(pair, "DISTURBED")


def _in(pair: Match, level: Level) -> tuple[str, ...]:
    return tuple(run for run, r in (("a", pair.a), ("b", pair.b)) if r.verdict.level == level)


def _lone(result: Result) -> Lone:
    return Lone(result.benchmark, result.kernel, dict(result.parameters))


def _notes(a: Evaluation, b: Evaluation, rows: Sequence[Row]) -> list[str]:
    notes = [f"The run {e.run.id} is not finished, so some cases are missing." for e in (a, b) if not e.run.finished]
    if not rows:
        notes.append("The runs have no case in common. Compare runs of the same benchmarks and parameters.")
    factors = {name for row in rows for name, _, _ in row.differing}
    if factors:
        notes.append(f"Cases are matched although these parameters differ: {', '.join(sorted(factors))}.")
    return notes


def _counts(rows: Sequence[Row]) -> Iterator[str]:
    disturbed = sum(1 for row in rows if row.disturbed)
    if disturbed:
        yield f"{disturbed} of {len(rows)} cases were disturbed in one run or both, and are marked."
    unsettled = sum(1 for row in rows if row.unsettled)
    if unsettled:
        yield f"Marked as UNSETTLED in one run or both: {unsettled} of {len(rows)} cases."
    if rows:
        yield RULE_4
