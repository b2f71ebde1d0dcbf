"""The figures of a benchmark for its page: Plotly's JSON, and the same numbers as a table."""

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from steelyard.model import Benchmark, Level, Machine, Result
from steelyard.model.figure import Axis, Figure
from steelyard.model.words import plural
from steelyard.show.report import doubtful_values as marks
from steelyard.show.report import figures as plots
from steelyard.show.report import maps, run_figures, values
from steelyard.show.report.axes import Json, capital, label, tick
from steelyard.show.report.derived import with_signs
from steelyard.show.report.doubtful_values import Doubtful
from steelyard.show.report.figure_results import state_result
from steelyard.show.report.forms_of_figures import fitted, is_lone
from steelyard.show.report.joined_figures import Joined, SideFigures, join
from steelyard.show.report.names import slug
from steelyard.show.report.published_lines import System, systems
from steelyard.show.report.reasons import frequent
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.validity.trust import write_if_doubtful

LONG = 10_000  # letters of a figure's JSON: longer ones are stored compressed


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure: `plot` is JSON that is safe inside a script element; `error` says why there is none.

    `single` is the sentence that stands for a figure which would be one number.
    """

    anchor: str
    title: str
    caption: str
    plot: Markup
    height: int
    wide: bool = False
    webgl: bool = False
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    published: tuple[System, ...] = ()
    single: str = ""
    error: str = ""
    table: bool = False  # nothing is drawn: the numbers are the figure
    further: bool = False  # conditions are hidden until the reader asks for them
    packed: str = ""  # `plot` as base64 of gzip if several sides make it long
    maps: tuple[tuple[int, "Drawn"], ...] = ()  # the same map of each side of a report, by the number of the side


def has_plot(figure: Drawn) -> bool:
    """Returns whether the figure is drawn: it is not a table, a sentence or an error."""
    return not (figure.error or figure.single or figure.table)


def numbers_of(figure: Figure) -> tuple[tuple[str, ...], ...]:
    """Returns the values of lines over whole counts as rows: line, count, value, interval."""

    def between(low: float | None, high: float | None) -> str:
        return "–" if low is None or high is None else f"{label(low, figure.y)} – {label(high, figure.y)}"

    return tuple(
        (line.name, str(int(float(x))), label(y, figure.y), between(line.low[i], line.high[i]))
        for line in figure.series
        for i, (x, y) in enumerate(zip(line.x, line.y, strict=True))
    )


def figures(
    benchmark: Benchmark, results: tuple[Result, ...], machine: Machine, sides: SideFigures | None = None
) -> tuple[Drawn, ...]:
    """Returns all figures of a benchmark, with the lines of the other sides if there are some.

    They do not show INVALID results, and mark unreliable values.
    """
    # A benchmark may come from anyone: what its own code gets wrong must not take the whole report with it.
    try:
        made = run_figures.make(benchmark, results, machine)
    except Exception as error:
        return (_draw_failure(benchmark.name, "Figures", error),)
    usable = [r for r in results if values.level(r) != "INVALID"]
    levels = marks.among(map(values.level, usable))
    left_out = len(results) - len(usable) if usable else 0
    joined = join(benchmark.name, made, sides) if sides else tuple(map(Joined, made))
    shown = []
    for number, one in enumerate(joined):
        anchor = f"{slug(benchmark.name)}-figure-{number + 1}-{slug(one.figure.name)}"
        try:
            drawn = _draw_with_notes(anchor, with_signs(one.figure), levels, left_out, one.maps)
            result = state_result(sides.compared, benchmark, one.figure, one.drawn) if sides and sides.compared else ""
            shown.append(replace(drawn, title=f"{drawn.title}: {result}") if result else drawn)
        except Exception as error:
            shown.append(_draw_failure(anchor, one.figure.title, error))
    return tuple(shown)


def plain(figure: Figure) -> Drawn:
    """Returns a figure without marks on its values."""
    return _draw_with_notes(figure.name, figure, (), 0)


def _pack_drawn(anchor: str, figure: Figure, plot: Json) -> Drawn:
    drawn = with_plot(anchor, figure, plot, *(_grid(figure) if figure.z else _columns(figure)))
    return replace(
        drawn,
        packed=packed(drawn.plot) if figure.sides and len(drawn.plot) > LONG else "",
        wide=plot.get("wide", False),
        webgl=plot.get("webgl", False),
    )


def with_plot(
    anchor: str, figure: Figure, plot: Json, headings: tuple[str, ...], rows: Iterable[tuple[str, ...]],
    notes: Iterable[str] = (), published: tuple[System, ...] = (),
) -> Drawn:  # fmt: skip
    """Returns a figure with a plot, a table and notes that were made for it."""
    return Drawn(
        anchor=anchor, title=figure.title, caption=figure.caption, plot=embedded(plot), height=plot["layout"]["height"],
        headings=headings, rows=tuple(rows), notes=tuple(notes), published=published,
    )  # fmt: skip


def _draw_with_notes(
    anchor: str,
    figure: Figure,
    levels: Sequence[Level],
    left_out: int,
    maps_of_sides: Sequence[tuple[int, Figure]] = (),
) -> Drawn:
    if figure.kind == "table":
        return _table(anchor, figure, levels)
    figure = fitted(figure)
    further = [series.name for series in figure.series if series.further]
    if further:
        figure = replace(figure, caption=f"{figure.caption} {_describe_hidden(figure, further)}".strip())
    single = _write_single_cell(figure)
    plot: Json = {"layout": {"height": 0}} if single else plots.plotly(figure)
    notes = [] if single else _notes(figure, levels)
    if left_out:
        notes.append(f"The figure does not show the INVALID results of this benchmark ({left_out}). See the table.")
    return replace(
        _pack_drawn(anchor, figure, plot),
        notes=tuple(notes),
        published=systems(figure.series),
        single=single,
        further=bool(further),
        maps=_maps(anchor, figure, maps_of_sides),
    )


def _describe_hidden(figure: Figure, further: Sequence[str]) -> str:
    """Returns which lines are drawn and which are hidden, if each side has only those of its best condition."""
    best = list(dict.fromkeys(s.name for s in figure.series if s.side is not None and not s.further))
    same = f" ({best[0]})" if len(best) == 1 else ""
    hidden = f"{plural(len(further), 'line')} of other conditions {'is' if len(further) == 1 else 'are'} hidden"
    return f"Each side is drawn in its best condition{same}. {hidden} ({'; '.join(dict.fromkeys(further))})."


def _maps(anchor: str, figure: Figure, of_sides: Sequence[tuple[int, Figure]]) -> tuple[tuple[int, Drawn], ...]:
    """Returns the map of each side under its name, all with the same colours; () if fewer than two sides have one."""
    if len(of_sides) < 2:
        return ()
    every = [v for _, one in of_sides for line in one.z for v in line]
    drawn = []
    for side, one in of_sides:
        if any(v is not None for line in one.z for v in line):
            titled = replace(one, title=figure.sides[side], caption="", kind="heat")
            drawn.append((side, _pack_drawn(f"{anchor}-{side + 1}", titled, maps.heat(titled, every))))
    return tuple(drawn)


def _table(anchor: str, figure: Figure, levels: Sequence[Level]) -> Drawn:
    # Its cells are words: from which results each comes is not known.
    rests = tuple(f"Some results of this benchmark are {level}. The table may depend on them." for level in levels)
    return Drawn(
        anchor=anchor,
        title=figure.title,
        caption=figure.caption,
        plot=Markup("null"),
        height=0,
        headings=figure.headings,
        rows=figure.cells,
        notes=rests,
        single="" if figure.cells else "No value was measured for this table.",
        table=True,
    )


def _notes(figure: Figure, levels: Sequence[Level]) -> list[str]:
    """A note for each level that needs a mark, in the order of trust; then of those that are in the table only."""
    present = [value for value in _values(figure) if value is not None]
    drawn = marks.among(map(marks.level_of, present))
    notes = [_note(level, present, figure.kind) for level in drawn]
    if notes:
        notes[-1] += " The table of results shows all the evidence."
    others = [level for level in levels if level not in drawn]
    return notes + [f"Some results of this benchmark are {level}. See the table." for level in others]


def _note(level: Level, present: Sequence[float], kind: str) -> str:
    """How many of the figure's values are of that level, and mostly by what."""
    doubtful = [value for value in present if isinstance(value, Doubtful) and value.level == level]
    kinds = frequent(value.evidence for value in doubtful)
    names = (name if len(doubtful) == 1 else f"{name} {n}" for name, n in kinds)
    why = f" ({'' if len(doubtful) == 1 else 'most often: '}{', '.join(names)})" if kinds else ""
    return marks.describe(level, len(doubtful), len(present), "values", kind, why)


