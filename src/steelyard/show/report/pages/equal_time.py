"""The needs of the other sides for the time of the first one, the sides at equal ranks, and time against energy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.compare.equal_time import EqualRanks, EqualTime, EqualTimes, compare_sides
from steelyard.compare.needs import Needs
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Level
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.show.report import drawing, figures
from steelyard.show.report.axes import Json, text
from steelyard.show.report.equal_time_rows import (
    cells,
    counted,
    list_further,
    mean_sentence,
    name_of,
    ordered,
    prices,
    sentence,
    with_interval,
)
from steelyard.show.report.side_traces import MOST_DRAWN
from steelyard.show.report.sides_of_report import ReportSides

PLACE, TITLE = 62, "Equal time"
SIDES = 2

HEADINGS = ("Ranks or threads", "Nodes", "Time", "Mean power", "Energy", "Rack units")
PRODUCTS = tuple(2.0**power for power in range(-8, 9))  # energy × time over that of the first side: lines of the figure
ROOM = 1.1  # factor beyond the outermost ticks
INK = 6  # the palettes' last colour
CAPTION = (
    "Points to the left of 1 are faster than {base}. Points below 1 need less energy. On a dotted line, the product of energy "
    "and time is the same: a system may need more energy if it is faster by the same factor."
)
ONLY = "This page shows only the first {shown} of {all} sides. To compare two others, run: steelyard compare A B --equal-time"


@dataclass(frozen=True)
class Line:
    """A side with its cells as in `HEADINGS`, its prices in words, and its verdict; a published value has none."""

    side: str
    cells: tuple[str, ...]
    prices: str
    level: Level | None


@dataclass(frozen=True)
class Section:
    """A program: both sides, and the answer in words."""

    program: str
    lines: tuple[Line, ...]
    answer: str


@dataclass(frozen=True)
class Ranks:
    """A program at equal ranks: its name, the number, the other side, and the ratios of time and energy."""

    program: str
    count: str
    side: str
    time: str
    energy: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page's data; `figure` is None if no energy is known."""

    base: str
    headings: tuple[str, ...]
    sections: tuple[Section, ...]
    means: tuple[str, ...]
    ranks: tuple[Ranks, ...]
    figure: drawing.Drawn | None
    notes: tuple[str, ...]


def data(evaluation: Evaluation | None, sides: ReportSides) -> Page | None:
    """Returns the page's data; None if no program was run with the same input on the first side and another one."""
    from steelyard.compare.equipment import read_equipment

    shown = sides.sides[:MOST_DRAWN]
    try:
        page = describe(compare_sides(shown, read_equipment((), shown)))
    except UsageError:
        return None
    if len(shown) == len(sides.sides):
        return page
    return replace(page, notes=(*page.notes, ONLY.format(shown=len(shown), all=len(sides.sides))))


def describe(compared: EqualTimes) -> Page:
    """Returns the page of a comparison."""
    return Page(
        base=compared.base,
        headings=HEADINGS,
        sections=tuple(map(_section, ordered(compared.rows))),
        means=tuple(map(mean_sentence, compared.means)),
        ranks=tuple(map(_ranks, compared.ranks)),
        figure=_figure(compared),
        notes=compared.notes,
    )


def has_figures(page: Page) -> bool:
    """Returns whether the page has a figure."""
    return page.figure is not None


def _section(row: EqualTime) -> Section:
    return Section(name_of(row), tuple(map(_line, (row.base, row.other))), sentence(row))


def _line(needs: Needs) -> Line:
    return Line(needs.side, cells(needs), prices(needs), None if needs.level == "FOREIGN" else needs.level)


def _ranks(row: EqualRanks) -> Ranks:
    energy = with_interval(row.energy) if row.energy else "–"
    return Ranks(name_of(row), counted(row.count, row.unit), row.other.side, with_interval(row.time), energy)


# --------------------------------------------------------------------------- time against energy


def _figure(compared: EqualTimes) -> drawing.Drawn | None:
    rows = _select_drawn_rows(compared)
    if not rows:
        return None
    figure = Figure(
        name="equal-time-energy",
        title=f"Energy against time, both divided by those of {compared.base}",
        kind="lines",
        x=Axis(f"time / time on {compared.base}", log=True, ratio=True),
        y=Axis(f"energy / energy on {compared.base}", log=True, ratio=True),
        series=tuple(_series(name, of) for name, of in rows.items()),
        marks=(Mark("x", 1.0, ""), Mark("y", 1.0, "")),
        caption=CAPTION.format(base=compared.base),
    )
    plot = figures.plotly(figure)
    _add_points(plot, list(rows.values()), compared.sides)
    _add_products(plot, list(rows.values()))
    plot["layout"] |= {"height": 460, "showlegend": True}
    return drawing.with_plot("equal-time-energy", figure, plot, ("Side", "Program", "Time", "Energy"), _numbers(rows))


