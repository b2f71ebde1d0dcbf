"""The parts of a figure, as plain data that the report draws. All values are in SI units."""

from dataclasses import dataclass
from typing import Literal

from steelyard.model.scalars import Better


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a figure. `log`: logarithmic; `ratio` in addition: a ratio of two times, with powers of two, bars start at 1."""

    title: str
    unit: str = ""
    log: bool = False
    ratio: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of points. `low` and `high` give the interval; `published`: another system's, hidden at first.

    `side`: the number of the side of the report that was measured; None in a report without other sides. `banded`: `low` and
    `high` are a band from the least to the greatest run of a group. `subject`: lines with the same one differ only in conditions
    of the measurement, such as pinning; None: unknown. `further`: not of the best condition of its side, and hidden at first.
    """

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    published: bool = False
    connected: bool = True  # False: points without a line
    side: int | None = None
    banded: bool = False
    metric: str = ""
    better: Better = "none"
    subject: str | None = None
    further: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a figure: a limit (`axis` "y") or a cache's size (`axis` "x"). `sides`: those that have it; (): all."""

    axis: Literal["x", "y"]
    at: float
    label: str
    sides: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Band:
    """A shaded part of the horizontal axis from `low` to `high`, with a label."""

    low: float
    high: float
    label: str


@dataclass(frozen=True, slots=True)
class Point:
    """A named place on a figure, as G and L on the APEX surface."""

    x: float | str
    y: float | str
    label: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Plain data of a figure: "lines" (series), "heat" or "surface" (z over x and y), "bars" (series over names), "table".

    `sides`: the names of the sides of a report that compares several, the baseline first. `shown`: the numbers of those that
    are shown at first; (): the first ones.
    """

    name: str  # a file's name: "triad-threads"
    title: str
    kind: Literal["lines", "heat", "surface", "bars", "table"]
    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    z: tuple[tuple[float | None, ...], ...] = ()  # z[row of y][column of x]
    columns: tuple[float | str, ...] = ()
    rows: tuple[float | str, ...] = ()
    value: Axis | None = None  # of z
    marks: tuple[Mark, ...] = ()
    points: tuple[Point, ...] = ()
    bands: tuple[Band, ...] = ()
    caption: str = ""
    headings: tuple[str, ...] = ()  # the headings of a table
    cells: tuple[tuple[str, ...], ...] = ()  # the rows of a table; each cell has its unit
    sides: tuple[str, ...] = ()
    shown: tuple[int, ...] = ()
