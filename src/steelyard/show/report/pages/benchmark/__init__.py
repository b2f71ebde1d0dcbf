"""A benchmark's page: its figures, its table of results, how to read them, and how they were measured."""

from dataclasses import dataclass

from steelyard.model import Benchmark, Evaluation, Evidence, Level, Metric, Result, Scalar
from steelyard.model.evidence import sentences
from steelyard.show.report import counter_columns, drawing, values
from steelyard.show.report.joined_figures import SideFigures
from steelyard.show.report.names import slug
from steelyard.show.report.pages.benchmark import measurement
from steelyard.show.report.reasons import folded
from steelyard.statistics.validity.trust import is_marked

LONG = 22  # letters; a longer value, as a list of processors, may be broken into lines
Notes = dict[str, tuple[Evidence, ...]]  # by their text: results with the same share one
MOST_NOTES = 5  # below a table; the others are folded away, and opened by the links that lead to them


@dataclass(frozen=True)
class Note:
    """A footnote, numbered through the page: the evidence in plain sight, and what is folded away."""

    number: int
    evidence: tuple[Evidence, ...]
    more: tuple[Evidence, ...]


@dataclass(frozen=True)
class Cell:
    """A parameter's value; a long one may be broken into lines."""

    text: str
    long: bool


@dataclass(frozen=True, kw_only=True)
class Row:
    """One result: varying parameters, main metric, text of the others; `note` numbers its footnote."""

    parameters: tuple[Cell, ...]
    shown: values.Shown | None
    share: str
    others: tuple[str, ...]
    level: Level
    evidence: str
    note: int | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """The results of a benchmark. `limit` is said once where it is the same in every row.

    `several`: of some results the value at the best, the typical one and the ranges differ.
    """

    parameters: tuple[str, ...]
    metric: str
    unit_of_share: str
    others: tuple[str, ...]
    rows: tuple[Row, ...]
    constant: tuple[tuple[str, str], ...]
    limit: str
    limit_source: str
    limits_differ: bool
    several: bool
    range: str  # heading of the ranges
    notes: tuple[Note, ...]
    more: tuple[Note, ...]  # beyond MOST_NOTES


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What the columns of a table are: whether the kernel is one, the parameters that vary, the metrics."""

    kernel: bool
    varying: tuple[str, ...]
    main: Metric | None
    others: tuple[Metric, ...]
    counted: tuple[str, ...]  # titles of what hardware counters tell


@dataclass(frozen=True, kw_only=True)
class BenchmarkPage:
    """Returns the data of the page."""

    anchor: str
    name: str
    title: str
    benchmark: Benchmark
    counts: dict[Level, int]
    figures: tuple[drawing.Drawn, ...]
    tables: tuple[Table, ...]
    measured: tuple[tuple[str, str], ...]


def figures(evaluation: Evaluation, name: str, sides: SideFigures | None = None) -> tuple[drawing.Drawn, ...]:
    """Returns the figures of the benchmark of that name, with the lines of the other `sides`."""
    results = values.of_benchmark(evaluation, name)
    return drawing.figures(evaluation.benchmarks[name], results, evaluation.run.machine, sides)


def data(evaluation: Evaluation, name: str, drawn: tuple[drawing.Drawn, ...] = ()) -> BenchmarkPage:
    """Returns the page of the benchmark of that name, with its figures `drawn`."""
    benchmark = evaluation.benchmarks[name]
    results = values.of_benchmark(evaluation, name)
    return BenchmarkPage(
        anchor=slug(name),
        name=name,
        title=benchmark.title,
        benchmark=benchmark,
        counts=values.counts(results),
        figures=drawn,
        tables=_tables(benchmark, results),
        measured=measurement.how(evaluation, results),
    )


def _tables(benchmark: Benchmark, results: tuple[Result, ...]) -> tuple[Table, ...]:
    """One table a main metric; the footnotes are counted through them all."""
    notes: Notes = {}
    return tuple(_table(benchmark, main, members, notes) for main, members in values.groups(benchmark, results))


def _table(benchmark: Benchmark, main: Metric | None, results: tuple[Result, ...], notes: Notes) -> Table:
    metric_names = {name for result in results for name in result.metrics}
    others = tuple(m for m in benchmark.metrics if m.name in metric_names and m is not main)
    kernel, varying = len({r.kernel for r in results}) > 1, values.varying(results)
    if kernel and all(r.parameters.get("kernel", r.kernel) == r.kernel for r in results):
        varying = tuple(name for name in varying if name != "kernel")  # it has its column
    counted = counter_columns.columns(results)
    shape = _Shape(kernel=kernel, varying=varying, main=main, others=others, counted=counted)
    before = len(notes)
    rows = tuple(_row(result, shape, notes) for result in results)
    limits = {(row.shown.limit, row.shown.limit_source) for row in rows if row.shown and row.shown.value}
    limit, source = limits.pop() if len(limits) == 1 else ("", "")
    only: dict[str, Scalar] = {"kernel": results[0].kernel} if not kernel else {}
    fixed = only | values.constant(results) | values.find_partly_present(results)
    new = list(notes.values())[before:]
    numbered = tuple(Note(number, *folded(evidence)) for number, evidence in enumerate(new, before + 1))
    return Table(
        parameters=(("kernel",) if kernel else ()) + tuple(values.words(n) for n in varying),
        metric=main.title if main else "Value",
        unit_of_share="share of the limit" if main is None or main.better == "higher" else "limit over value",
        others=(*(m.title for m in others), *shape.counted),
        rows=rows,
        constant=tuple((values.words(n), values.parameter(n, v)) for n, v in fixed.items()),
        limit=limit,
        limit_source=source,
        limits_differ=len(limits) > 0,
        range=values.range_heading(row.shown for row in rows),
        several=any(row.shown is not None and row.shown.several for row in rows),
        notes=numbered[:MOST_NOTES],
        more=numbered[MOST_NOTES:],
    )


def _cell(text: str) -> Cell:
    return Cell(text, len(text) > LONG)


def _row(result: Result, shape: _Shape, notes: Notes) -> Row:
    level = values.level(result)
    reasons = values.evidence(result) if is_marked(level) else ()
    text = sentences(reasons)
    if reasons:
        notes.setdefault(text, reasons)
    shown = values.shown(result, shape.main.name) if shape.main else None
    cells = tuple(_cell(values.parameter(name, result.parameters.get(name))) for name in shape.varying)
    return Row(
        parameters=((_cell(result.kernel),) if shape.kernel else ()) + cells,
        shown=shown,
        share=values.percent(shown.share) if shown else "",
        others=(
            *(_write_other_level(result, metric, level) for metric in shape.others),
            *counter_columns.cells(result, shape.counted),
        ),
        level=level,
        evidence=text,
        note=list(notes).index(text) + 1 if reasons else None,
    )


def _write_other_level(result: Result, metric: Metric, level: Level) -> str:
    value = result.metrics.get(metric.name)
    if value is None or level == "INVALID":
        return ""
    return values.quantity(value.value, value.unit)
