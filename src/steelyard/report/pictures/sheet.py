"""A drawing as plain shapes on a sheet, from which files are written. Lengths are CSS pixels, y points downwards."""

import html
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Literal

Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

# Widths of the characters 32 to 126 of Helvetica in thousandths of its size (Adobe, Font Metrics for the 14 Core Fonts).
_WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556,
    556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {"\u202f": 278, "\xa0": 278, "½": 834, "×": 584, "±": 584, "−": 584, "–": 556, "…": 1000, "∞": 713}
LINE = 1.25  # between the baselines of two lines, in sizes


@dataclass(frozen=True)
class Path:
    """A line through `points`, or an area where it is `closed`. No `stroke` or no `fill` leaves that part out."""

    points: tuple[Place, ...]
    stroke: str = ""
    width: float = 1.0
    dash: tuple[float, ...] = ()
    fill: str = ""
    opacity: float = 1.0  # of the fill
    closed: bool = False


@dataclass(frozen=True, kw_only=True)
class Disc:
    """A circle."""

    x: float
    y: float
    radius: float
    stroke: str = ""
    width: float = 1.0
    fill: str = ""


@dataclass(frozen=True)
class Words:
    """A line of text on its baseline; `angle` in degrees, clockwise."""

    x: float
    y: float
    text: str
    size: float = 12
    anchor: Literal["start", "middle", "end"] = "start"
    angle: float = 0.0
    colour: str = "#000000"
    bold: bool = False


@dataclass(frozen=True)
class Clipped:
    """Shapes of which only what lies within the box is shown."""

    box: Box
    shapes: "tuple[Shape, ...]"


Shape = Path | Disc | Words | Clipped


@dataclass
class Sheet:
    """Shapes in the order in which they are painted."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)


def width_of(text: str, size: float) -> float:
    """The width of a line of text in Helvetica of that size, in pixels."""
    return sum(map(_width, text)) * size / 1000


def _width(character: str) -> int:
    plain = unicodedata.normalize("NFD", character)[0]
    if " " <= plain <= "~":
        return _WIDTHS[ord(plain) - 32]
    return _OTHERS.get(character, 600)


def lines_of(text: str) -> list[str]:
    """The lines of a text as Plotly takes it, without its markup."""
    return [html.unescape(re.sub(r"<[^<>]*>", "", line)) for line in re.split(r"<br ?/?>", text)]


def rectangle(box: Box, **style: object) -> Path:
    """A rectangle, in the style of a Path."""
    left, top, right, bottom = box
    return Path(((left, top), (right, top), (right, bottom), (left, bottom)), closed=True, **style)  # type: ignore[arg-type]
