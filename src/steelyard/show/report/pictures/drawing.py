"""Draws a figure of the report: its panels, axes and legend."""

import math
from collections.abc import Iterable, Sequence

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

from steelyard.show.report.pictures import Look
from steelyard.show.report.pictures.looks import Json
from steelyard.show.report.pictures.notes import draw_shape, separate_names, turn_slope, write_note
from steelyard.show.report.pictures.plain_plot import list_sides, plain, read_plot, title_of, wrap
from steelyard.show.report.pictures.traces import draw_values

LETTER = 0.6  # mean width of a letter, in sizes
PAGE = 720 / 96  # inches: the width for which the page's heights are made
_ENTRY = 8  # letters: the room of an entry of the legend beside its name
_LEAST = 0.5  # inches: the height of all panels
_KINDS = ("above", "value", "roof", "", "limit")  # of names, in the order in which they take their places


def draw(plot: str, look: Look, records: str, title: str, sides: int) -> Figure:
    """Returns the figure whose JSON is `plot`. Arguments as in `picture`."""
    across = int(72 * look.width / (LETTER * look.letters))
    data, layout = read_plot(plot, records, across)
    figure = Figure((look.width, PAGE + len(data) * look.letters / 36), dpi=72, layout="constrained")
    FigureCanvasAgg(figure)
    if sides > 1:
        drawn = len({side for trace in data for side in list_sides(trace)})
        title += f" ({drawn} of {sides} sides are drawn)" if 0 < drawn < sides else ""
        heading = wrap(title.replace("× ", "×\u00a0"), int(0.9 * across))
        figure.suptitle(heading, x=0.01, ha="left", weight="bold", size=look.letters)
    panels, entries, names = _make_panels(figure, layout), [], []
    for name, axes in panels.items():
        traces = [trace for trace in data if trace.get("yaxis", "y") == name]
        entries += _draw_panel(axes, name, traces, layout, across)
        names += _write_notes(axes, name, layout, across)
    if layout.get("showlegend"):
        _add_legend(figure, entries, across)
    is_map = any(trace["type"] == "heatmap" for trace in data)
    _lay_out(figure)
    _thin_ticks(axes, "x", is_map or layout["xaxis"].get("type") == "category")
    separate_names([name for name in names if name[0] == "above"])
    _lay_out(figure)
    _set_height(figure, panels.values(), layout, look)
    _lay_out(figure)
    for drawn in figure.axes:
        up = drawn.get_window_extent().height / (LETTER * look.letters)
        _thin_ticks(drawn, "y", False)
        drawn.set_ylabel(wrap(drawn.get_ylabel(), int(up)))
    _lay_out(figure)
    figure.set_layout_engine("none")  # names that move must not change the panels
    for kind, note in names:
        if kind == "slope":
            turn_slope(note)
    separate_names([name for kind in _KINDS for name in names if name[0] == kind])
    return figure


def _lay_out(figure: Figure) -> None:
    """Gives the panels all the room that their texts and the legend leave."""
    figure.get_layout_engine().execute(figure)


def _make_panels(figure: Figure, layout: Json) -> dict[str, Axes]:
    """Returns the panels by the names of their vertical axes, from the top down."""
    spans = {
        name.replace("axis", ""): axis.get("domain", (0, 1)) for name, axis in layout.items() if name[:5] == "yaxis"
    }
    names = sorted(spans, key=lambda name: -spans[name][0])
    heights = [spans[name][1] - spans[name][0] for name in names]
    panels = figure.subplots(len(names), sharex=True, squeeze=False, height_ratios=heights)
    return dict(zip(names, panels[:, 0], strict=True))


def _draw_panel(axes: Axes, name: str, traces: Sequence[Json], layout: Json, across: int) -> list[tuple[Json, Artist]]:
    """Draws what belongs to a vertical axis, and returns the traces with what shows them in the legend."""
    both = {"x": layout["xaxis"], "y": layout[f"yaxis{name[1:]}"]}
    for side, axis in both.items():
        _scale_axis(axes, side, axis)
    axes.grid("lines" in layout, axis="x")
    axes.grid("lines" not in layout and all(trace["type"] != "heatmap" for trace in traces), axis="y")
    entries = list(draw_values(axes, traces, layout.get("barmode") == "stack", across))
    for shape in layout["shapes"]:
        if shape.get("yref", "y") in {"paper", name}:
            draw_shape(axes, shape)
    for side, axis in both.items():
        _limit_axis(axes, side, axis)
    axes.set_ylabel(title_of(both["y"]))
    if axes.get_subplotspec().is_last_row():
        axes.set_xlabel(wrap(title_of(both["x"]), int(0.8 * across)))
    return entries


