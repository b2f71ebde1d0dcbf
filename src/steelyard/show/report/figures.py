"""Turns a Figure's plain data into Plotly's JSON; colours are roles here, the page's theme gives them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard.model import Level
from steelyard.model.figure import Axis, Band, Figure, Mark, Point, Series
from steelyard.show.report import maps, side_traces
from steelyard.show.report.axes import Json, divided, label, plotted, text, tick
from steelyard.show.report.doubtful_values import HOLLOW, PATTERNS, SIZES, level_of, marked, named
from steelyard.show.report.verdict_marks import signed

COLOURS = 7  # of the palettes in figures.js
MOST_ERROR_BARS = 12  # points a line; beyond this whiskers run into each other and a band is calmer


def plotly(figure: Figure) -> Json:
    """`{"data": […], "layout": {…}, "wide": bool}`. Values that carry a verdict are marked."""
    if figure.kind in {"surface", "heat"}:
        # A surface needs an extent both ways.
        deep = figure.kind == "surface" and min(len(figure.rows), len(figure.columns)) > 1
        return maps.surface(figure) if deep else maps.heat(figure)
    return _lines(figure)


def _lines(figure: Figure) -> Json:
    measured = tuple(series for series in figure.series if not series.published) or figure.series
    (x_factor, x_axis), (y_factor, y_axis) = _axes(figure, measured)
    data: list[Json] = []
    names = side_traces.line_names(figure)
    for number in range(len(figure.series)):
        data += _make_trace(figure, number, (x_factor, y_factor), names)
    data += side_traces.legend(figure) if figure.sides else ()
    layout: Json = {"xaxis": x_axis, "yaxis": y_axis, "shapes": [], "annotations": [], "height": 400}
    layout["showlegend"] = len(measured) > 1 or bool(figure.sides)
    if figure.kind == "bars":
        layout["barmode"] = "group"
    for mark in figure.marks:
        called = replace(mark, label=signed(mark.label, level_of(mark.at)))
        _mark(layout, called, x_factor if mark.axis == "x" else y_factor, figure)
    for band in figure.bands:
        _add_stretch(layout, band, figure, x_factor)
    for point in figure.points:
        _add_point(layout, replace(point, label=named(point)), figure, x_factor, y_factor)
    plot: Json = {"data": data, "layout": layout, "wide": False}
    if figure.sides:
        plot["axes"] = side_traces.axes(figure, (x_factor, y_factor))
    if len(measured) < len(figure.series):
        plot["beside"] = _name_published_ticks(figure, x_axis, y_axis)
    return plot


def _axes(figure: Figure, series: tuple[Series, ...]) -> tuple[tuple[float, Json], tuple[float, Json]]:
    """Both axes with their factors, made for these series."""
    horizontal = [x for line in series for x in line.x]
    vertical = [y for line in series for y in line.y if y is not None]
    vertical += [mark.at for mark in figure.marks if mark.axis == "y"]
    x_factor, x_axis = plotted(figure.x, horizontal)
    ends = [end for line in series for end in (*line.low, *line.high)]
    y_factor, y_axis = plotted(figure.y, vertical, ends)
    if not figure.y.log:
        y_axis["rangemode"] = "tozero"  # a cut axis makes small differences look large
    return (x_factor, x_axis), (y_factor, y_axis)


def _name_published_ticks(figure: Figure, x_axis: Json, y_axis: Json) -> Json:
    """The named ticks as they are when published systems are shown too: their span is often far wider."""
    (_, x_all), (_, y_all) = _axes(figure, figure.series)
    return {
        name: {"autorange": True} | {key: every[key] for key in ("tickvals", "ticktext")}
        for name, mine, every in (("xaxis", x_axis, x_all), ("yaxis", y_axis, y_all))
        if "tickvals" in mine and "tickvals" in every
    }


def _make_trace(figure: Figure, number: int, factors: tuple[float, float], names: Sequence[str]) -> list[Json]:
    series, (x_factor, y_factor) = figure.series[number], factors
    levels = [level_of(y) for y in series.y]
    name = text(series.name.replace("_", " ") if series.published else series.name)
    trace: Json = {
        "name": name,
        "x": [text(x) if isinstance(x, str) else x / x_factor for x in series.x],
        "y": [divided(y, y_factor) for y in series.y],
        "hovertemplate": "%{customdata}<extra></extra>",
        "legendgroup": f"series{number}",
    }
    colour, dash, symbol = side_traces.look(figure, number, names)
    if series.side is not None:
        trace |= side_traces.described(figure, series, levels, names)
        del trace["legendgroup"]  # groups would put each entry of the legend on a line of its own
        trace |= {axis: side_traces.short(trace[axis]) for axis in ("x", "y")}
    else:
        trace |= {"customdata": [text(t) for t in _describe(figure, series)], "meta": {"colour": colour}}
    if series.published:
        # Neither drawn nor in the legend before the reader chooses it.
        trace |= {"visible": False, "meta": {"colour": _choose_other_colour(figure, number), "published": number}}
    bounds = _make_error_bars(series, y_factor)
    if figure.kind == "bars":
        trace |= {"type": "bar", "marker": {"pattern": {"shape": [PATTERNS.get(level, "") for level in levels]}}}
        if figure.y.ratio:  # bars stand on 1, and reach up or down from there
            trace |= {"base": 1, "y": [None if y is None else y - 1 for y in series.y]}
        return [trace | bounds]
    trace |= {
        "type": "scatter",
        "mode": "lines+markers" if series.connected else "markers",
        "line": {"dash": "dot" if series.published else dash, "width": 2},
        "marker": _make_marker(symbol, levels, small=series.side is not None),
    }
    if bounds and series.connected and (len(series.x) > MOST_ERROR_BARS or series.banded):
        return [*_make_band(trace, series, y_factor), trace]
    return [trace | bounds]


def _make_marker(symbol: str, levels: Sequence[Level], small: bool) -> Json:
    """Returns the marks of a line's points. `small`: marks that are all alike are written once."""
    if small and set(levels) <= {"CLEAN"}:
        size, width = SIZES["CLEAN"]
        return {"symbol": symbol, "size": size, "line": {"width": width}}
    return {
        "symbol": [symbol + HOLLOW.get(level, "") for level in levels],
        "size": [SIZES[level][0] for level in levels],
        "line": {"width": [SIZES[level][1] for level in levels]},
    }


