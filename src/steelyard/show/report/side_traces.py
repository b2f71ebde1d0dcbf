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
    return series.side, DASHES[dash % len(DASHES)], SYMBOLS[series.side % len(SYMBOLS)]


def described(series: Series, levels: Sequence[Level], names: Sequence[str]) -> Json:
    """Returns the part of a trace that says which side and line it is, with the verdicts of its points (`levels`).

    The browser writes the texts beside the pointer.
    """
    marked = {n: level for n, level in enumerate(levels) if doubtful(level)}
    name = text(series.name) if len(names) > 1 else ""
    meta: Json = {"colour": series.side, "side": series.side, "line": name}
    meta |= ({"levels": marked} if marked else {}) | ({"runs": True} if series.banded else {})
    return {"showlegend": False, "visible": is_shown(series), "meta": meta}


def is_shown(series: Series) -> bool:
    """Returns whether the line is shown before the reader chooses sides."""
    return series.side is None or series.side < MOST_SHOWN


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
    """Yields traces that only the legend shows: one for each side, then one for each name of a line."""
    names = line_names(figure)
    firsts = {s.side: n for n, s in reversed(list(enumerate(figure.series))) if s.side is not None}
    for side, number in sorted(firsts.items()):
        _, dash, symbol = look(figure, number, names)
        yield _entry(
            text(figure.sides[side]),
            {"colour": side, "side": side},
            "solid" if len(names) > 1 else dash,
            symbol,
            figure.kind,
        )
    if figure.kind == "lines" and len(names) > 1:
        for number, name in enumerate(names):
            yield _entry(text(name), {"ink": True}, DASHES[number % len(DASHES)], "", figure.kind)


def _entry(name: str, meta: Json, dash: str, symbol: str, kind: str) -> Json:
    shown: Json = {"name": name, "meta": meta, "hoverinfo": "skip", "x": [None], "y": [None], "type": "scatter"}
    if kind == "bars":
        return shown | {"mode": "markers", "marker": {"symbol": "square", "size": 12}}
    marks: Json = {"mode": "lines+markers", "marker": {"symbol": symbol, "size": 8}} if symbol else {"mode": "lines"}
    return shown | marks | {"line": {"dash": dash, "width": 2}}
