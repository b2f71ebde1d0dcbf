"""The figures of a benchmark as the page takes them: Plotly's JSON, and the same numbers as a table."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.figure import Axis, Figure
from steelyard.model import Benchmark, Machine, Result
from steelyard.report import figures as plots
from steelyard.report import values
from steelyard.report.axes import Json, capital, label, tick
from steelyard.report.compared import System, systems
from steelyard.report.names import slug
from steelyard.report.reasons import frequent

MARK = "▲"  # before a disturbed value, wherever its verdict's word does not stand beside it
_MARKS = {
    "lines": "shown by hollow marks",
    "bars": "shown by hatched bars",
    "heat": "shown by a dagger (†)",
    "surface": "named in the pointer's text and in the numbers below",
}


@dataclass(frozen=True)
class Drawn:
    """A figure: `plot` is JSON that is safe inside a script element; `error` says why there is none.

    `single` is the sentence that stands for a figure which would be one number.
    """

    anchor: str
    title: str
    caption: str
    plot: Markup
    height: int
    wide: bool
    webgl: bool
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    published: tuple[System, ...] = ()
    single: str = ""
    error: str = ""
    table: bool = False  # nothing is drawn: the numbers are the figure


def figures(benchmark: Benchmark, results: tuple[Result, ...], machine: Machine) -> tuple[Drawn, ...]:
    """All the figures of a benchmark. INVALID results are not drawn; disturbed ones are marked."""
    usable = tuple(r for r in results if values.level(r) != "INVALID")
    if not usable:
        return ()
    # A benchmark may come from anyone: what its own code gets wrong must not take the whole report with it.
    try:
        made = benchmark.figures(usable, machine)
    except Exception as error:
        return (_failed(benchmark.name, "Figures", error),)
    disturbed = _disturbed(usable)
    left_out = len(results) - len(usable)
    shown = []
    for number, figure in enumerate(made):
        anchor = f"{slug(benchmark.name)}-figure-{number + 1}-{slug(figure.name)}"
        try:
            shown.append(_drawn(anchor, figure, disturbed, left_out))
        except Exception as error:
            shown.append(_failed(anchor, figure.title, error))
    return tuple(shown)


def _disturbed(results: tuple[Result, ...]) -> dict[float, tuple[str, ...]]:
    """The values of disturbed results, by which a figure's points are recognised: they are equal."""
    return {
        value.value: values.evidence(result)
        for result in results
        if values.level(result) == "DISTURBED"
        for value in result.metrics.values()
    }


def _drawn(anchor: str, figure: Figure, disturbed: Mapping[float, tuple[str, ...]], left_out: int) -> Drawn:
    if figure.kind == "table":
        return _table(anchor, figure)
    headings, rows = _grid(figure, disturbed) if figure.z else _columns(figure, disturbed)
    single = _single(figure, disturbed)
    plot: Json = {"layout": {"height": 0}} if single else plots.plotly(figure, disturbed)
    notes = [_note(figure, disturbed)] if disturbed and not single else []
    if left_out:
        notes.append(f"INVALID results are not drawn: {left_out} of this benchmark. See the table.")
    return Drawn(
        anchor,
        figure.title,
        figure.caption,
        embedded(plot),
        plot["layout"]["height"],
        plot.get("wide", False),
        plot.get("webgl", False),
        headings,
        rows,
        tuple(notes),
        systems(figure.series),
        single,
    )


def _table(anchor: str, figure: Figure) -> Drawn:
    parts = (anchor, figure.title, figure.caption, Markup("null"), 0, False, False, figure.headings, figure.cells, ())
    return Drawn(*parts, single="" if figure.cells else "No value was measured for this table.", table=True)


def _note(figure: Figure, disturbed: Mapping[float, tuple[str, ...]]) -> str:
    """How many of the figure's values are disturbed, and mostly by what."""
    known = [value for value in _values(figure) if value is not None]
    found = [value for value in known if value in disturbed]
    if not found:
        return "Some results of this benchmark are DISTURBED: see the table."
    kinds = frequent(disturbed[value] for value in found)
    if len(found) == 1:
        many = "the only value" if len(known) == 1 else f"1 of {len(known)} values"
        mostly = f", by {' and '.join(name for name, _ in kinds)}" if kinds else ""
    else:
        many = f"all {len(known)} values" if len(found) == len(known) else f"{len(found)} of {len(known)} values"
        mostly = f", most often by {' and '.join(f'{name} ({n})' for name, n in kinds)}" if kinds else ""
    return f"DISTURBED: {many}{mostly}; {_MARKS[figure.kind]}. The table of results tells all the evidence."


def _single(figure: Figure, disturbed: Collection[float]) -> str:
    """A map of a single cell as a sentence: 'Bandwidth: 9.36 GB/s (memory of node 0, …)'; '' otherwise."""
    if all(value is None for value in _values(figure)) and not any(s.published for s in figure.series):
        return "No value was measured for this figure."
    if not figure.z or len(figure.rows) != 1 or len(figure.columns) != 1:
        return ""
    axis, value = figure.value or Axis("value"), figure.z[0][0]
    where = f"{figure.x.title} {tick(figure.columns[0], figure.x)}"
    where += f", {figure.y.title} {tick(figure.rows[0], figure.y)}"
    marked = f"{label(value, axis)} DISTURBED" if value in disturbed else label(value, axis)
    return f"{capital(axis.title)}: {marked} ({where})."


def embedded(plot: object) -> Markup:
    """JSON inside a script element: no '<' can end it, whatever a record holds."""
    text = json.dumps(plot, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _values(figure: Figure) -> list[float | None]:
    """What this machine gave to the figure."""
    own = (series for series in figure.series if not series.published)
    return [v for line in figure.z for v in line] + [y for series in own for y in series.y]


def _value(value: float | None, axis: Axis, disturbed: Collection[float]) -> str:
    text = label(value, axis)
    return f"{MARK} {text}" if value is not None and value in disturbed else text


def _grid(figure: Figure, disturbed: Collection[float]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    axis = figure.value or Axis("")
    headings = (
        f"{figure.y.title} ↓  {figure.x.title} →",
        *(tick(column, figure.x) for column in figure.columns),
    )
    rows = (
        (tick(row, figure.y), *(_value(value, axis, disturbed) for value in line))
        for row, line in zip(figure.rows, figure.z, strict=True)
    )
    return headings, tuple(rows)


def _columns(figure: Figure, disturbed: Collection[float]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """One row a point: series, x, y and its interval."""
    bounded = any(series.low and series.high for series in figure.series)
    rows = []
    for series in figure.series:
        name = f"{series.name} (published)" if series.published else series.name
        for index, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            low = label(series.low[index], figure.y) if series.low else "–"
            high = label(series.high[index], figure.y) if series.high else "–"
            ends = ("–" if low == high == "–" else f"{low} – {high}",) if bounded else ()
            rows.append((name, tick(x, figure.x), _value(y, figure.y, disturbed), *ends))
    headings = ("Series", figure.x.title, figure.y.title, *(("95 % interval",) if bounded else ()))
    return headings, tuple(rows)


def _failed(anchor: str, title: str, error: Exception) -> Drawn:
    reason = f"This figure could not be made: {type(error).__name__}: {error}"
    return Drawn(slug(anchor), title, "", Markup("null"), 0, False, False, (), (), (), error=reason)
