"""Where one machine lies among many: its place, and the distribution of all, for each quantity of whole machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard.compare.compared_sides import MachineCell, MachineFigure
from steelyard.model.units import quantity
from steelyard.show.report.changes import write_factor
from steelyard.show.report.range_axis import RangeAxis, make_axis

LEAST = 6  # sides: fewer are named one by one


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A side in the drawing of a quantity: its place (see `RangeAxis`), its number, and its name with its value."""

    at: float
    side: int
    label: str


@dataclass(frozen=True, kw_only=True)
class Position:
    """The place of the baseline by one quantity, and how many sides it is certainly faster and slower than.

    The drawing has the middle half of all sides as a band. `middle` is the speed against the median one.
    """

    title: str
    value: str
    place: str
    certain: tuple[str, ...]
    slowest: str
    fastest: str
    middle: str
    here: float
    half: tuple[float, float]
    dots: tuple[Dot, ...]


def find_positions(figures: Sequence[MachineFigure], names: Mapping[str, str]) -> tuple[Position, ...]:
    """Returns the position of the baseline by each quantity that at least `LEAST` sides have. `names` are by letter."""
    of_figures = [(figure, _list_speeds(figure)) for figure in figures]
    chosen = [(figure, speeds) for figure, speeds in of_figures if len(speeds) >= LEAST]
    axis = make_axis([1.0, *(speed for _, speeds in chosen for speed in speeds.values())])
    return tuple(_describe(figure, speeds, names, axis) for figure, speeds in chosen)


def count_place(figure: MachineFigure) -> str:
    """Returns "rank 3 of 30", the fastest first, for the baseline; "" if it or too many others have no value."""
    speeds = _list_speeds(figure)
    if len(speeds) < LEAST:
        return ""
    return f"rank {1 + sum(speed > 1 for speed in speeds.values())} of {len(speeds)}"


def _list_speeds(figure: MachineFigure) -> dict[int, float]:
    """Returns the speed of each side over that of the baseline, by the number of the side; empty if the baseline has none."""
    base, *others = figure.cells
    if base.value is None:
        return {}
    return {0: 1.0} | {number: cell.speed for number, cell in enumerate(others, 1) if cell.speed}


def _describe(figure: MachineFigure, speeds: dict[int, float], names: Mapping[str, str], axis: RangeAxis) -> Position:
    cells = figure.cells
    ordered = sorted(speeds, key=lambda number: speeds[number])
    calls = [cells[number].call for number in speeds]
    certain = {"faster": calls.count("SLOWER"), "slower": calls.count("FASTER")}
    values = sorted(speeds.values())
    middle = median(values)
    return Position(
        title=figure.title,
        value=_write_value(cells[0]),
        place=count_place(figure).removeprefix("rank "),
        certain=tuple(f"certainly {word} than {n}" for word, n in certain.items() if n),
        slowest=_name(cells[ordered[0]], names),
        fastest=_name(cells[ordered[-1]], names),
        middle=f"× {write_factor(1 / middle)}",
        here=axis.place(1),
        half=axis.span((values[len(values) // 4], values[-1 - len(values) // 4])),
        dots=tuple(
            Dot(at=axis.place(speeds[number]), side=number, label=_name(cells[number], names)) for number in ordered
        ),
    )


def _name(cell: MachineCell, names: Mapping[str, str]) -> str:
    return f"{names[cell.letter]}: {_write_value(cell)}"


def _write_value(cell: MachineCell) -> str:
    return quantity(cell.value.value, cell.value.unit) if cell.value else "–"