def _select_drawn_rows(compared: EqualTimes) -> dict[str, list[EqualTime | EqualRanks]]:
    """Returns the rows with an energy of each side at equal time, otherwise measured, and at equal ranks, by the series' name."""
    rows: dict[str, list[EqualTime | EqualRanks]] = {}
    for row in compared.rows:
        what = "nearest measured time" if row.reached.how in ("fewer", "more") else "at equal time"
        rows.setdefault(f"{row.other.side}, {what}", []).append(row)
    for further in list_further(compared):
        rows.setdefault(f"{further.other.side}, at equal ranks", []).append(further)
    with_energy = {name: [row for row in of if row.energy] for name, of in rows.items()}
    return {name: of for name, of in with_energy.items() if of}


def _series(name: str, rows: Sequence[EqualTime | EqualRanks]) -> Series:
    energies = [row.energy for row in rows if row.energy]
    return Series(
        name,
        tuple(row.time.value for row in rows),
        tuple(energy.value for energy in energies),
        tuple(energy.low for energy in energies),
        tuple(energy.high for energy in energies),
        connected=False,
    )


def _numbers(rows: Mapping[str, Sequence[EqualTime | EqualRanks]]) -> Iterator[tuple[str, ...]]:
    for name, of in rows.items():
        for row in of:
            if row.energy:
                yield (name, name_of(row), with_interval(row.time), with_interval(row.energy))


def _add_points(plot: Json, rows: Sequence[Sequence[EqualTime | EqualRanks]], sides: Sequence[str]) -> None:
    """Adds the intervals of the times and the names of the programs to the points, in the colour of their side."""
    for trace, of_trace in zip(plot["data"], rows, strict=True):
        up = [(row.time.high or row.time.value) - row.time.value for row in of_trace]
        down = [row.time.value - (row.time.low or row.time.value) for row in of_trace]
        trace["meta"]["colour"] = sides.index(of_trace[0].other.side)
        trace["error_x"] = trace["error_y"] | {"array": up, "arrayminus": down}
        trace |= {"mode": "markers+text", "text": [text(row.program) for row in of_trace], "textposition": "top right"}
        trace |= {"textfont": {"size": 11}, "cliponaxis": False}


def _add_products(plot: Json, rows: Sequence[Sequence[EqualTime | EqualRanks]]) -> None:
    """Adds the lines of equal energy × time that cross the figure, each with its product, and ticks at powers of two."""
    times = [end for of in rows for row in of for end in (row.time.low, row.time.value, row.time.high) if end]
    energies = [end for of in rows for row in of if (e := row.energy) for end in (e.low, e.value, e.high) if end]
    (left, right), (low, high) = (
        _ticks(plot["layout"][name], of) for name, of in (("xaxis", times), ("yaxis", energies))
    )
    for product in PRODUCTS:
        first, last = max(left, product / high), min(right, product / low)
        if first < last:
            line = {"type": "scatter", "mode": "lines", "line": {"dash": "dot", "width": 1.2}, "hoverinfo": "skip"}
            ends = {"x": [first, last], "y": [product / first, product / last]}
            plot["data"].insert(0, {**line, **ends, "showlegend": False, "meta": {"colour": INK}})
            place = {"x": math.log10(last), "y": math.log10(product / last), "xanchor": "right", "yanchor": "bottom"}
            note = {"text": text(f"product {product:g}"), "showarrow": False, "font": {"size": 11}}
            plot["layout"]["annotations"].append(place | note)


def _ticks(axis: Json, values: Sequence[float]) -> tuple[float, float]:
    """Gives the axis the powers of two around the values and 1 as ticks; returns its ends."""
    first, last = math.floor(math.log2(min(*values, 0.9))), math.ceil(math.log2(max(*values, 1.1)))
    ticks = [2.0**power for power in range(first, last + 1)]
    axis |= {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    axis["range"] = [math.log10(ticks[0] / ROOM), math.log10(ticks[-1] * ROOM)]
    return ticks[0] / ROOM, ticks[-1] * ROOM
