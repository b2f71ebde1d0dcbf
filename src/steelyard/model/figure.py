"""The nouns of a figure: frozen dataclasses of plain data, which the report draws. SI units throughout."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a figure. `log` where decades matter; `ratio`, beside it, of two times: powers of two, and bars from 1."""

    title: str
    unit: str = ""
    log: bool = False
    ratio: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of points. `low`/`high` draw the interval; `published` is another system's, off at first."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    published: bool = False
    connected: bool = True  # False: the points are no trend, and are not joined


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a figure: a limit (`axis` "y") or a cache's size (`axis` "x")."""

    axis: Literal["x", "y"]
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Band:
    """A shaded stretch of the horizontal axis, `low` … `high`, in which something holds that `label` says."""

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
    """Plain data of a figure: "lines" (series), "heat" or "surface" (z over x and y), "bars" (series over names), "table"."""

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
    headings: tuple[str, ...] = ()  # of a table
    cells: tuple[tuple[str, ...], ...] = ()  # of a table: its rows, with their units