def _write_single_cell(figure: Figure) -> str:
    """Returns a map of a single cell as a sentence: 'Bandwidth: 9.36 GB/s (memory of node 0, …)'; '' otherwise."""
    if all(value is None for value in _values(figure)) and not any(s.published for s in figure.series):
        return "No value was measured for this figure."
    if is_lone(figure):
        return _write_lone_value(figure)
    if not figure.z or len(figure.rows) != 1 or len(figure.columns) != 1:
        return ""
    axis, value = figure.value or Axis("value"), figure.z[0][0]
    where = f"{figure.x.title} {tick(figure.columns[0], figure.x)}"
    where += f", {figure.y.title} {tick(figure.rows[0], figure.y)}"
    marked = label(value, axis) + write_if_doubtful(marks.level_of(value))
    return f"{capital(axis.title)}: {marked} ({where})."


def _write_lone_value(figure: Figure) -> str:
    """The only value of a figure as a sentence: 'Speed: 50.3 Mop/s, 95 % interval 48.1 Mop/s to 52.9 Mop/s (threads).'"""
    series = next(series for series in figure.series if any(y is not None for y in series.y))
    at = next(index for index, y in enumerate(series.y) if y is not None)
    text = label(series.y[at], figure.y) + write_if_doubtful(marks.level_of(series.y[at]))
    low, high = (ends[at] if ends else None for ends in (series.low, series.high))
    if low is not None and high is not None:
        text += f", 95 % interval {label(low, figure.y)} to {label(high, figure.y)}"
    return f"{capital(figure.y.title)}: {text} ({tick(series.x[at], figure.x)})."


