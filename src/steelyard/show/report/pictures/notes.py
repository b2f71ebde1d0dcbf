"""The limits, shaded stretches and names of a figure. No name lies upon another."""

import math
from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from steelyard.show.report.pictures.looks import DASHES, INK, NOTE, SOFT, Json
from steelyard.show.report.pictures.plain_plot import plain, wrap

_AWAY = {"left": 0.3, "right": -0.3, "bottom": 0.25, "top": -0.25}  # sizes between a name and its place
_ABOVE_TITLE = 1.9  # sizes
_MOST_STEPS = 14


def draw_shape(axes: Axes, shape: Json) -> None:
    """Draws a limit or the size of a cache as a line, a shaded stretch, or the frame of a cell."""
    thin = 0.1 * rcParams["font.size"]
    look = {"color": NOTE, "linewidth": thin, "linestyle": DASHES.get(shape["line"].get("dash"), "-"), "zorder": 1.5}
    if shape.get("name") == "outline":
        axes.add_patch(Rectangle((shape["x0"], shape["y0"]), 1, 1, fill=False, edgecolor="#d55e00", linewidth=2 * thin))
    elif shape["type"] == "rect":
        axes.axvspan(shape["x0"], shape["x1"], color="#808080", alpha=0.18, linewidth=0)
    elif shape.get("xref") == "paper":
        axes.axhline(shape["y0"], **look)
    else:
        axes.axvline(shape["x0"], **look)


def write_note(axes: Axes, note: Json, across: int) -> Annotation | None:
    """Writes a name at its place, on the side of it that Plotly's anchors say. None if its place is beyond the axis."""
    (x, x_system), (y, y_system) = _place_note(axes, note, "x"), _place_note(axes, note, "y")
    if x_system == "data" and not axes.viewLim.x0 <= x <= axes.viewLim.x1:
        return None
    sides = {"ha": note.get("xanchor", "left"), "va": note.get("yanchor", "bottom").replace("middle", "center")}
    away = [_AWAY.get(side, 0) for side in sides.values()]
    look: Json = {"color": NOTE, "rotation": -note.get("textangle", 0), "rotation_mode": "anchor"}
    if note.get("showarrow"):
        away = [note["ax"] / 12, -note["ay"] / 12]
        look = {"color": INK, "weight": "bold", "arrowprops": {"arrowstyle": "-", "color": SOFT}}
    if note.get("name") == "above" and axes.get_title(loc="left"):
        away[1] += _ABOVE_TITLE
    return axes.annotate(
        wrap(plain(note["text"]), int(0.75 * across)), (x, y), away, (x_system, y_system), "offset fontsize", **sides, **look,
        size=0.9 * rcParams["font.size"], bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5},
        zorder=5, annotation_clip=False,
    )  # fmt: skip


def _place_note(axes: Axes, note: Json, side: str) -> tuple[float, str]:
    """Returns where a note stands on an axis, and in which coordinates."""
    if str(note.get(f"{side}ref", side)).endswith(("paper", "domain")):
        return note[side], "axes fraction"
    is_log = getattr(axes, f"get_{side}scale")() == "log"
    return (10 ** note[side] if is_log else note[side]), "data"


def separate_names(names: Sequence[tuple[str, Annotation]]) -> None:
    """Moves each name up or down to the nearest place that no name before it has; those above a plot only up."""
    taken: list[Bbox] = []
    near = sorted(range(-_MOST_STEPS, _MOST_STEPS + 1), key=lambda step: (abs(step), -step))
    for kind, note in names:
        line, box, frame = 1.2 * note.get_size(), Text.get_window_extent(note), note.axes.get_window_extent()
        across = max(0.0, frame.x0 - box.x0) - max(0.0, box.x1 - frame.x1)  # between the ends of the axis
        top, steps = (math.inf, list(range(_MOST_STEPS))) if kind == "above" else (note.figure.bbox.y1, near)
        places = [(step, box.translated(across, line * step)) for step in steps]
        inside = [(step, place) for step, place in places if frame.y0 <= place.y0 and place.y1 <= top]
        free = [(step, place) for step, place in inside if not any(map(place.overlaps, taken))]
        step, place = (*free, places[0])[0]
        note.xyann = (note.xyann[0] + across / note.get_size(), note.xyann[1] + 1.2 * step)
        taken.append(place)


def turn_slope(note: Annotation) -> None:
    """Turns the name of a roof along its line, which has the slope 1 between two logarithmic axes."""
    (x, y), (right, top) = note.axes.transData.transform([note.xy, [10 * part for part in note.xy]])
    note.set_rotation(math.degrees(math.atan2(top - y, right - x)))