def _write_notes(axes: Axes, name: str, layout: Json, across: int) -> list[tuple[str, Annotation]]:
    """Writes the names in a panel, and returns them with their kinds, after those that its values have already."""
    written = [("value", text) for text in axes.texts if isinstance(text, Annotation)]
    for note in layout["annotations"]:
        kind, reference = note.get("name", ""), note.get("yref", "y").removesuffix(" domain")
        if reference != name and not (reference == "paper" and axes.get_subplotspec().is_first_row()):
            continue
        if kind == "panel":
            axes.set_title(plain(note["text"]))
        elif drawn := write_note(axes, note, across):
            written.append(("turned" if note.get("textangle") else kind, drawn))
    return sorted(written, key=lambda one: one[0] == "above" and float(one[1].xy[0]))


def _scale_axis(axes: Axes, side: str, axis: Json) -> None:
    """Sets the scale and the ticks of an axis."""
    way = getattr(axes, f"{side}axis")
    axes.set(**{f"{side}scale": "log" if axis.get("type") == "log" else "linear"})
    way.set_minor_locator(NullLocator())
    if "tickvals" in axis:
        way.set_major_locator(FixedLocator(axis["tickvals"]))
        way.set_major_formatter(FixedFormatter([plain(label) for label in axis.get("ticktext") or axis["tickvals"]]))
    elif axis.get("type") != "log":
        way.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        way.set_major_formatter(ScalarFormatter(useOffset=False))


def _limit_axis(axes: Axes, side: str, axis: Json) -> None:
    """Sets the ends of an axis: its own, or those of its values, with zero if it says so."""
    is_log = axis.get("type") == "log"
    least, greatest = getattr(axes.dataLim, f"interval{side}")
    if "range" in axis:
        axes.set(**{f"{side}lim": [10**end if is_log else end for end in axis["range"]]})
    elif axis.get("rangemode") == "tozero" and not is_log and math.isfinite(least):
        axes.set(**{f"{side}lim": (1.08 * min(least, 0), 1.08 * max(greatest, 0))})
    if axis.get("autorange") == "reversed":
        getattr(axes, f"{side}axis").set_inverted(True)


def _add_legend(figure: Figure, entries: Sequence[tuple[Json, Artist]], across: int) -> None:
    """Adds the legend below the panels, in as many columns as fit. It names only sides that are drawn."""
    sides = {side for trace, _ in entries for side in list_sides(trace)}
    shown = [
        (wrap(plain(trace["name"]), across - _ENTRY), artist)
        for trace, artist in entries
        if trace.get("name") and trace.get("showlegend", True) and trace.get("meta", {}).get("side") in {None, *sides}
    ]
    lengths = [_ENTRY + max(map(len, name.split("\n"))) for name, _ in shown]
    heights = range(1, len(shown) + 1)
    fitting = (n for n in heights if sum(max(lengths[i : i + n]) for i in range(0, len(shown), n)) <= across)
    columns = math.ceil(len(shown) / next(fitting, len(shown))) if shown else 1
    figure.legend([a for _, a in shown], [n for n, _ in shown], loc="outside lower left", ncols=columns)


def _set_height(figure: Figure, panels: Iterable[Axes], layout: Json, look: Look) -> None:
    """Sets the height of the figure: that of `look` unless its panels would vanish, or one by its content.

    Bars that lie are as high as their names. All else grows with the width, but less.
    """
    beside = figure.get_figheight() - sum(axes.get_window_extent().height for axes in panels) / 72
    lines = 1.2 * layout.get("lines", 0) * look.letters / 72
    content = lines or 0.8 * layout["height"] / 96 * (look.width / PAGE) ** 0.6
    figure.set_figheight(max(look.height, beside + _LEAST) if look.height else beside + content)


def _thin_ticks(axes: Axes, side: str, are_names: bool) -> None:
    """Leaves out those labels of an axis that would touch. Names are turned before."""
    letters = rcParams["font.size"]
    low, high = sorted(getattr(axes, f"get_{side}lim")())
    places = {label: label.get_position()["xy".index(side)] for label in getattr(axes, f"get_{side}ticklabels")()}
    parts = {label: getattr(label.get_window_extent(), f"interval{side}") for label in places}
    labels = sorted((label for label in places if low <= places[label] <= high), key=lambda label: parts[label][0])
    kept = _choose_apart([parts[label] for label in labels], letters * (0.8 if side == "x" else 0.1))
    turned: Json = {}
    if are_names and len(kept) < len(labels):
        turned = {"rotation": 35, "horizontalalignment": "right", "rotation_mode": "anchor"}
        kept = _choose_apart([(sum(parts[label]) / 2,) * 2 for label in labels], 1.3 * letters)
    if turned or len(kept) < len(labels):
        shown = [labels[number] for number in kept]
        axes.set(**{f"{side}ticks": [places[label] for label in shown]})
        getattr(axes, f"set_{side}ticklabels")([label.get_text() for label in shown], **turned)


def _choose_apart(parts: Sequence[tuple[float, float]], distance: float) -> list[int]:
    """Returns the numbers of the parts of a line that are so far apart, from the first on."""
    kept: list[int] = []
    for number, (start, _) in enumerate(parts):
        if not kept or start - parts[kept[-1]][1] >= distance:
            kept.append(number)
    return kept
