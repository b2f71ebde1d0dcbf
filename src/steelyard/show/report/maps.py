"""Heat maps and surfaces in Plotly's JSON: a value over two parameters."""

import math
from collections.abc import Sequence

from steelyard.model import units
from steelyard.model.figure import Axis, Figure, Point
from steelyard.show.report.axes import Json, divided, label, log_ticks, scale, text, tick, title
from steelyard.show.report.doubtful_values import CELLS, level_of, marked

MOST_LABELS = 32  # of columns or rows: more overlap
MOST_NUMBERED_CELLS = 120  # beyond this the numbers in the cells of a heat map no longer fit


def heat(figure: Figure, others: Sequence[float | None] = ()) -> Json:
    """Returns the map. With the values of `others`, maps of several sides have the same colours for the same values."""
    axis = figure.value or Axis("")
    colour, bar, factor = _colour_heights(figure, axis, others)
    cells = len(figure.rows) * len(figure.columns)
    names = {(_find_index(p.y, figure.rows), _find_index(p.x, figure.columns)): p.label for p in figure.points}
    trace: Json = {
        "type": "heatmap", "z": colour,
        "x": list(range(len(figure.columns))), "y": list(range(len(figure.rows))),
        "colorscale": "Cividis", "colorbar": bar, "hoverongaps": False,
        "xgap": 1.5 if len(figure.columns) <= MOST_LABELS else 0, "ygap": 1.5,
        "customdata": _cells(figure, axis), "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip
    present = [v for line in colour for v in line if v is not None]
    if not axis.log and min(present, default=-1) >= 0 and max(present) > 0:
        trace |= {"zmin": 0, "zmax": max(present)}  # colours from zero on, so that small differences look small
    if others:
        trace |= _find_common_scale(others, axis, factor)
    if cells <= MOST_NUMBERED_CELLS:
        trace["text"] = [
            [_cell(value, factor, names.get((row, column)), axis) for column, value in enumerate(line)]
            for row, line in enumerate(figure.z)
        ]
        trace["texttemplate"] = "%{text}"
    layout: Json = {
        "xaxis": _make_indexed_axis(figure.x, figure.columns),
        "yaxis": _make_indexed_axis(figure.y, figure.rows),
        "shapes": [_make_outline(row, column) for row, column in names if row is not None and column is not None],
        "annotations": [],
        "height": min(620, max(220 if len(figure.rows) == 1 else 300, 140 + 36 * len(figure.rows))),
    }
    if not figure.y.log:
        layout["yaxis"]["autorange"] = "reversed"  # a matrix is read from its first row at the top
    widest = 300 + 150 * len(figure.columns)  # so that a small matrix keeps cells of a sensible shape
    return {"data": [trace], "layout": layout, "wide": len(figure.columns) > 6, "widest": widest}


def surface(figure: Figure) -> Json:
    axis = figure.value or Axis("")
    colour, bar, _ = _colour_heights(figure, axis)
    xs, ys = _find_places(figure.columns, figure.x), _find_places(figure.rows, figure.y)
    trace: Json = {
        "type": "surface", "x": xs, "y": ys, "z": colour, "colorscale": "Cividis", "colorbar": bar,
        "customdata": _cells(figure, axis), "hovertemplate": "%{customdata}<extra></extra>",
        "contours": {name: {"show": True, "width": 1, "highlight": False} for name in ("x", "y")},
        "lighting": {"ambient": 0.85, "diffuse": 0.3, "specular": 0.05},
    }  # fmt: skip
    scene: Json = {
        "xaxis": _make_scene_axis(figure.x, xs, figure.columns),
        "yaxis": _make_scene_axis(figure.y, ys, figure.rows),
        "zaxis": {"title": {"text": ""}}  # the colour bar has it
        | {key: bar[key] for key in ("tickmode", "tickvals", "ticktext") if key in bar},
        "camera": {"eye": {"x": 1.55, "y": -1.55, "z": 0.75}, "center": {"x": 0, "y": 0, "z": -0.15}},
        "aspectratio": {"x": 1.15, "y": 1.15, "z": 0.8},
    }
    placed = [_place_point(point, figure, xs, ys, colour) for point in figure.points]
    points = [point for point in placed if point is not None]
    scene["annotations"] = [_make_annotation(point, points) for point in points]
    dots: Json = {
        "type": "scatter3d", "mode": "markers", "hoverinfo": "skip", "showlegend": False,
        "marker": {"size": 5},
        "x": [p[0] for p in points], "y": [p[1] for p in points], "z": [p[2] for p in points],
        "meta": {"colour": 0, "points": True},
    }  # fmt: skip
    layout = {"scene": scene, "height": 560}
    return {"data": [trace, dots], "layout": layout, "wide": False, "webgl": True}


def _make_annotation(point: tuple[float, float, float, str], points: list[tuple[float, float, float, str]]) -> Json:
    x, y, z, name = point
    away = -24 if z == max(other[2] for other in points) else 26  # pixels: clear of the surface
    return {"x": x, "y": y, "z": z, "text": f"<b>{text(name)}</b>", "ax": 0, "ay": away, "arrowhead": 0}


def _find_common_scale(values: Sequence[float | None], axis: Axis, factor: float) -> Json:
    known = _list_known(values, axis)
    if not known:
        return {}
    ends = min(known), max(known)
    if axis.log:
        return {"zmin": math.log10(ends[0]), "zmax": math.log10(ends[1])}
    return {"zmin": min(0.0, ends[0] / factor), "zmax": ends[1] / factor}


def _list_known(values: Sequence[float | None], axis: Axis) -> list[float]:
    return [v for v in values if v is not None and math.isfinite(v) and (v > 0 or not axis.log)]


def _colour_heights(
    figure: Figure, axis: Axis, others: Sequence[float | None] = ()
) -> tuple[list[list[float | None]], Json, float]:
    """Heights for the colours (logarithms where the axis is), the colour bar, the factor of the numbers."""
    known = _list_known(others or [v for line in figure.z for v in line], axis)
    bar: Json = {"thickness": 12, "title": {"side": "right"}}
    if not known:
        return [[None for _ in line] for line in figure.z], bar | {"title": {"text": title(axis, "")}}, 1.0
    factor, unit = scale(sorted(known)[len(known) // 2], axis.unit)
    bar["title"] = {"text": title(axis, unit if not axis.log else ""), "side": "right"}
    if not axis.log:
        return [[divided(v, factor) for v in line] for line in figure.z], bar, factor
    ticks = log_ticks(known, axis)
    bar |= {"tickmode": "array", "tickvals": [math.log10(at) for at in ticks]}
    bar["ticktext"] = [tick(at, axis) for at in ticks]
    shown = set(known)
    return [[math.log10(v) if v in shown else None for v in line] for line in figure.z], bar, factor


def _cell(value: float | None, factor: float, name: str | None, axis: Axis) -> str:
    if value is None or not math.isfinite(value):
        return ""
    mark = CELLS.get(level_of(value), "")
    shown = value / factor
    number = f"{shown + 0.0:.1f}" if axis.unit == "%" and abs(shown) < 10 else units.significant(shown)
    return f"{text(name) + ' ' if name else ''}{number}{mark}"


def _cells(figure: Figure, axis: Axis) -> list[list[str]]:
    return [
        [
            text(
                f"{label(value, axis)} at {figure.x.title} {tick(column, figure.x)}, "
                f"{figure.y.title} {tick(row, figure.y)}{marked(value)}"
            )
            for column, value in zip(figure.columns, line, strict=True)
        ]
        for row, line in zip(figure.rows, figure.z, strict=True)
    ]


def _make_indexed_axis(axis: Axis, names: tuple[float | str, ...]) -> Json:
    shown = _choose_named(axis, names)
    return {
        "title": {"text": title(axis, "")}, "tickmode": "array", "tickvals": shown,
        "ticktext": [text(tick(names[at], axis)) for at in shown], "showgrid": False, "zeroline": False,
        "automargin": True, "ticks": "",
    }  # fmt: skip


def _choose_named(axis: Axis, names: tuple[float | str, ...]) -> list[int]:
    """Of many columns only some have a label: powers of ten where the axis is logarithmic and has them."""
    if len(names) <= MOST_LABELS:
        return list(range(len(names)))
    if axis.log:
        places = [math.log10(name) for name in names if not isinstance(name, str) and name > 0]
        tens = [at for at, place in enumerate(places) if abs(place - round(place)) < 1e-9]
        if len(places) == len(names) and len(tens) > 1:
            return tens
    return list(range(0, len(names), -(-len(names) // (MOST_LABELS // 3))))


def _make_outline(row: int, column: int) -> Json:
    corner = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", "line": {"width": 2.5, "dash": "solid"}, "name": "outline"} | corner


def _find_index(value: float | str, names: tuple[float | str, ...]) -> int | None:
    return names.index(value) if value in names else None


def _find_places(names: tuple[float | str, ...], axis: Axis) -> list[float]:
    numbers = [name for name in names if not isinstance(name, str)]
    if len(numbers) < len(names) or (axis.log and min(numbers, default=1) <= 0):
        return [float(index) for index in range(len(names))]
    return [math.log10(number) if axis.log else float(number) for number in numbers]


def _make_scene_axis(axis: Axis, places: list[float], names: tuple[float | str, ...]) -> Json:
    step = max(1, math.ceil(len(names) / 6))  # more tick labels than this overlap in perspective
    return {
        "title": {"text": title(axis, axis.unit)}, "tickmode": "array", "tickvals": places[::step],
        "ticktext": [text(tick(name, axis)) for name in names[::step]],
    }  # fmt: skip


def _place_point(
    point: Point, figure: Figure, xs: list[float], ys: list[float], heights: list[list[float | None]]
) -> tuple[float, float, float, str] | None:
    row, column = _find_index(point.y, figure.rows), _find_index(point.x, figure.columns)
    if row is None or column is None:
        return None
    height = heights[row][column]
    return None if height is None else (xs[column], ys[row], height, point.label)
