"""The table of a benchmark as data: a row for each case, the parameters that vary, the value, its interval, its energy."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from steelyard.model import Benchmark, Evaluation, Level, Metric, Result
from steelyard.model import roles as roles_
from steelyard.model.scope import words
from steelyard.show.report import compared_figures, values
from steelyard.show.report.benchmark_table import LIMIT, CaseTable, Row, shortened
from steelyard.show.report.compared_figures import Axis
from steelyard.show.report.lines import cut
from steelyard.show.report.row_ranks import ranks
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.results.energy_metrics import ENERGY, FLOPS, MODELLED, POWER
from steelyard.statistics.validity.trust import worst

MOST_BENCHMARKS = 12  # of a run whose screen has tables: a group has no more
KEPT_ROWS = 16  # of a table on the screen
WIDEST_FIGURE = 44  # columns, on the screen
ENERGIES = {POWER.name: "power", ENERGY.name: "energy", FLOPS.name: "flop/J"}


def tables(evaluation: Evaluation) -> tuple[CaseTable, ...]:
    """Returns the tables for the screen of a run of few benchmarks, those with a main figure first; () for other runs."""
    names = dict.fromkeys(r.benchmark for r in evaluation.results if r.benchmark in evaluation.benchmarks)
    if len(names) > MOST_BENCHMARKS:
        return ()
    axis = compared_figures.axis(evaluation)
    made = []
    for name in sorted(names, key=lambda name: (_order(evaluation.benchmarks[name]), name)):
        benchmark = evaluation.benchmarks[name]
        results = sorted(values.of_benchmark(evaluation, name), key=lambda r: r.kernel)
        if by_metric := _list_by_metric(evaluation, benchmark, results):
            made.append(by_metric)
            continue
        for metric, members in values.groups(benchmark, tuple(results)):
            table = (axis and _pair_columns(evaluation, benchmark, members, metric, axis)) or of_results(
                evaluation, benchmark, members, metric, ranks(benchmark, members)
            )
            if table.total > 1:  # one row says no more than a main figure
                made.append(shortened(table, KEPT_ROWS))
    return tuple(made)


def _order(benchmark: Benchmark) -> float:
    """Returns the place of its first main figure among those of all benchmarks."""
    return min((role.order for role in benchmark.roles if isinstance(role, roles_.Headline)), default=inf)


def of_results(
    evaluation: Evaluation,
    benchmark: Benchmark,
    results: Sequence[Result],
    metric: Metric | None,
    ranked: Sequence[int] = (),
) -> CaseTable:
    """Returns the table of these results of a benchmark with that main metric."""
    shown = [values.shown(r, metric.name) if metric else None for r in results]
    limited = any(s is not None and s.share is not None for s in shown)
    energies = [name for name in ENERGIES if any(name in r.metrics for r in results)]
    headings = [metric.title if metric else "value", values.range_heading(shown), *([LIMIT] if limited else [])]
    headings += [ENERGIES[name] for name in energies]
    rows = []
    for place, (result, text) in enumerate(zip(results, shown, strict=True)):
        cells = [text.value, text.range] if text else ["", ""]
        cells += [values.percent(text.share) if text else ""] if limited else []
        cells += [_quantity(result, name) for name in energies]
        rows.append(_row(result, cells, values.level(result), ranked[place] if ranked else place))
    return CaseTable(
        benchmark=benchmark.name,
        title=benchmark.title,
        headings=tuple(headings),
        rows=tuple(rows),
        limited=limited,
        marked=False,
        scope=energy_scope(results, modelled=any(MODELLED in m.title for m in benchmark.metrics)),
        total=len(results),
    )


def energy_scope(results: Iterable[Result], modelled: bool) -> str:
    """Returns the parts of the machine whose power the energies contain, in words; "" without energies."""
    scopes = dict.fromkeys(words(r.metrics[POWER.name].scope) for r in results if POWER.name in r.metrics)
    return " or ".join(scopes) + (MODELLED if scopes and modelled else "")


def _list_by_metric(evaluation: Evaluation, benchmark: Benchmark, results: Sequence[Result]) -> CaseTable | None:
    """Returns a row for each metric of each case of a foreign program; None for others, and if the rows are too many."""
    foreign = any(source.foreign for source in benchmark.sources)
    pairs = [(m, r) for m in benchmark.metrics for r in results if m.name in r.metrics]
    if not foreign or not len(results) < len(pairs) <= KEPT_ROWS:
        return None
    rows = [
        replace(
            of_results(evaluation, benchmark, [result], metric).rows[0],
            parameters={"figure": cut(metric.title, WIDEST_FIGURE, 1)[0], **result.parameters},
            rank=place,
        )
        for place, (metric, result) in enumerate(pairs)
    ]
    return replace(
        of_results(evaluation, benchmark, results, None),
        headings=("value", "95 % interval"),
        rows=tuple(replace(row, cells=row.cells[:2]) for row in rows),
        limited=False,
        total=len(rows),
    )


def _pair_columns(
    evaluation: Evaluation, benchmark: Benchmark, results: Sequence[Result], metric: Metric | None, axis: Axis
) -> CaseTable | None:
    """Returns the table with a column for each of two compilers or MPIs, and the ratio of their times.

    None with more of them, with energies, or if no case was measured with both.
    """
    if metric is None or len(axis.names) != 2 or any(POWER.name in r.metrics for r in results):
        return None
    first = [r for r in results if r.parameters.get(axis.parameter) == axis.names[0]]
    compared = compared_figures.compare(evaluation, [(r, metric.name) for r in first], axis)
    if not any(compared):
        return None
    ranked = ranks(benchmark, first)
    rows = [
        replace(
            _row(
                r,
                [*(signed(a.shown.value, a.shown.level) for a in both), both[1].span, both[1].called],
                worst(a.shown.level for a in both),
                rank,
            ),
            parameters={name: value for name, value in r.parameters.items() if name != axis.parameter},
        )
        for r, both, rank in zip(first, compared, ranked, strict=True)
        if both
    ]
    return CaseTable(
        benchmark=benchmark.name,
        title=benchmark.title,
        headings=(*axis.names, "time ratio", ""),
        rows=tuple(rows),
        limited=False,
        marked=True,
        scope="",
        total=len(rows),
    )


def _row(result: Result, cells: Iterable[str], level: Level, rank: int) -> Row:
    return Row(
        kernel=result.kernel,
        parameters=result.parameters,
        cells=tuple(cell or "–" for cell in cells),
        level=level,
        rank=rank,
    )


def _quantity(result: Result, name: str) -> str:
    value = result.metrics.get(name)
    return "" if value is None or values.level(result) == "INVALID" else values.quantity(value.value, value.unit)