def _choose_other_colour(figure: Figure, number: int) -> int:
    """A colour for a published line that none of this machine's own lines has, as long as there is one."""
    measured = (len(figure.sides) or sum(not series.published for series in figure.series)) % COLOURS
    before = sum(series.published for series in figure.series[:number])
    return measured + before % (COLOURS - measured)


def _describe(figure: Figure, series: Series) -> list[str]:
    """What is shown over each point: where it is, the value, its interval, and its verdict where that is not CLEAN."""
    texts = []
    for index, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        line = f"{series.name}: {label(y, figure.y)} at {figure.x.title} {tick(x, figure.x)}"
        low = series.low[index] if series.low else None
        high = series.high[index] if series.high else None
        if low is not None and high is not None:
            line += f", 95 % interval {label(low, figure.y)} to {label(high, figure.y)}"
        texts.append(line + marked(y))
    return texts


def _make_error_bars(series: Series, factor: float) -> Json:
    if not series.low or not series.high:
        return {}
    up, down = _find_distances(series, series.high, factor), _find_distances(series, series.low, -factor)
    if series.side is not None:
        up, down = side_traces.short(up), side_traces.short(down)
    return {
        "error_y": {
            "type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.2, "width": 4,
        }
    }  # fmt: skip


def _find_distances(series: Series, ends: Sequence[float | None], factor: float) -> list[Any]:
    return [None if y is None or end is None else (end - y) / factor for y, end in zip(series.y, ends, strict=True)]


def _make_band(trace: Json, series: Series, factor: float) -> list[Json]:
    common = {
        "x": trace["x"], "type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip",
        "showlegend": False, "legendgroup": trace.get("legendgroup", ""), "visible": trace.get("visible", True),
        "meta": trace["meta"] | {"band": True},
    }  # fmt: skip
    ends = [[divided(value, factor) for value in values] for values in (series.low, series.high)]
    low, high = map(side_traces.short, ends) if series.side is not None else ends
    return [common | {"y": low}, common | {"y": high, "fill": "tonexty"}]


def _add_stretch(layout: Json, band: Band, figure: Figure, factor: float) -> None:
    """A shaded stretch over the whole height, its label along the lower edge."""
    ends = [band.low / factor, band.high / factor]
    shape: Json = {"type": "rect", "x0": ends[0], "x1": ends[1], "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    layout["shapes"].append(shape | {"fillcolor": "rgba(128,128,128,0.18)", "line": {"width": 0}})
    middle = math.sqrt(ends[0] * ends[1]) if figure.x.log else sum(ends) / 2
    place = {"x": math.log10(middle) if figure.x.log else middle, "yref": "paper", "y": 0.02, "yanchor": "bottom"}
    note = {"text": text(band.label), "textangle": -90, "showarrow": False, "font": {"size": 11}}
    layout["annotations"].append(place | note)


def _mark(layout: Json, mark: Mark, factor: float, figure: Figure) -> None:
    axis = layout[f"{mark.axis}axis"]
    if axis["type"] == "category" or (axis["type"] == "log" and mark.at <= 0):
        return
    at = mark.at / factor
    # Plotly wants an annotation's place as its logarithm.
    written = math.log10(at) if axis["type"] == "log" else at
    shape: Json = {"type": "line", "line": {"dash": "dash", "width": 1.4}, "layer": "below"}
    note: Json = {"text": text(mark.label), "showarrow": False, "font": {"size": 12}}
    if mark.axis == "y":
        shape |= {"xref": "paper", "x0": 0, "x1": 1, "y0": at, "y1": at}
        note |= {"xref": "paper", "x": 1, "xanchor": "right", "y": written, "yanchor": "bottom"}
        note["name"] = "limit"
    else:
        # The label stands above the plot, where no line of data runs through it.
        shape |= {"yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at}
        note |= {"yref": "paper", "y": 1, "yanchor": "bottom", "x": written, "xanchor": "center"}
        note["name"] = "above"
    if mark.sides:
        of_sides = {"sides": list(mark.sides), "visible": any(side_traces.is_shown(n, figure) for n in mark.sides)}
        shape, note = shape | of_sides, note | of_sides
    layout["shapes"].append(shape)
    layout["annotations"].append(note)


def _add_point(layout: Json, point: Point, figure: Figure, x_factor: float, y_factor: float) -> None:
    def place(value: float | str, factor: float, axis: Axis) -> float | str:
        if isinstance(value, str):
            return value
        return math.log10(value) if axis.log and value > 0 else value / factor

    layout["annotations"].append(
        {
            "x": place(point.x, x_factor, figure.x), "y": place(point.y, y_factor, figure.y),
            "text": f"<b>{text(point.label)}</b>", "showarrow": True, "arrowhead": 0, "ax": 18, "ay": -22,
        }
    )  # fmt: skip