def embedded(plot: object) -> Markup:
    """Returns JSON for a script element. It holds no '<', so no text of a record can end the element."""
    text = json.dumps(plot, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def packed(text: str) -> str:
    """Returns base64 of gzip, which the browser unpacks."""
    return base64.b64encode(gzip.compress(text.encode(), 3, mtime=0)).decode("ascii")


def _values(figure: Figure) -> list[float | None]:
    """Yields the values of this machine in the figure."""
    measured = (series for series in figure.series if not series.published)
    return [v for line in figure.z for v in line] + [y for series in measured for y in series.y]


def _value(value: float | None, axis: Axis) -> str:
    return signed(label(value, axis), marks.level_of(value))


def _grid(figure: Figure) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    axis = figure.value or Axis("")
    headings = (f"{figure.y.title} ↓  {figure.x.title} →", *(tick(column, figure.x) for column in figure.columns))
    rows = (
        (tick(row, figure.y), *(_value(value, axis) for value in line))
        for row, line in zip(figure.rows, figure.z, strict=True)
    )
    return headings, tuple(rows)


def _columns(figure: Figure) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Returns one row per point: series, x, y and its interval. Of several sides, the browser adds all but the first."""
    bounded = any(series.low and series.high for series in figure.series)
    rows = []
    first = min((series.side for series in figure.series if series.side is not None), default=None)
    for series in (s for s in figure.series if s.side in (None, first)):
        name = f"{series.name} (published)" if series.published else series.name
        side = () if first is None else ("" if series.side is None else figure.sides[series.side],)
        for index, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            low = label(series.low[index], figure.y) if series.low else "–"
            high = label(series.high[index], figure.y) if series.high else "–"
            ends = ("–" if low == high == "–" else f"{low} – {high}",) if bounded else ()
            rows.append((*side, name, tick(x, figure.x), _value(y, figure.y), *ends))
    names = ("Series", figure.x.title, figure.y.title)
    headings = (*(() if first is None else ("Side",)), *names, *(("95 % interval",) if bounded else ()))
    return headings, tuple(rows)


def _draw_failure(anchor: str, title: str, error: Exception) -> Drawn:
    reason = f"This figure could not be drawn: {type(error).__name__}: {error}"
    return Drawn(
        anchor=slug(anchor),
        title=title,
        caption="",
        plot=Markup("null"),
        height=0,
        headings=(),
        rows=(),
        error=reason,
    )
