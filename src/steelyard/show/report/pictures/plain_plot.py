"""The JSON of a page's figure in a simpler form: only visible parts, and numbers on every axis."""

import html
import json
import re
import textwrap
from collections.abc import Sequence

from steelyard.show.report.pictures.looks import Json

_SWAPPED = {"x": "y", "y": "x", "error_x": "error_y", "error_y": "error_x"}
_TURNED_NAMES = 0.28  # names below bars for each letter of the width: as many as `_thin_ticks` keeps
# The name of a limit of bars that lie: above its line.
_ABOVE: Json = {"name": "above", "xref": "x", "y": 1, "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
_LEAST_PLACES = 3  # so that a single name has no bar as wide as the figure


def read_plot(plot: str, records: str, across: int) -> tuple[list[Json], Json]:
    """Returns the traces and the layout. A surface is shown as the map of its heights.

    `across` is the number of letters that fit into the width of the figure.
    """
    found = json.loads(plot)
    data, layout = [trace for trace in found["data"] if trace.get("visible", True)], found["layout"]
    if "records" in found:  # the marks of records have their places there
        places = json.loads(records)["at"]
        for trace in data:
            if (first := trace["meta"].get("from")) is not None:
                trace["x"] = places[first : first + len(trace["y"])]
    if "scene" in layout:
        data, layout = _flatten(data[0], layout["scene"])
    for parts in ("shapes", "annotations"):
        layout[parts] = [part for part in layout.get(parts, ()) if part.get("visible", True)]
    data, layout = _lay_bars(data, layout, across)
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")) and axis.get("type") == "category":
            _number(data, layout, name, across)
    places = {x for trace in data for x in trace["x"] if x is not None}
    if len(places) == 1:
        layout["xaxis"] = {"tickvals": [*places], "ticktext": [f"{x:g}" for x in places]} | layout["xaxis"]
    return data, layout


def list_sides(trace: Json) -> list[int]:
    """Returns the side whose values the trace has: none or one."""
    side = trace.get("meta", {}).get("side")
    return [] if side is None or all(y is None for y in trace["y"]) else [side]


def _flatten(surface: Json, scene: Json) -> tuple[list[Json], Json]:
    """Returns a surface as a map whose rows and columns are all equally far apart."""
    axes = {
        f"{side}axis": scene[f"{side}axis"]
        | {"tickvals": [surface[side].index(value) for value in scene[f"{side}axis"]["tickvals"]]}
        for side in "xy"
    }
    return [surface | {"type": "heatmap"}], axes | {"height": 440}


def _lay_bars(data: list[Json], layout: Json, across: int) -> tuple[list[Json], Json]:
    """Returns many bars with long names on their side, as in the page: below them, the names would stand on end.

    Bars with limits stand as long as each of them has room for its name.
    """
    bars = [trace for trace in data if trace["type"] == "bar"]
    names = list(dict.fromkeys(str(name) for trace in bars for name in trace["x"]))
    letters = max(map(len, names), default=0) * len(names)
    limits = [*layout["shapes"], *layout["annotations"]]
    if limits and len(names) > _TURNED_NAMES * across and all(_is_level(limit) for limit in limits):
        layout = layout | {"shapes": [_raise_shape(s) for s in layout["shapes"]]}
        layout["annotations"] = [note | _ABOVE | {"x": note["y"]} for note in layout["annotations"]]
    elif len(names) < 6 or letters < 1.5 * across or limits:
        return data, layout
    turned = [{_SWAPPED.get(key, key): value for key, value in trace.items()} | {"lying": True} for trace in data]
    for trace in turned:
        trace["y"] = [name if name is None else wrap(str(name), int(0.4 * across)) for name in trace["y"]]
    lines = len(names) * max(1.5 + max(name.count("\n") for name in turned[0]["y"]), 0.5 + len(bars))
    axes = {"xaxis": layout["yaxis"], "yaxis": layout["xaxis"] | {"autorange": "reversed", "title": {}}}
    return turned, layout | axes | {"lines": lines}


def _is_level(limit: Json) -> bool:
    """Returns whether it is a line across the whole plot, or the name of one."""
    reaches = limit.get("xref") == "paper" and limit.get("yref", "y") == "y" and not limit.get("showarrow")
    return bool(reaches and limit.get("type", "line") == "line")


def _raise_shape(shape: Json) -> Json:
    return shape | {"xref": "x", "yref": "paper", "x0": shape["y0"], "x1": shape["y1"]}


def _number(data: Sequence[Json], layout: Json, name: str, across: int) -> None:
    """Replaces the names on an axis by the numbers 0, 1, …, which have the names as ticks."""
    axis, side = layout[name], name[0]
    traces = [t for t in data if side == "x" or t.get("yaxis", "y") == name.replace("axis", "")]
    present = dict.fromkeys(str(value) for t in traces for value in t[side] if value is not None)
    names = list(axis.get("categoryarray") or present)
    for trace in traces:
        trace[side] = [names.index(str(value)) if value is not None else None for value in trace[side]]
    for note in layout["annotations"]:
        if note[side] in names:
            note[side] = names.index(note[side])
    places = max(len(names), _LEAST_PLACES)
    room = int(0.8 * across / places) if side == "x" else across
    longest = max((len(word) for name in names for word in name.split()), default=0)
    labels = [wrap(name, room) for name in names] if longest <= room else names
    middle = (len(names) - 1) / 2
    axis |= {"tickvals": list(range(len(names))), "ticktext": labels}
    axis.setdefault("range", [middle - places / 2, middle + places / 2])


def plain(text: object) -> str:
    """Returns a text without the markup that Plotly reads."""
    return html.unescape(re.sub(r"<[^<>]*>", "", re.sub("<br ?/?>", " ", str(text))))


def title_of(axis: Json) -> str:
    """Returns the title of an axis or of a scale of colours."""
    return plain(axis.get("title", {}).get("text", ""))


def wrap(text: str, letters: int) -> str:
    """Returns the text in lines of at most so many letters."""
    return textwrap.fill(text, max(1, letters), break_on_hyphens=False)
