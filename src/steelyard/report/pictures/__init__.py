"""The report's figures as files of their own, for papers and slides: SVG and PDF, drawn without a browser."""

import base64
import json
from collections.abc import Callable, Mapping

from markupsafe import Markup

from steelyard.report.pictures import pdf, svg
from steelyard.report.pictures.plotting import draw
from steelyard.report.pictures.scales import Json
from steelyard.report.pictures.sheet import Sheet

FORMATS: Mapping[str, Callable[[Sheet], bytes]] = {"svg": svg.write, "pdf": pdf.write}


def picture(plot: str, title: str, form: str, records: str = "{}") -> bytes:
    """A file of that format: the figure whose JSON is `plot`. `records`: JSON of what figures with a mark a record share."""
    return FORMATS[form](draw(_unfolded(json.loads(plot), records), title))


def _unfolded(plot: Json, records: str) -> Json:
    """As in figures.js: such a figure's marks have their places in `records`."""
    if "records" in plot:
        at = json.loads(records)["at"]
        for trace in plot["data"]:
            if (first := trace["meta"].get("from")) is not None:
                trace["x"] = at[first : first + len(trace["y"])]
    return plot


def embedded(plot: str, title: str, width: float, height: float) -> Markup:
    """The address of an image that a page holds in itself: `width` in CSS pixels, `height` in parts of that on the screen."""
    shown = json.loads(plot)
    shown["layout"]["height"] *= height
    drawn = svg.write(draw(shown, title, width))
    return Markup("data:image/svg+xml;base64," + base64.b64encode(drawn).decode("ascii"))
