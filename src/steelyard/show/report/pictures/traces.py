"""The values of a figure: lines with bands and intervals, marks, bars, and the cells of a map."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from steelyard.show.report.pictures.looks import HATCHES, INK, Json, colour_of, line_of, mark_of
from steelyard.show.report.pictures.plain_plot import plain, title_of

_USUAL = 7  # pixels of the page: the size of a mark


def draw_values(axes: Axes, traces: Sequence[Json], stacked: bool, across: int) -> Iterator[tuple[Json, Artist]]:
    """Draws the traces of a panel, and yields each of them with what shows it in the legend.

    `stacked`: bars stand upon each other. `across` is the number of letters that fit into the width of the figure.
    """
    bars = [trace for trace in traces if trace["type"] == "bar" and "orientation" not in trace]
    _draw_bars(axes, bars, stacked)
    before: Json = {}
    for trace in traces:
        if trace["type"] == "heatmap":
            _draw_cells(axes, trace, across)
        elif trace["type"] == "scatter":
            yield trace, _draw_line(axes, trace, before)
        else:
            if "orientation" in trace:
                axes.barh(trace["y"], trace["x"], 0.7, trace["base"], color=colour_of(trace))
            yield trace, Patch(color=colour_of(trace), linewidth=0)
        before = trace


def _draw_line(axes: Axes, trace: Json, before: Json) -> Artist:
    """Draws a line with its intervals and marks. One that is filled has an area down to the line `before` it."""
    letters = rcParams["font.size"]
    xs, ys, look = _numbers(trace["x"]), _numbers(trace["y"]), line_of(trace, letters)
    if trace.get("fill") == "tonexty":
        axes.fill_between(xs, _numbers(before["y"]), ys, color=look["color"], alpha=0.18, linewidth=0)
    if errors := _errors(trace):
        axes.errorbar(xs, ys, **errors, fmt="none", ecolor=look["color"], elinewidth=0.1 * letters)
    for x, y, name in zip(xs, ys, trace.get("text", ()), strict=False):
        axes.annotate(plain(name), (x, y), (0.4, 0.4), textcoords="offset fontsize", size=0.85 * letters)
    if "markers" not in trace.get("mode", "lines+markers"):
        return axes.plot(xs, ys, **look)[0]
    symbols, sizes = (_repeat(trace["marker"].get(key), len(xs)) for key in ("symbol", "size"))
    places = defaultdict(list)
    for place, mark in enumerate(zip(symbols, sizes, strict=True)):
        places[mark].append(place)
    # The line is drawn with the usual, filled mark. The marks of unreliable values are drawn over it.
    several = isinstance(trace["marker"].get("symbol"), list)
    usual = (symbols[0].removesuffix("-open") if several else symbols[0], _USUAL)
    drawn = axes.plot(xs, ys, **look | mark_of(trace, *usual, letters), markevery=places.pop(usual, []))
    for mark, some in places.items():
        axes.plot(xs[some], ys[some], linestyle="none", **mark_of(trace, *mark, letters), zorder=3)
    return drawn[0]


def _draw_bars(axes: Axes, traces: Sequence[Json], stacked: bool) -> None:
    """Draws bars beside each other, or upon each other if `stacked`."""
    width = 0.8 if stacked else 0.8 / max(1, len(traces))
    tops: dict[float, float] = defaultdict(float)
    for number, trace in enumerate(traces):
        lying = "lying" in trace
        names, values = (_numbers(trace[side]) for side in ("yx" if lying else "xy"))
        feet = [tops[name] for name in names] if stacked else trace.get("base", 0)
        for name, value in zip(names, np.nan_to_num(values), strict=True):
            tops[name] += value
        beside = 0 if stacked else (number - (len(traces) - 1) / 2) * width
        patterns = _repeat(trace.get("marker", {}).get("pattern", {}).get("shape"), len(names))
        look = {"color": colour_of(trace), "edgecolor": "white", "linewidth": 0, **_errors(trace)}
        look |= {"hatch": [HATCHES.get(p, "") for p in patterns], "error_kw": {"ecolor": INK, "elinewidth": width}}
        (axes.barh if lying else axes.bar)(names + beside, np.nan_to_num(values), 0.94 * width, feet, **look)


def _draw_cells(axes: Axes, trace: Json, across: int) -> None:
    """Draws the cells of a map with their numbers if these fit, and the scale of its colours."""
    heights = np.ma.masked_invalid([_numbers(row) for row in trace["z"]])
    rows, columns = heights.shape
    edges, ends = (np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5), (trace.get("zmin"), trace.get("zmax"))
    cells = axes.pcolormesh(
        *edges, heights, cmap="cividis", edgecolors="white", linewidth=0.5, vmin=ends[0], vmax=ends[1]
    )
    bar = axes.figure.colorbar(cells, ax=axes, aspect=30, pad=0.02, label=title_of(trace["colorbar"]))
    bar.outline.set_visible(False)
    if "tickvals" in trace["colorbar"]:
        bar.set_ticks(trace["colorbar"]["tickvals"], labels=[plain(label) for label in trace["colorbar"]["ticktext"]])
    texts = [[plain(name) for name in names] for names in trace.get("text") or ()]
    if columns * max((len(name) for names in texts for name in names), default=0) > 0.6 * across:
        return
    for row, names in enumerate(texts):
        for column, name in ((column, name) for column, name in enumerate(names) if name):
            colour = "white" if cells.norm(heights[row, column]) < 0.55 else "black"
            axes.text(column, row, name, color=colour, size=0.85 * rcParams["font.size"], ha="center", va="center")


def _numbers(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _errors(trace: Json) -> Json:
    """Returns the lengths of the intervals in either direction."""
    bars = {f"{side}err": trace[f"error_{side}"] for side in "xy" if f"error_{side}" in trace}
    return {name: [_numbers(ends["arrayminus"]), _numbers(ends["array"])] for name, ends in bars.items()}


def _repeat(value: Any, count: int) -> list[Any]:
    """Returns what stands for each of so many points."""
    return value if isinstance(value, list) else [value] * count
