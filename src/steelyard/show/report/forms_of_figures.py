"""The form that a figure takes by how much was measured for it: a map of one row is a line, lines of one place are bars."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from steelyard.model.figure import Axis, Figure, Point, Series
from steelyard.show.report.axes import tick

COUNTED, FEWEST_COUNTS, DOUBLINGS = ("threads", "ranks"), 3, 8  # what is counted; the counts and the range that need it
STEEP = 30.0  # times: bars that differ by less stand on zero, others on a logarithmic axis


def fitted(figure: Figure) -> Figure:
    """The figure in a form that its values fill; as it is where they fill it already."""
    if figure.kind in ("heat", "surface"):
        if len(figure.rows) == 1 < len(figure.columns):
            return _line(figure, figure.x, figure.columns, figure.z[0], (figure.y, figure.rows[0]))
        if len(figure.columns) == 1 < len(figure.rows):
            column = tuple(row[0] for row in figure.z)
            return _line(figure, figure.y, figure.rows, column, (figure.x, figure.columns[0]))
        return figure
    figure = _drop_empty_places(figure) if figure.kind == "bars" else figure
    if figure.kind == "bars" and figure.y.log and not figure.y.ratio:
        return replace(figure, y=_stand(figure.y, figure.series))
    places = {x for series in figure.series for x in series.x}
    plain = not figure.bands and not any(series.published or len(series.x) > 1 for series in figure.series)
    if figure.kind == "lines" and len(places) == 1 and plain:
        return _turn_lines_into_bars(figure)
    return _spread_counts(figure, places) if figure.kind == "lines" else figure


def _drop_empty_places(figure: Figure) -> Figure:
    """Returns bars without the places at which no line has a value, since they would be empty rows."""
    full = {x for line in figure.series for x, y in zip(line.x, line.y, strict=True) if y is not None}
    if not full or all(x in full for line in figure.series for x in line.x):
        return figure
    return replace(figure, series=tuple(_select_places(line, full) for line in figure.series))


def _select_places(line: Series, places: Collection[float | str]) -> Series:
    kept = [n for n, x in enumerate(line.x) if x in places]
    y, low, high = (tuple(of[n] for n in kept) if of else () for of in (line.y, line.low, line.high))
    return replace(line, x=tuple(line.x[n] for n in kept), y=y, low=low, high=high)


def _spread_counts(figure: Figure, places: Collection[float | str]) -> Figure:
    """Returns a figure over threads or ranks that double with a logarithmic axis: else most of them crowd at the left end."""
    counts = sorted(x for x in places if not isinstance(x, str) and x > 0 and x == int(x))
    few = len(counts) < FEWEST_COUNTS or len(counts) < len(places) or counts[-1] < DOUBLINGS * counts[0]
    if figure.x.title not in COUNTED or figure.x.log or few:
        return figure
    doubling = median(b / a for a, b in pairwise(counts)) >= 1.5
    return replace(figure, x=replace(figure.x, log=True)) if doubling else figure


def is_lone(figure: Figure) -> bool:
    """Returns whether a single value is all that there is, with nothing to stand beside it."""
    values = [y for series in figure.series for y in series.y if y is not None]
    return figure.kind == "bars" and len(values) == 1 and not figure.marks


def _line(
    figure: Figure,
    along: Axis,
    places: tuple[float | str, ...],
    values: tuple[float | None, ...],
    at: tuple[Axis, float | str],
) -> Figure:
    """A row or a column of a map, over its places; `at`: the place that all of them share."""
    axis, place = at
    named = any(isinstance(one, str) for one in places)
    by_place = dict(zip(places, values, strict=True))
    sideways = along is figure.x
    points = tuple(
        Point(x, y, point.label)
        for point in figure.points
        if (x := point.x if sideways else point.y) in by_place and (y := by_place[x]) is not None
    )
    return replace(
        figure,
        title=f"{figure.title} ({axis.title}: {tick(place, axis)})",
        kind="bars" if named else "lines",
        x=along,
        y=figure.value or Axis("value"),
        series=(Series(figure.title, places, values),),
        z=(), columns=(), rows=(), value=None, points=points,
    )  # fmt: skip


def _turn_lines_into_bars(figure: Figure) -> Figure:
    """Lines of which each has a single place, the same one: a bar for each, in one set of bars a side."""
    place = next(x for series in figure.series for x in series.x)
    where = tick(place, figure.x)
    of_side: dict[int | None, list[Series]] = {}
    for series in figure.series:
        if series.x:
            of_side.setdefault(series.side, []).append(series)
    return replace(
        figure,
        title=f"{figure.title} ({figure.x.title}: {where})",
        kind="bars",
        x=Axis("case"),
        y=_stand(figure.y, figure.series),
        series=tuple(_set_of_bars(figure.y.title, where, lines) for lines in of_side.values()),
        marks=tuple(mark for mark in figure.marks if mark.axis == "y"),
        points=(),
    )


def _stand(axis: Axis, lines: Sequence[Series]) -> Axis:
    """Returns the axis on which bars stand: a logarithmic one stays only if they differ by more than `STEEP`."""
    positive = [value for series in lines for value in series.y if value is not None and value > 0]
    return replace(axis, log=axis.log and bool(positive) and max(positive) > STEEP * min(positive))


def _set_of_bars(name: str, where: str, lines: Sequence[Series]) -> Series:
    bounded = all(series.low and series.high for series in lines)
    return Series(
        name,
        tuple(series.name or where for series in lines),
        tuple(series.y[0] for series in lines),
        tuple(series.low[0] for series in lines) if bounded else (),
        tuple(series.high[0] for series in lines) if bounded else (),
        side=lines[0].side,
    )
