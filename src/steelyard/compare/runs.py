"""Compares two runs: the conditions that differ, and the figures that really differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.compare import ENDED_EARLY
from steelyard.compare.case_calls import (
    FEW,
    OTHER_PACE,
    TOO_WIDE,
    UNSTEADY_PACE,
    WHY,
    CaseCalls,
    judge_cases,
)
from steelyard.compare.cause import Cause, find_cause_of_runs
from steelyard.compare.compared_sides import MachineFigure, list_slower_machines
from steelyard.compare.equal_time import EqualTime, replace_nodes
from steelyard.compare.launch_table import make_table, pair_tables
from steelyard.compare.launch_times import find_sides
from steelyard.compare.machine_figures import NO_CALLS, compare_machines
from steelyard.compare.matching import Match, Matched, is_same_by_default, match
from steelyard.compare.measuring_again import add_measurements
from steelyard.compare.pace import REMEDY, find_other_pace, state_pace
from steelyard.compare.placement_names import name_placements
from steelyard.compare.reduced_run import reduce_result, reduce_run
from steelyard.compare.run_names import name_run, tell_apart
from steelyard.compare.side import Side, SideCase, SideRun
from steelyard.compare.side_view import Common, SideView
from steelyard.compare.surroundings import Difference, find_differences
from steelyard.compare.wholes import HARDLY_MORE, Whole, estimate_wholes, judge_wholes, state_smallest
from steelyard.model import Better, Evaluation, Level, Result, Scalar, Value, scalars
from steelyard.statistics.difference import compare as statistics
from steelyard.statistics.difference.blocks import CALLS
from steelyard.statistics.results import applications

Call = scalars.Call | Literal["NOT COMPARABLE"]
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
    """The comparison of b with a. `counts` are notes about the rows, and follow all other `notes`.

    `machines` compares two machines that differ, each at its best use.
    """

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
    machines: tuple[MachineFigure, ...] = ()


def compare(a: Evaluation, b: Evaluation) -> RunComparison:
    """Compares run `b` with run `a`: their conditions, then every case that both have.

    A case that is INVALID in one run is not compared. The calls are those of any number of sides (see `sides.compare_sides`).
    """
    matched = match(name_placements(a), name_placements(b))
    same_machine = not any(d.group in ("machine", "setting") for d in find_differences(a.run, b.run))
    sound = [pair for pair in matched.pairs if "INVALID" not in (pair.a.verdict.level, pair.b.verdict.level)]
    runs = reduce_run(a), reduce_run(b)
    of_a, of_b = _view(runs[0], [pair.a for pair in sound]), _view(runs[1], [pair.b for pair in sound])
    other_sizes = {i for i, pair in enumerate(sound) if pair.differing_size}
    pairs = pair_tables(of_a.table, of_b.table, [(i, i) for i in range(len(sound))], other_sizes)
    other_pace = find_other_pace(of_a.readings, of_b.readings) if same_machine else None
    wholes = estimate_wholes(of_a.table, of_b.table, pairs, same_machine, other_pace is not None)
    tables = judge_wholes(wholes)
    calls = judge_cases(of_a, of_b, Common(pairs, {}, (), ()), same_machine, tables[1])
    called = {id(sound[place]): one for place, one in zip(pairs.a.tolist(), _state_calls(calls), strict=True)}
    judged = [called.get(id(pair)) or _state_reason(pair) for pair in matched.pairs]
    classes, benchmarks = add_measurements(tables, a.run, b.run)
    notes = (other_pace.note,) if other_pace else ()
    return side_by_side(a, b, runs, matched, judged, classes, benchmarks, notes, {"b": calls})


def _view(run: SideRun, results: Sequence[Result]) -> SideView:
    """Returns the run as a side with these results only."""
    cases = tuple(map(reduce_result, results))
    table = make_table(cases)
    side = Side(name=run.run, kind="run", runs=(replace(run, cases=cases),))
    return SideView(side, [table.keys], table, [(0, i) for i in range(len(cases))])


def side_by_side(
    a: Evaluation,
    b: Evaluation,
    runs: Sequence[SideRun],
    matched: Matched[Result],
    judged: Sequence[Judged],
    classes: Sequence[Whole],
    wholes: Sequence[Whole],
    notes: Sequence[str] = (),
    calls: Mapping[str, CaseCalls] = NO_CALLS,
) -> RunComparison:
    """Returns the comparison from the judgements of all pairs and benchmarks, with the conditions and notes of both runs.

    `runs` are both evaluations as sides. `calls`: those of the cases, for whole machines that measured the same ones.
    """
    rows = tuple(_row(a, pair, judgement) for pair, judgement in zip(matched.pairs, judged, strict=True))
    name_a, name_b = tell_apart([name_run(e.run.id, e.run.machine.host, e.run.path) for e in (a, b)])
    return RunComparison(
        a=name_a, b=name_b, differences=tuple(find_differences(a.run, b.run)),
        cause=find_cause_of_runs(a, b), rows=rows,
        classes=tuple(classes), wholes=tuple(wholes),
        only_a=tuple(map(_make_lone, matched.only_a)), only_b=tuple(map(_make_lone, matched.only_b)),
        notes=(*notes, *_notes(a, b, rows)), counts=tuple(_counts(rows)),
        replacements=replace_nodes(_programs(a), _programs(b)),
        machines=compare_machines([Side(name=run.run, kind="run", runs=(run,)) for run in runs], "ab", calls),
    )  # fmt: skip


def _programs(evaluation: Evaluation) -> list[SideCase]:
    return [reduce_result(result) for result in applications.select_programs(evaluation.results)]


def list_slower(comparison: RunComparison) -> list[str]:
    """Returns the undisturbed machines, cases, classes and benchmarks in which b is certainly slower."""
    rows = [name for _, name in list_slower_machines(comparison.machines)]
    rows += [f"{r.benchmark} {r.kernel}" for r in comparison.rows if r.call == "SLOWER" and not r.disturbed]
    return rows + [w.name for w in (*comparison.classes, *comparison.wholes) if w.call == "SLOWER" and not w.disturbed]


# --------------------------------------------------------------------------- judging

_KINDS: dict[int, statistics.Why] = {
    TOO_WIDE: "too wide",
    FEW: "few launches",
    OTHER_PACE: "other pace",
    UNSTEADY_PACE: "unsteady pace",
}


def _state_calls(calls: CaseCalls) -> Iterator[statistics.Comparison]:
    """Yields the comparison of each pair, with the reason of its call in a sentence."""
    for call, why, numbers, pace in zip(calls.judged.call, calls.why, calls.numbers, calls.paces, strict=True):
        ratio, low, high, p, smallest = numbers
        word = CALLS[call]
        span = f"the ratio of the times is {ratio:.3f} (interval {low:.3f} to {high:.3f})"
        made = statistics.Comparison(ratio=ratio, low=low, high=high, p=p, call=word, detail="")
        if word == "UNCLEAR":
            reason = f"{state_pace(pace)}. {REMEDY}" if why == OTHER_PACE else WHY[why]
            ending = f" {state_smallest(smallest)}" if why == TOO_WIDE else ""
            kind = _KINDS[int(why)]
            if why == TOO_WIDE and (low > 1 or high < 1):
                kind, reason = "hardly so large", HARDLY_MORE
            yield statistics.mark_unclear(made, kind, f"{reason}{ending} {span[0].upper()}{span[1:]}.")
        else:
            yield replace(made, detail=f"{word.capitalize()}: {span}, with p = {p:.2g}.")


def _state_reason(pair: Match[Result]) -> str:
    """Returns why the launches of a pair cannot be compared."""
    sides = find_sides(pair)
    return sides if isinstance(sides, str) else "The kernel counts another work in each run."


def _row(a: Evaluation, pair: Match[Result], judged: Judged) -> Row:
    name = _metric(a, pair)
    value_a, value_b = pair.a.metrics.get(name), pair.b.metrics.get(name)
    row = Row(
        parameters={k: v for k, v in pair.a.parameters.items() if pair.b.parameters.get(k) == v},
        benchmark=pair.a.benchmark, kernel=pair.a.kernel, differing=pair.differing, metric=name,
        a=value_a, b=value_b, disturbed=list_disturbed(pair), unsettled=_list_runs_at(pair, "UNSETTLED"),
    )  # fmt: skip
    if isinstance(judged, str):
        return replace(row, detail=judged)
    better: Better = value_a.better if value_a else "lower"
    span = (judged.ratio, judged.low, judged.high)
    ratio, low, high = (
        (1 / span[0], 1 / span[2], 1 / span[1]) if better == "higher" else span
    )  # a ratio of rates is the inverse of one of times
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
    return _list_runs_at(pair, "DISTURBED")


def _list_runs_at(pair: Match[Result], level: Level) -> tuple[str, ...]:
    return tuple(run for run, r in (("a", pair.a), ("b", pair.b)) if r.verdict.level == level)


def _make_lone(result: Result) -> Lone:
    return Lone(result.benchmark, result.kernel, dict(result.parameters))


def _notes(a: Evaluation, b: Evaluation, rows: Sequence[Row]) -> list[str]:
    notes = [ENDED_EARLY.format(e.run.id) for e in (a, b) if not e.run.finished]
    if not rows:
        notes.append("The runs have no case in common. Choose runs of the same benchmarks with the same parameters.")
    factors = {d[0] for row in rows for d in row.differing if not is_same_by_default(*d)}
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
