"""A figure of the report as shapes on a sheet: from the same JSON that the page gives to Plotly, without a browser."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from steelyard.report.pictures import marks
from steelyard.report.pictures.labels import Labels, stacked
from steelyard.report.pictures.scales import Json, Scale, scale, thinned, ticks
from steelyard.report.pictures.sheet import Box, Clipped, Path, Shape, Sheet, Words, lines_of, rectangle, width_of

WIDTH = 720.0
SIZE = 12.0  # of letters
ROOM = 16.0  # between entries of the legend
_BAR, _LADDER = 12.0, 40  # width of a map's scale, and its steps


def draw(plot: Json, title: str, width: float = WIDTH) -> Sheet:
    """The figure on a sheet of that width. A surface is shown as the map of its heights."""
    data, layout = _flat(plot)
    data = [trace for trace in data if trace.get("visible", True)]
    for name in ("shapes", "annotations"):
        layout = layout | {name: [one for one in layout.get(name, ()) if one.get("visible", True)]}
    cells = next((trace for trace in data if trace["type"] == "heatmap"), None)
    width = min(width, plot.get("widest", width))
    data, layout = _lying(data, layout, width)
    names = sorted(name for name in layout if name.startswith("yaxis"))
    named_up = (label for name in names for _, label in ticks(layout[name], _upwards(data, layout, name)))
    left = 34 + max((width_of(label, SIZE) for label in named_up), default=0.0)
    right = width - (26 + _ladder_room(cells) if cells else 16)
    legend = _legend(data, layout, right - left)
    across = _sideways(data, layout, left, right)
    named = ticks(layout["xaxis"], across)
    turned = (across.kind == "category" and _crowded(named)) or (bool(cells) and _crowded(named))
    tall = min(120.0, max((0.6 * width_of(label, SIZE) for _, label in named), default=0)) if turned else 4.0
    above = [note for note in layout.get("annotations", ()) if note.get("name") == "above"]
    top = 16 + max((words.y + 15 for _, words in stacked(above, across)), default=0.0)
    height = layout["height"] + 18.0 * len(legend) + tall
    box = (left, top, right, height - 44 - tall - 18 * len(legend))
    out = Sheet(width, height, title)
    _draw_across(out, layout["xaxis"], named if turned else thinned(named, 8, SIZE), box, (turned, tall))
    rows = {name: _upwards(data, layout, name, box) for name in names}
    for name, ys in rows.items():
        _draw_upwards(out, layout[name], ys, box, grid=not cells)
    labels = Labels(out, box, across, rows)
    labels.under(layout)
    for name, ys in rows.items():
        _values(out, [t for t in data if t.get("yaxis", "y") == f"y{name[5:]}"], (across, ys), box, layout)
    labels.over(layout)
    if cells:
        _ladder(out, cells, box)
    _entries(out, legend, left, height - 18 * len(legend) + 8)
    return out


def _flat(plot: Json) -> tuple[list[Json], Json]:
    """The traces and the layout; a surface as a map whose rows and columns are all equally far apart."""
    layout = plot["layout"]
    if "scene" not in layout:
        return plot["data"], layout
    deep, scene, axes = plot["data"][0], layout["scene"], {}
    for name, places in (("xaxis", deep["x"]), ("yaxis", deep["y"])):
        at = [places.index(value) for value in scene[name]["tickvals"]]
        axes[name] = {"title": scene[name]["title"], "tickvals": at, "ticktext": scene[name]["ticktext"]}
    return [deep | {"type": "heatmap", "text": None}], axes | {"height": 440, "showlegend": False}


def _lying(data: list[Json], layout: Json, width: float) -> tuple[list[Json], Json]:
    """The same with many bars of long names on their side, as in the page: their names would stand on end below them."""
    bars = [trace for trace in data if trace["type"] == "bar"]
    names = dict.fromkeys(str(name) for trace in bars for name in trace["x"])
    longest = max((width_of(name, SIZE) for name in names), default=0.0)
    marked = layout["shapes"] or layout["annotations"]
    if len(names) < 6 or marked or longest * len(names) < 1.5 * width:
        return data, layout
    swapped = {"x": "y", "y": "x", "error_x": "error_y", "error_y": "error_x"}
    turned = [{swapped.get(key, key): value for key, value in trace.items()} for trace in data]
    axes = {"xaxis": layout["yaxis"], "yaxis": layout["xaxis"] | {"autorange": "reversed", "title": {}}}
    rows = len(names) * max(1.0, 0.5 + len(bars) / 2)
    return [trace | {"lying": True} for trace in turned], layout | axes | {"height": 80 + 22 * rows}


def _found(data: Sequence[Json], side: str, axis: str = "y") -> list[object]:
    """All the values of one side, with the ends of their intervals."""
    values: list[object] = []
    for trace in data:
        if side == "y" and trace.get("yaxis", "y") != axis:
            continue
        numbers = trace[side]
        base = trace.get("base", 0) if side == "y" or isinstance(trace.get("base"), list) else 0
        bases = base if isinstance(base, list) else [base] * len(numbers)
        values += [v if isinstance(v, str) or v is None else v + b for v, b in zip(numbers, bases, strict=True)]
        bars = trace.get(f"error_{side}")
        for value, up, down, b in zip(numbers, bars["array"], bars["arrayminus"], bases, strict=True) if bars else ():
            values += [b + value + up, b + value - down] if None not in (value, up, down) else []
    return values


def _sideways(data: Sequence[Json], layout: Json, left: float, right: float) -> Scale:
    axis, first = layout["xaxis"], data[0] if data else {}
    if first.get("type") == "heatmap":
        return _indexed(axis, len(first["z"][0]) if first["z"] else 1, left, right)
    return scale(axis, [*_found(data, "x"), *_of_shapes(layout, "x", "x")], left, right)


def _upwards(data: Sequence[Json], layout: Json, name: str, box: Box = (0, 0, 0, 100)) -> Scale:
    """The axis of that name, which stands on the left of the box or of its part of it."""
    axis, first = layout[name], data[0] if data else {}
    share = axis.get("domain", (0, 1))
    start, end = (box[3] - part * (box[3] - box[1]) for part in share)
    if first.get("type") == "heatmap":
        return _indexed(axis, len(first["z"]), start, end)
    axis_name = f"y{name[5:]}"
    upright = [
        t for t in data if t["type"] == "bar" and t.get("orientation") != "h" and t.get("yaxis", "y") == axis_name
    ]
    positions = [*_found(data, "y", axis_name), *_of_shapes(layout, "y", axis_name)]
    return scale(axis, positions, start, end, bool(upright) and not any(t.get("base") for t in upright))


def _of_shapes(layout: Json, side: str, axis: str) -> list[float]:
    """The ends of the lines and stretches that lie on the axis: it reaches as far as they do."""
    shapes = (shape for shape in layout.get("shapes", ()) if shape.get(f"{side}ref", side) == axis)
    return [shape[f"{side}{end}"] for shape in shapes for end in (0, 1)]


def _indexed(axis: Json, count: int, start: float, end: float) -> Scale:
    """The axis of a map: its cells lie on whole numbers."""
    first, last = -0.5, count - 0.5
    low, high = (last, first) if axis.get("autorange") == "reversed" else (first, last)
    return Scale(kind="linear", names=(), low=low, high=high, start=start, end=end)


def _crowded(named: Sequence[tuple[float, str]]) -> bool:
    """Whether labels side by side would touch."""
    return any(
        abs(b - a) < (width_of(one, SIZE) + width_of(other, SIZE)) / 2 + 6 for (a, one), (b, other) in pairwise(named)
    )


def _draw_across(
    out: Sheet, axis: Json, named: Sequence[tuple[float, str]], box: Box, turning: tuple[bool, float]
) -> None:
    (left, _, right, bottom), (turned, tall) = box, turning
    out.shapes.append(Path(((left, bottom), (right, bottom)), marks.AXIS))
    for at, label in named:
        out.shapes.append(Path(((at, bottom), (at, bottom + 4)), marks.AXIS))
        if turned:
            out.shapes.append(Words(at + 4, bottom + 14, label, SIZE, "end", -37.0, marks.INK))
        else:
            out.shapes.append(Words(at, bottom + 17, label, SIZE, "middle", colour=marks.INK))
    out.shapes.append(Words((left + right) / 2, bottom + 33 + tall, _title(axis), SIZE + 1, "middle", colour=marks.INK))


def _draw_upwards(out: Sheet, axis: Json, axis_scale: Scale, box: Box, grid: bool) -> None:
    """An axis on the left with its ticks, and with lines across at each of them."""
    left, right = box[0], box[2]
    for at, label in ticks(axis, axis_scale):
        if grid and axis_scale.kind != "category":
            out.shapes.append(Path(((left, at), (right, at)), marks.GRID))
        out.shapes.append(Words(left - 8, at + 4, label, SIZE, "end", colour=marks.INK))
    out.shapes.append(Path(((left, axis_scale.start), (left, axis_scale.end)), marks.AXIS))
    size = min(
        SIZE + 1, (SIZE + 1) * (axis_scale.start - axis_scale.end + 40) / max(1.0, width_of(_title(axis), SIZE + 1))
    )
    out.shapes.append(
        Words(14, (axis_scale.start + axis_scale.end) / 2, _title(axis), size, "middle", -90.0, marks.INK)
    )


def _title(axis: Json) -> str:
    return " ".join(lines_of((axis.get("title") or {}).get("text", "")))


def _values(out: Sheet, data: Sequence[Json], scales: tuple[Scale, Scale], box: Box, layout: Json) -> None:
    """The traces, of which nothing reaches beyond the axes."""
    xs, ys = scales
    shapes: list[Shape] = []
    upright = [t for t in data if t["type"] == "bar" and t.get("orientation") != "h"]
    shapes += marks.bars(upright, xs, ys, stacked=layout.get("barmode") == "stack")
    before: Json | None = None
    for trace in data:
        if trace["type"] == "heatmap":
            shapes += marks.heat(trace, xs, ys)
        elif trace["type"] == "scatter":
            shapes += marks.line(trace, xs, ys, before)
        elif trace.get("orientation") == "h":
            shapes += marks.strips(trace, xs, ys)
        before = trace
    left, top, right, bottom = box
    out.shapes.append(Clipped((left - 6, top - 6, right + 8, bottom + 6), tuple(shapes)))


# --------------------------------------------------------------------------- legends


def _legend(data: Sequence[Json], layout: Json, room: float) -> list[list[Json]]:
    """The named traces in rows of that width; none where one trace stands for itself."""
    if not layout.get("showlegend"):
        return []
    rows: list[list[Json]] = [[]]
    used = 0.0
    for trace in (t for t in data if t.get("showlegend", True) and t.get("name")):
        wide = 30 + width_of(lines_of(trace["name"])[0], SIZE) + ROOM
        if rows[-1] and used + wide > room:
            rows.append([])
            used = 0.0
        rows[-1].append(trace)
        used += wide
    return [row for row in rows if row]


def _entries(out: Sheet, rows: Sequence[Sequence[Json]], left: float, top: float) -> None:
    for number, row in enumerate(rows):
        x, y = left, top + 18 * number
        for trace in row:
            name = lines_of(trace["name"])[0]
            out.shapes += _sample(trace, x, y)
            out.shapes.append(Words(x + 30, y + 4, name, SIZE, colour=marks.INK))
            x += 30 + width_of(name, SIZE) + ROOM


def _sample(trace: Json, x: float, y: float) -> Iterator[Shape]:
    """How the trace looks, beside its name."""
    colour, mode, drawn = marks.colour_of(trace), trace.get("mode", ""), trace.get("line") or {}
    if trace["type"] == "bar":
        yield rectangle((x + 6, y - 5, x + 18, y + 5), fill=colour)
    if "lines" in mode:
        yield Path(((x, y), (x + 24, y)), colour, 1.6, marks.DASHES.get(drawn.get("dash", ""), ()))
    if "markers" in mode:
        symbols = (trace.get("marker") or {}).get("symbol", "circle")
        # Of marks that differ by their verdict the usual one, which is not hollow.
        usual = symbols[0].removesuffix("-open") if isinstance(symbols, list) and symbols else symbols
        yield marks.symbol(str(usual), x + 12, y, 6, colour)


def _ladder_room(trace: Json) -> float:
    bar = trace["colorbar"]
    labels = bar.get("ticktext") or ["0.000"]
    return _BAR + 34 + max(width_of(lines_of(label)[0], SIZE) for label in labels)


def _ladder(out: Sheet, trace: Json, box: Box) -> None:
    """The scale of a map's colours, to its right."""
    bar, present = trace["colorbar"], [v for row in trace["z"] for v in row if v is not None]
    low, high = trace.get("zmin", min(present, default=0)), trace.get("zmax", max(present, default=1))
    left, top, bottom = box[2] + 12, box[1], box[3]
    step = (bottom - top) / _LADDER
    for n in range(_LADDER):
        part = (left, bottom - (n + 1) * step - 0.3, left + _BAR, bottom - n * step)
        out.shapes.append(rectangle(part, fill=marks.cividis(n / (_LADDER - 1))))
    made = Scale(kind="linear", names=(), low=low, high=high, start=bottom, end=top)
    for at, label in ticks(bar, made):
        out.shapes.append(Words(left + _BAR + 5, at + 4, label, SIZE, colour=marks.INK))
    out.shapes.append(Words(out.width - 4, (top + bottom) / 2, _title(bar), SIZE, "middle", -90.0, marks.INK))
