"""The lines of several sides in one figure: the colour and the mark say the side, the dashes say the line.

The texts beside the pointer are made in the browser from these numbers, since those of twenty sides are several megabytes.
"""

import math
from collections.abc import Iterator, Sequence

from steelyard.model import Level
from steelyard.model.figure import Axis, Figure, Series
from steelyard.show.report.axes import Json, text
from steelyard.statistics.validity.trust import doubtful

MOST_SHOWN = 7  # sides that are shown at first: as many as there are colours
MOST_DRAWN = 20  # sides that have lines in figures
ALL, BEST = "all", "best"  # traces that are drawn only with all conditions of each side, or only with the best one
DIGITS = 5  # significant digits of a drawn number

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")  # as many as Nettest has lines for each side
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")


def line_names(figure: Figure) -> list[str]:
    """Returns the names of the lines that sides have in the figure, each once."""
    return list(dict.fromkeys(series.name for series in figure.series if series.side is not None))


def look(figure: Figure, number: int, names: Sequence[str]) -> tuple[int, str, str]:
    """Returns the colour, the dashes and the mark of a line. `names` are the `line_names` of the figure.

    If each side has only one line, the dashes say the side, too.
    """
    series = figure.series[number]
    if series.side is None:
        return number, DASHES[number % len(DASHES)], SYMBOLS[number % len(SYMBOLS)]
    dash = names.index(series.name) if len(names) > 1 else series.side
    place = find_place(series.side, figure.shown)
    return place, DASHES[dash % len(DASHES)], SYMBOLS[place % len(SYMBOLS)]


def find_place(side: int, shown: Sequence[int]) -> int:
    """Returns the number of the colour and the mark of a side: those that are shown at first have the first ones."""
    if not shown:
        return side
    return shown.index(side) if side in shown else side + sum(one > side for one in shown)


def described(figure: Figure, series: Series, levels: Sequence[Level], names: Sequence[str]) -> Json:
    """Returns the part of a trace that says which side and line it is, with the verdicts of its points (`levels`).

    The browser writes the texts beside the pointer.
    """
    marked = {n: level for n, level in enumerate(levels) if doubtful(level)}
    name = text(series.name) if len(names) > 1 else ""
    meta: Json = {"colour": find_place(series.side or 0, figure.shown), "side": series.side, "line": name}
    meta |= ({"levels": marked} if marked else {}) | ({"runs": True} if series.banded else {})
    meta |= {"only": ALL} if series.further else {}
    return {"showlegend": False, "visible": is_shown(series.side, figure) and not series.further, "meta": meta}


def is_shown(side: int | None, figure: Figure) -> bool:
    """Returns whether the lines of the side are shown before the reader chooses sides."""
    return side is None or (side in figure.shown if figure.shown else side < MOST_SHOWN)


def short(values: Sequence[float | str | None]) -> list[float | str | None]:
    """Returns the numbers with `DIGITS` significant digits, and whole numbers as such."""
    numbers = [v for v in values if isinstance(v, float)]
    texts = (f"%.{DIGITS}g " * len(numbers) % tuple(numbers)).split()  # one after the other takes twice as long
    shortened = map(_shorten_number, numbers, texts)
    return [next(shortened) if isinstance(v, float) else v for v in values]


def _shorten_number(value: float, text: str) -> float | None:
    if value.is_integer() and -1e15 < value < 1e15:
        return int(value)
    return float(text) if math.isfinite(value) else None


def axes(figure: Figure, factors: tuple[float, float]) -> Json:
    """Returns what the browser needs to write a value of either axis: its title, its unit, and the factor of its numbers."""

    def written(axis: Axis, factor: float) -> list[object]:
        return [text(axis.title), axis.unit, factor]

    return {"x": written(figure.x, factors[0]), "y": written(figure.y, factors[1])}


def legend(figure: Figure) -> Iterator[Json]:
    """Yields traces that only the legend shows: one for each side, then one for each name of a line.

    If some conditions are hidden, there are two legends. A side that has one line then stands for it, too.
    """
    of_sides = [(n, series) for n, series in enumerate(figure.series) if series.side is not None]
    best = [(n, series) for n, series in of_sides if not series.further]
    if len(best) == len(of_sides):
        yield from _list_entries(figure, of_sides, "")
        return
    yield from _list_entries(figure, of_sides, ALL)
    yield from _list_entries(figure, best, BEST)


def _list_entries(figure: Figure, lines: Sequence[tuple[int, Series]], only: str) -> Iterator[Json]:
    names, firsts = line_names(figure), {series.side: n for n, series in reversed(lines)}
    single = only == BEST and len(firsts) == len(lines)
    differ = len({series.name for _, series in lines}) > 1
    for side, number in sorted(firsts.items(), key=lambda item: item[0] or 0):
        place, dash, symbol = look(figure, number, names)
        line = figure.series[number]
        named = single and differ and line.name != line.metric
        name = figure.sides[side or 0] + (f" ({line.name})" if named else "")
        dash = dash if single or len(names) == 1 else "solid"
        yield _entry(text(name), {"colour": place, "side": side}, dash, symbol, figure.kind, only)
    if figure.kind == "lines" and len(names) > 1 and not single:
        for number, name in enumerate(names):
            if any(series.name == name for _, series in lines):
                yield _entry(text(name), {"ink": True}, DASHES[number % len(DASHES)], "", figure.kind, only)


def _entry(name: str, meta: Json, dash: str, symbol: str, kind: str, only: str) -> Json:
    shown: Json = {"name": name, "meta": meta, "hoverinfo": "skip", "x": [None], "y": [None], "type": "scatter"}
    shown |= {"meta": meta | {"only": only}, "visible": only != ALL} if only else {}
    if kind == "bars":
        return shown | {"mode": "markers", "marker": {"symbol": "square", "size": 12}}
    marks: Json = {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 8}} if symbol else {"mode": "lines"}
    return shown | marks | {"line": {"dash": dash, "width": 2}}
