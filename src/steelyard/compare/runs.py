"""Compares two runs: the conditions that differ, and the figures that really differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.compare.cause import Cause, find_cause_of_runs
from steelyard.compare.equal_time import EqualTime, replace_nodes
from steelyard.compare.launch_table import make_table, pair_tables
from steelyard.compare.launch_times import Launches, find_sides
from steelyard.compare.matching import Match, Matched, match
from steelyard.compare.measuring_again import add_measurements
from steelyard.compare.pace import find_other_pace, measure_unsteadiness, read_pace, weaken_call
from steelyard.compare.placement_names import name_placements
from steelyard.compare.run_names import name_run, tell_apart
from steelyard.compare.side import SideCase, reduce_result
from steelyard.compare.surroundings import Difference, find_differences
from steelyard.compare.wholes import Whole, estimate_wholes, judge_wholes
from steelyard.model import Better, Evaluation, Level, Result, Scalar, Value
from steelyard.statistics.difference import compare as statistics
from steelyard.statistics.results import applications
from steelyard.words import plural

Call = statistics.Call | Literal["NOT COMPARABLE"]
Judged = statistics.Comparison | str  # or the reason why they cannot be compared

RULE_4 = (
    "A mean of ratios shows how much the cases differ on average. The column mix has the ratio of the total times of a mix in "
    "which each case takes as long as the others in the baseline (T. Hoefler and R. Belli 2015, Scientific Benchmarking of "
    "Parallel Computing Systems, rule 4)."
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
    cause: Cause
    rows: tuple[Row, ...]
    classes: tuple[Whole, ...]
    wholes: tuple[Whole, ...]
    only_a: tuple[Lone, ...]
    only_b: tuple[Lone, ...]
    notes: tuple[str, ...]
    replacements: tuple[EqualTime, ...] = ()
    counts: tuple[str, ...] = ()


def compare(a: Evaluation, b: Evaluation) -> RunComparison:
    """Compares run `b` with run `a`: their conditions, then every case that both have.

    A case that is INVALID in one run is not compared. The calls are corrected for their number (Holm).
    """
    matched = match(name_placements(a), name_placements(b))
    same_machine = not any(d.group in ("machine", "setting") for d in find_differences(a.run, b.run))
    paces = [read_pace(e.results) for e in (a, b)]
    judged = _judge(matched.pairs, measure_unsteadiness(paces) if same_machine else None)
    other_pace = find_other_pace(*paces) if same_machine else None
    of_a, of_b = (make_table([reduce_result(pair[i]) for pair in ((m.a, m.b) for m in matched.pairs)]) for i in (0, 1))
    numbered = [(i, i) for i in range(len(matched.pairs))]
    pairs = pair_tables(of_a, of_b, numbered, {i for i, m in enumerate(matched.pairs) if m.differing_size})
    (tables,) = judge_wholes([estimate_wholes(of_a, of_b, pairs, same_machine, other_pace is not None)])
    classes, wholes = (add_measurements(table, a.run, b.run) for table in tables)
    return side_by_side(a, b, matched, judged, classes, wholes, (other_pace.note,) if other_pace else ())


def side_by_side(
    a: Evaluation,
    b: Evaluation,
    matched: Matched[Result],
    judged: Sequence[Judged],
    classes: Sequence[Whole],
    wholes: Sequence[Whole],
    notes: Sequence[str] = (),
) -> RunComparison:
    """Returns the comparison from the judgements of all pairs and benchmarks, with the conditions and notes of both runs."""
    rows = tuple(_row(a, pair, judgement) for pair, judgement in zip(matched.pairs, judged, strict=True))
    name_a, name_b = tell_apart([name_run(e.run.id, e.run.machine.host, e.run.path) for e in (a, b)])
    return RunComparison(
        a=name_a, b=name_b, differences=tuple(find_differences(a.run, b.run)),
        cause=find_cause_of_runs(a, b), rows=rows,
        classes=tuple(classes), wholes=tuple(wholes),
        only_a=tuple(map(_lone, matched.only_a)), only_b=tuple(map(_lone, matched.only_b)),
        notes=(*notes, *_notes(a, b, rows)), counts=tuple(_counts(rows)),
        replacements=replace_nodes(_programs(a), _programs(b)),
    )  # fmt: skip


def _programs(evaluation: Evaluation) -> list[SideCase]:
    return [reduce_result(result) for result in applications.select_programs(evaluation.results)]


def list_slower(comparison: RunComparison) -> list[str]:
    """Returns the undisturbed cases, classes and benchmarks in which b is certainly slower."""
    rows = [f"{r.benchmark} {r.kernel}" for r in comparison.rows if r.call == "SLOWER" and not r.disturbed]
    return rows + [w.name for w in (*comparison.classes, *comparison.wholes) if w.call == "SLOWER" and not w.disturbed]


# --------------------------------------------------------------------------- judging

FEWEST_LAUNCHES = 3  # per run, for the call of a single case; a benchmark has the launches of all its cases


def _judge(pairs: Sequence[Match[Result]], unsteadiness: float | None) -> list[Judged]:
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


def _row(a: Evaluation, pair: Match[Result], judged: Judged) -> Row:
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


def _metric(a: Evaluation, pair: Match[Result]) -> str:
    """Returns the first metric that the benchmark declares and both results have, or "time"."""
    benchmark = a.benchmarks.get(pair.a.benchmark)
    declared = [m.name for m in benchmark.metrics if m.better != "none"] if benchmark else []
    names = [n for n in (*declared, *pair.a.metrics) if n in pair.a.metrics and n in pair.b.metrics]
    return names[0] if names else "time"


def list_disturbed(pair: Match[Result]) -> tuple[str, ...]:
    """Returns the runs ("a", "b") in which the case was disturbed."""
    return _in(pair, "DISTURBED")


def _in(pair: Match[Result], level: Level) -> tuple[str, ...]:
    return tuple(run for run, r in (("a", pair.a), ("b", pair.b)) if r.verdict.level == level)


def _lone(result: Result) -> Lone:
    return Lone(result.benchmark, result.kernel, dict(result.parameters))


def _notes(a: Evaluation, b: Evaluation, rows: Sequence[Row]) -> list[str]:
    notes = [f"The run {e.run.id} is not finished, so some cases are missing." for e in (a, b) if not e.run.finished]
    if not rows:
        notes.append("The runs have no case in common. Choose runs of the same benchmarks with the same parameters.")
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
