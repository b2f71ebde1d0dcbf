"""What stands for values in a picture: marks, bars, lines with their bands and intervals, and the cells of a map."""

import math
from collections.abc import Iterator, Sequence

from steelyard.report.pictures.scales import Json, Scale
from steelyard.report.pictures.sheet import Box, Disc, Path, Place, Shape, Words, lines_of, rectangle, width_of

INK, SOFT, GRID, AXIS, NOTE = "#1b2024", "#59626b", "#e6e6e1", "#8a8f8c", "#7a4a00"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # as in figures.js
DASHES = {"dash": (7, 4), "dot": (2, 3), "dashdot": (7, 3, 2, 3), "longdash": (12, 4)}
_HATCH = 8.0  # pixels between the strokes of a bar that cannot be relied on
# Cividis: J. R. Nuñez, C. R. Anderton, R. S. Renslow, PLoS ONE 13 (7), 2018; at even steps.
_CIVIDIS = (
    (0, 32, 76), (0, 42, 102), (0, 52, 110), (39, 63, 108), (60, 74, 107), (76, 85, 107), (91, 95, 109), (104, 106, 112),
    (117, 117, 117), (131, 129, 120), (146, 140, 120), (161, 152, 118), (176, 165, 114), (192, 177, 109), (209, 191, 102),
    (225, 204, 92), (243, 219, 79), (255, 233, 69),
)  # fmt: skip


def colour_of(trace: Json) -> str:
    """The trace's colour on white paper."""
    meta = trace.get("meta", {})
    return INK if meta.get("points") or meta.get("ink") else COLOURS[meta.get("colour", 0) % len(COLOURS)]


def _of(values: object, index: int, default: object) -> object:
    """An entry of a list, or what stands for all."""
    return values[index] if isinstance(values, list) else default if values is None else values


