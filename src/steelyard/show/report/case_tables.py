"""The table of a benchmark as data: a row for each case, the parameters that vary, the value, its interval, its energy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from steelyard.model import Benchmark, Count, Evaluation, Level, Metric, Parameters, Result, Scalar
from steelyard.model import roles as roles_
from steelyard.model.scope import words
from steelyard.show.report import compared_figures, values
from steelyard.show.report.compared_figures import Axis
from steelyard.show.report.lines import cut, one_line, pad, safe
from steelyard.show.report.row_ranks import ranks
from steelyard.show.report.verdict_marks import LAMPS, signed
from steelyard.statistics.results.energy_metrics import ENERGY, FLOPS, MODELLED, POWER
from steelyard.statistics.validity.trust import worst

MOST_BENCHMARKS = 12  # of a run whose screen has tables: a group has no more
KEPT_ROWS = 16  # of a table on the screen
ENERGIES = {POWER.name: "power", ENERGY.name: "energy", FLOPS.name: "flop/J"}
LIMIT = "of limit"
WIDEST_HEADING, WIDEST_FIGURE = 32, 44  # columns, on the screen
LEFT_OUT = ((), (LIMIT,), (LIMIT, "power"), (LIMIT, "power", "flop/J"))  # headings of a table that is too wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case: its cells under the headings, and its verdict. `rank`: 0 is the row that a shorter table keeps longest."""

    kernel: str
    parameters: Parameters
    cells: tuple[str, ...]
    level: Level
    rank: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """The rows of a benchmark with one main metric. `limited`: a row has a limit. `marked`: the values have the signs of their
    verdicts. `scope` says what its energies contain; "" without energies. `total`: its rows before it was shortened."""

    benchmark: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    limited: bool
    marked: bool
    scope: str
    total: Count


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
        replace(_row(r, _cells(both), worst(a.shown.level for a in both), rank), parameters=_but(r, axis))
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


def _cells(both: Sequence[compared_figures.Alternative]) -> list[str]:
    return [*(signed(a.shown.value, a.shown.level) for a in both), both[1].span, both[1].called]


def _but(result: Result, axis: Axis) -> Parameters:
    return {name: value for name, value in result.parameters.items() if name != axis.parameter}


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


# --------------------------------------------------------------------------- as text


def shortened(table: CaseTable, most: int) -> CaseTable:
    """Returns the table with at most that many rows, those of the lowest rank."""
    kept = sorted(row.rank for row in table.rows)[:most]
    return replace(table, rows=tuple(row for row in table.rows if row.rank <= kept[-1])) if kept else table


def fixed(rows: Sequence[values.HasParameters], but: Sequence[tuple[str, Scalar]] = ()) -> str:
    """Returns the parameters that all rows share, without those of `but`: "2 threads, pinned compact"."""
    return ", ".join(values.phrase(n, v) for n, v in values.constant(rows).items() if (n, v) not in but)


def drawn(table: CaseTable) -> Table:
    """Returns the table for a terminal."""
    labels, rows = _labels(table)
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for label in labels:
        grid.add_column(safe(label))
    for heading in table.headings:
        grid.add_column(safe(heading), justify="right")
    grid.add_column("verdict", no_wrap=True)
    for row, cells in zip(table.rows, rows, strict=True):
        word, colour = LAMPS[row.level]
        grid.add_row(*map(safe, (*cells, *row.cells)), Text(word, style=colour))
    return grid


def narrow(table: CaseTable, width: int) -> tuple[list[Text], bool]:
    """Returns the table as lines of at most that many columns, and whether it fits them.

    A verdict is its sign. If the table is too wide, there is less space between the columns, then there are fewer columns.
    """
    labels, rows = _labels(table)
    headings = [cut(heading.partition(" (")[0], WIDEST_HEADING, 1)[0] if heading else "" for heading in table.headings]
    columns = [[one_line(cell) for cell in column] for column in zip(*rows, strict=True)]
    sizes = [max(map(cell_len, (label, *column))) for label, column in zip(labels, columns, strict=True)]
    sizes += [max(map(cell_len, cells)) for cells in zip(headings, *(row.cells for row in table.rows), strict=True)]
    for left_out, space in product(LEFT_OUT, (2, 1)):
        kept = [i for i in range(len(sizes)) if i < len(labels) or table.headings[i - len(labels)] not in left_out]
        if fits := sum(sizes[i] + space for i in kept) + (-space if table.marked else 1) <= width:
            break

    def line(cells: Sequence[str], style: str = "") -> Text:
        padded = [pad(one_line(cells[i]), sizes[i], right=i >= len(labels)) for i in kept]
        return Text((" " * space).join(padded), style=style)

    texts = [line([*labels, *headings], "dim")]
    for row, cells in zip(table.rows, rows, strict=True):
        sign, colour = LAMPS[row.level][0][0], LAMPS[row.level][1]
        texts.append(line([*cells, *row.cells]))
        if not table.marked:
            texts[-1].append(" " * space).append(sign, colour)
    for text in texts:
        text.rstrip()
        text.truncate(width, overflow="ellipsis")
    return texts, fits


def _labels(table: CaseTable) -> tuple[list[str], list[list[str]]]:
    """Returns the headings and the cells of the columns in which the rows differ."""
    varying = [name for name in values.varying(table.rows) if name != "kernel"]
    kernel = len({row.kernel for row in table.rows}) > 1
    headings = [*(["kernel"] if kernel else []), *map(values.words, varying)]
    cells = [
        [*([row.kernel] if kernel else []), *(values.parameter(n, row.parameters.get(n)) for n in varying)]
        for row in table.rows
    ]
    return headings, cells
