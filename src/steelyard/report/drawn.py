"""The figures of a benchmark as the page takes them: Plotly's JSON, and the same numbers as a table."""

import json
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.model import Axis, Benchmark, Figure, Machine, Result
from steelyard.report import figures as plots
from steelyard.report import values
from steelyard.report.axes import label, tick
from steelyard.report.names import slug

MOST_REASONS = 2  # under a figure; more would be longer than what they explain
_MARKS = {
    "lines": "a hollow mark shows",
    "bars": "a hatched bar shows",
    "heat": "a dagger (†) shows",
    "surface": "the pointer's text and the numbers below name",
}


@dataclass(frozen=True)
class Drawn:
    """A figure: `plot` is JSON that is safe inside a script element; `error` says why there is none."""

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
    error: str = ""


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


def _disturbed(results: tuple[Result, ...]) -> dict[float, str]:
    """The values of disturbed results, by which a figure's points are recognised: they are equal."""
    return {
        value.value: " ".join(values.evidence(result))
        for result in results
        if values.level(result) == "DISTURBED"
        for value in result.metrics.values()
    }


def _drawn(anchor: str, figure: Figure, disturbed: dict[float, str], left_out: int) -> Drawn:
    plot = plots.plotly(figure, disturbed)
    headings, rows = _grid(figure, disturbed) if figure.z else _columns(figure, disturbed)
    notes = []
    if disturbed:
        mark = _MARKS[figure.kind]
        found = sorted({v for v in _values(figure) if v is not None and v in disturbed})
        if found:
            reasons = tuple(dict.fromkeys(disturbed[v] for v in found))
            why = " ".join(reasons) if len(reasons) <= MOST_REASONS else "The table of results tells why."
            notes.append(f"DISTURBED: {mark} a value that was disturbed while it was measured. {why}")
        else:
            notes.append("Some results of this benchmark are DISTURBED: see the table.")
    if left_out:
        notes.append(f"INVALID results are not drawn: {left_out} of this benchmark. See the table.")
    return Drawn(
        anchor,
        figure.title,
        figure.caption,
        embedded(plot),
        plot["layout"]["height"],
        plot["wide"],
        plot.get("webgl", False),
        headings,
        rows,
        tuple(notes),
    )


def embedded(plot: object) -> Markup:
    """JSON inside a script element: no '<' can end it, whatever a record holds."""
    text = json.dumps(plot, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _values(figure: Figure) -> list[float | None]:
    return [v for line in figure.z for v in line] + [y for series in figure.series for y in series.y]


def _value(value: float | None, axis: Axis, disturbed: dict[float, str]) -> str:
    text = label(value, axis)
    return f"{text} DISTURBED" if value is not None and value in disturbed else text


def _grid(figure: Figure, disturbed: dict[float, str]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
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


def _columns(
    figure: Figure, disturbed: dict[float, str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
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
    return Drawn(slug(anchor), title, "", Markup("null"), 0, False, False, (), (), (), reason)