def symbol(kind: str, x: float, y: float, size: float, colour: str) -> Shape:
    """A mark of Plotly's name: hollow where it ends in '-open'."""
    name, r = kind.removesuffix("-open"), size / 2
    fill, stroke = ("#ffffff", colour) if kind.endswith("-open") else (colour, "")
    if name == "circle":
        return Disc(x=x, y=y, radius=r, stroke=stroke, width=1.4, fill=fill)
    corners: dict[str, Sequence[Place]] = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "triangle-up": ((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
        "x": tuple(
            (1.2 * (a * c - b * s), 1.2 * (a * s + b * c))
            for c, s in ((math.sqrt(0.5), math.sqrt(0.5)),)
            for a, b in _CROSS
        ),
        "cross": tuple((1.2 * a, 1.2 * b) for a, b in _CROSS),
    }
    points = tuple((x + r * a, y + r * b) for a, b in corners.get(name, corners["diamond"]))
    return Path(points, stroke, 1.4, fill=fill, closed=True)


_CROSS = (
    (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35), (0.35, 1), (-0.35, 1), (-0.35, 0.35),
    (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
)  # fmt: skip


def line(trace: Json, xs: Scale, ys: Scale, before: Json | None) -> Iterator[Shape]:
    """A line with its intervals and marks; one that is filled, with the area down to the line `before` it."""
    places = [(xs.place(x), ys.place(y)) for x, y in zip(trace["x"], trace["y"], strict=True)]
    colour, mode = colour_of(trace), trace.get("mode", "lines+markers")
    drawn = trace.get("line") or {}
    if trace.get("fill") == "tonexty" and before:
        lower = [(xs.place(x), ys.place(y)) for x, y in zip(before["x"], before["y"], strict=True)]
        both = [(p, q) for p, q in zip(places, lower, strict=True) if None not in (*p, *q)]
        area = [p for p, _ in both] + [q for _, q in reversed(both)]
        yield Path(tuple(area), fill=colour, opacity=0.18, closed=True)  # type: ignore[arg-type]
    if "lines" in mode and drawn.get("width", 2):
        for part in _parts(places):
            yield Path(tuple(part), colour, 0.8 * drawn.get("width", 2), DASHES.get(drawn.get("dash", ""), ()))
    yield from _intervals(trace, xs, ys, colour)
    if "markers" in mode:
        marker = trace.get("marker") or {}
        for number, (x, y) in enumerate(places):
            if x is not None and y is not None:
                kind, size = _of(marker.get("symbol"), number, "circle"), _of(marker.get("size"), number, 7)
                yield symbol(str(kind), x, y, 0.85 * float(size), colour)  # type: ignore[arg-type]


def _parts(places: Sequence[tuple[float | None, float | None]]) -> Iterator[list[Place]]:
    part: list[Place] = []
    for x, y in places:
        if x is None or y is None:
            yield part
            part = []
        else:
            part.append((x, y))
    yield part


def _intervals(trace: Json, xs: Scale, ys: Scale, colour: str) -> Iterator[Shape]:
    for name, along in (("error_y", False), ("error_x", True)):
        bars = trace.get(name)
        for x, y, up, down in (
            zip(trace["x"], trace["y"], bars["array"], bars["arrayminus"], strict=True) if bars else ()
        ):
            value = x if along else y
            if None in (up, down, value):
                continue
            base = trace.get("base", 0) if trace.get("type") == "bar" and along == ("lying" in trace) else 0
            ends = [(xs if along else ys).place(base + value + change) for change in (-down, up)]
            other = (ys if along else xs).place(y if along else x)
            if other is not None and None not in ends:
                points = [(end, other) if along else (other, end) for end in ends]
                yield Path(tuple(points), colour, 1.2)  # type: ignore[arg-type]


def bars(traces: Sequence[Json], xs: Scale, ys: Scale, stacked: bool) -> Iterator[Shape]:
    """Bars beside or upon each other; a hatched one has strokes in it. Those that are lying have their names on the left."""
    lying = any("lying" in trace for trace in traces)
    names, values = (ys, xs) if lying else (xs, ys)
    of_name, of_value = ("y", "x") if lying else ("x", "y")
    heights: dict[str, float] = {}
    room = 0.8 * names.step if names.kind == "category" else 24.0
    width = room if stacked else room / max(1, len(traces))
    for number, trace in enumerate(traces):
        shapes = ((trace.get("marker") or {}).get("pattern") or {}).get("shape")
        for index, (name, value) in enumerate(zip(trace[of_name], trace[of_value], strict=True)):
            middle = names.place(name)
            if middle is None or value is None:
                continue
            base = heights.get(str(name), 0.0) if stacked else float(trace.get("base", 0))
            heights[str(name)] = base + value
            left = middle - room / 2 + (0 if stacked else number * width)
            foot = values.place(base) if values.number(base) is not None else values.start
            top = values.place(base + value)
            if top is None or foot is None:
                continue
            across, up = (left, left + 0.94 * width), (min(top, foot), max(top, foot))
            box = (up[0], across[0], up[1], across[1]) if lying else (across[0], up[0], across[1], up[1])
            yield rectangle(box, fill=colour_of(trace))
            if _of(shapes, index, ""):
                yield from _hatched(box)
        moved = [names.place(name) for name in trace[of_name]]
        if f"error_{of_value}" in trace and None not in moved:
            at = [m - room / 2 + (0 if stacked else number * width) + 0.47 * width for m in moved if m is not None]
            shifted = Scale(kind="linear", names=(), low=0, high=1, start=0, end=1)
            scales = (xs, shifted) if lying else (shifted, ys)
            yield from _intervals(trace | {of_name: at}, *scales, INK)


def _hatched(box: Box) -> Iterator[Shape]:
    """Strokes that rise to the right, within the box: on each of them x + y is the same."""
    left, top, right, bottom = box
    for number in range(1, int((right - left + bottom - top) / _HATCH) + 1):
        both = left + top + number * _HATCH
        low, high = max(left, both - bottom), min(right, both - top)
        yield Path(((low, both - low), (high, both - high)), "#ffffff", 1.2)


def heat(trace: Json, xs: Scale, ys: Scale) -> Iterator[Shape]:
    """The cells of a map with their numbers."""
    present = [v for row in trace["z"] for v in row if v is not None]
    low, high = trace.get("zmin", min(present, default=0)), trace.get("zmax", max(present, default=1))
    written = trace.get("text")
    for row, cells in enumerate(trace["z"]):
        for column, value in enumerate(cells):
            if value is None:
                continue
            x, y = xs.at(column), ys.at(row)
            half, up = xs.step / 2, ys.step / 2
            share = (value - low) / ((high - low) or 1.0)
            yield rectangle((x - half, y - up, x + half, y + up), fill=cividis(share), stroke="#ffffff", width=1)
            label = lines_of(written[row][column])[0] if written else ""
            if label and width_of(label, 10.5) < 2 * half - 2:
                yield Words(x, y + 4, label, 10.5, "middle", colour="#ffffff" if share < 0.55 else "#000000")


def cividis(share: float) -> str:
    """The colour of a share of the scale from 0 to 1."""
    at = min(max(share, 0.0), 1.0) * (len(_CIVIDIS) - 1)
    low = min(int(at), len(_CIVIDIS) - 2)
    mixed = (a + (at - low) * (b - a) for a, b in zip(_CIVIDIS[low], _CIVIDIS[low + 1], strict=True))
    return "#" + "".join(f"{round(c):02x}" for c in mixed)


def strips(trace: Json, xs: Scale, ys: Scale) -> Iterator[Shape]:
    """Bars that lie: from each base so far to the right, in the row of their name."""
    for base, length, name in zip(trace["base"], trace["x"], trace["y"], strict=True):
        left, right, y = xs.place(base), xs.place(base + length), ys.place(name)
        if left is not None and right is not None and y is not None:
            half = 0.35 * ys.step
            yield rectangle((left, y - half, right, y + half), fill=colour_of(trace))
