"""The unreliable values that a figure must mark, and the looks of their marks."""

from collections.abc import Iterable
from typing import Literal, Self

from steelyard.model import Evidence, Level
from steelyard.model.figure import Point
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.validity.trust import ORDER, doubtful, worst

Drawing = Literal["lines", "bars", "heat", "surface"]

HOLLOW: dict[Level, str] = {"UNSETTLED": "-open", "DISTURBED": "-open"}  # behind the name of Plotly's symbol
# Size of a mark and width of its line, in pixels: what is only roughly known is a wide ring, as on a map.
SIZES: dict[Level, tuple[float, float]] = {"CLEAN": (7, 0), "UNSETTLED": (16, 1.2), "DISTURBED": (11, 2)}
PATTERNS: dict[Level, str] = {"UNSETTLED": ".", "DISTURBED": "/"}  # of a bar
CELLS: dict[Level, str] = {"UNSETTLED": "◐", "DISTURBED": "†"}  # behind a number in a map
_LOOKS: dict[tuple[str, Level], str] = {
    ("lines", "UNSETTLED"): "Wide, thin hollow marks show",
    ("lines", "DISTURBED"): "Hollow marks show",
    ("bars", "UNSETTLED"): "Dotted bars show",
    ("bars", "DISTURBED"): "Hatched bars show",
    ("heat", "UNSETTLED"): f"A half circle ({CELLS['UNSETTLED']}) marks",
    ("heat", "DISTURBED"): f"A dagger ({CELLS['DISTURBED']}) marks",
}


class Doubtful(float):
    """An unreliable value with its verdict.

    `evidence` is that of the result whose value it is; () for a value that was computed from such ones.
    """

    level: Level
    evidence: tuple[Evidence, ...]

    def __new__(cls, value: float, level: Level, evidence: tuple[Evidence, ...] = ()) -> Self:
        made = super().__new__(cls, value)
        made.level, made.evidence = level, evidence
        return made


def graded(value: float, level: Level, evidence: tuple[Evidence, ...] = ()) -> float:
    """Returns the value, with its verdict if that needs a mark."""
    return Doubtful(value, level, evidence) if doubtful(level) else value


def level_of(value: float | None) -> Level:
    """Returns the verdict of the value; CLEAN if it needs no mark."""
    return value.level if isinstance(value, Doubtful) else "CLEAN"


def marked(value: float | None) -> str:
    """What the pointer's text ends with: ' (DISTURBED)'; '' where the value needs no mark."""
    return f" ({value.level})" if isinstance(value, Doubtful) else ""


def named(point: Point) -> str:
    """Returns the name of a point, with the sign of the worse verdict of its coordinates."""
    return signed(point.label, worst(level_of(at) for at in (point.x, point.y) if not isinstance(at, str)))


def describe(level: Level, count: int, of: int, what: str, drawing: str, why: str = "") -> str:
    """Returns how many of the drawn values have that verdict, why, and what they look like in such a figure."""
    many = f"All {of} {what} are" if 1 < count == of else f"{count} of {of} {what} {'is' if count == 1 else 'are'}"
    look = _LOOKS.get((drawing, level), "The pointer's text and the numbers below name")
    return f"{many} {level}{why}. {look} {'it' if count == 1 else 'them'}."


def among(levels: Iterable[Level]) -> list[Level]:
    """Returns the levels that need a mark, each once, in the order of trust."""
    present = set(levels)
    return [level for level in ORDER if doubtful(level) and level in present]


def notes(levels: Iterable[Level], what: str, drawing: Drawing) -> tuple[str, ...]:
    """What stands below a figure, for each level: '2 of 4 ratios are DISTURBED. Hatched bars show them.'"""
    drawn = list(levels)
    return tuple(describe(one, drawn.count(one), len(drawn), what, drawing) for one in among(drawn))
