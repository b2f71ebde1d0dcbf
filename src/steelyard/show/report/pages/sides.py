"""The sides of a report: what they are, what differs between them, their classes and benchmarks, and the values of all cases."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from steelyard.compare.compared_sides import (
    NOT_JUDGED,
    MachineCell,
    OtherSide,
    SidesComparison,
    SideTitle,
)
from steelyard.model import Evaluation, Level
from steelyard.model.units import quantity, significant
from steelyard.model.words import joined, plural
from steelyard.show.report import side_table
from steelyard.show.report.call_styles import name_machine_call
from steelyard.show.report.full_node_tables import HEADINGS, NodeTable, describe_full_nodes
from steelyard.show.report.machine_table import (
    TO,
    describe_speeds,
    sum_up_prices,
    write_derived,
    write_price,
    write_speed,
)
from steelyard.show.report.names import grouped
from steelyard.show.report.positions import Position, find_positions
from steelyard.show.report.range_axis import RangeAxis, make_axis
from steelyard.show.report.ratios import and_interval
from steelyard.show.report.shown_sides import choose_sides
from steelyard.show.report.side_traces import MOST_DRAWN, MOST_SHOWN, find_place
from steelyard.show.report.sides_of_report import ReportSides

PLACE, TITLE = -1, "Comparison"  # the first page: a report with other sides was asked for because of them
SIDES = 2
MOST_NAMED = 5  # sides in a sentence
MOST_COLUMNS = 3  # sides beside each other in the table of machines; more stand below each other
KINDS = {"run": "run", "group": "group", "published": "published system", "imported": "imported run"}


@dataclass(frozen=True, kw_only=True)
class About:
    """A side: what it is, and the conditions in which it differs from the baseline.

    `alike` has the names of all sides that differ in the same way. It is empty for those after the first.
    """

    name: str
    kind: str
    what: str
    started: str
    differences: tuple[tuple[str, str, str], ...]
    conditions: tuple[str, ...]
    command: str
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MachineText:
    """A cell of the table of machines: the value with its condition and verdict, the speed relative to the baseline, the call.

    `derived` has what follows from the speed: per core, and for the same money. `at` and `ends` are the places of the speed and
    of its range in the drawing (see `RangeAxis`).
    """

    value: str
    condition: str
    level: Level
    speed: str
    call: str
    derived: str = ""
    at: float = 0.0
    ends: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class MachineRow:
    """A quantity of whole machines, with a cell for each side."""

    title: str
    cells: tuple[MachineText, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """Returns the data of the page.

    `places` are the numbers of the colours of the sides. `packed` has the tables of totals and cases. `undrawn` says which
    sides have no lines in figures. `full_nodes` are the tables of full nodes with these `headings`. `speeds` says which
    machine is faster; `equal` is the place of equal speeds in the drawings of `machines`.
    """

    baseline: str
    sides: tuple[About, ...]
    places: tuple[int, ...]
    packed: str
    cases: int
    undrawn: str
    notes: tuple[str, ...]
    machines: tuple[MachineRow, ...]
    speeds: tuple[str, ...]
    positions: tuple[Position, ...]
    in_columns: bool
    equal: float
    full_nodes: tuple[NodeTable, ...]
    headings: tuple[str, ...]


def data(evaluation: Evaluation | None, sides: ReportSides) -> Page:
    """Returns the page's data."""
    table = side_table.make_table(sides.judged, _titles(evaluation) if evaluation else {})
    return replace(describe(sides.judged.comparison), packed=table.packed, cases=table.cases)


def describe(compared: SidesComparison) -> Page:
    """Returns the data of the page without the cases."""
    by_letter = {other.letter: other for other in compared.others}
    others = [by_letter.get(side.letter) for side in compared.sides]
    shown = choose_sides(compared, MOST_SHOWN)
    cells = [cell for figure in compared.machines for cell in figure.cells]
    axis = make_axis([1.0, *(number for cell in cells for number in (cell.speed, cell.low, cell.high))])
    return Page(
        baseline=compared.baseline.name,
        sides=tuple(_join_alike(map(_describe_side, compared.sides, others))),
        places=tuple(find_place(side, shown) for side in range(len(compared.sides))),
        packed="",
        cases=0,
        undrawn=_undrawn(compared),
        notes=compared.notes,
        machines=tuple(
            MachineRow(title=f.title, cells=tuple(_describe_cell(cell, axis) for cell in f.cells))
            for f in compared.machines
        ),
        speeds=(
            *_describe_speeds(compared),
            *sum_up_prices(compared.machines, {s.letter: s.name for s in compared.sides}),
        ),
        positions=find_positions(compared.machines, {side.letter: side.name for side in compared.sides}),
        in_columns=len(compared.sides) <= MOST_COLUMNS,
        equal=axis.place(1),
        full_nodes=describe_full_nodes(compared),
        headings=HEADINGS,
    )


def _describe_speeds(compared: SidesComparison) -> tuple[str, ...]:
    """Returns at what each side is faster or slower, whole and over matching cases; then what is not certain, once."""
    names, base = {side.letter: side.name for side in compared.sides}, compared.baseline.name
    cells = compared.machines[0].cells if compared.machines else ()
    machines = {cell.letter: n for n, cell in enumerate(cells) if any(f.cells[n].speed for f in compared.machines)}
    certain, uncertain = [], dict[str, list[str]]()
    for other in compared.others:
        name, speeds, rest = names[other.letter], "", ""
        if other.letter in machines:
            speeds, rest = describe_speeds(compared.machines, machines[other.letter], name, base)
        totals = _describe_totals(other, f"Over matching cases, {name}" if machines else name, base)
        if text := " ".join(filter(None, (speeds, totals))):
            certain.append(f"{text} {rest}".rstrip())
        elif rest or any(t.call != NOT_JUDGED for t in (*other.classes, *other.benchmarks)):
            uncertain.setdefault(rest or "No certain difference.", []).append(name)
    several = {
        rest: joined(of) if len(of) <= MOST_NAMED else f"{len(of)} other sides" for rest, of in uncertain.items()
    }
    return (*certain, *(f"{base} beside {of}: {rest[0].lower()}{rest[1:]}" for rest, of in several.items()))


def _describe_totals(other: OtherSide, name: str, base: str) -> str:
    """Returns in which classes the side is certainly faster or slower, or else in which benchmarks."""
    texts = []
    for call in ("FASTER", "SLOWER"):
        totals = [t for t in other.classes if t.call == call] or [t for t in other.benchmarks if t.call == call]
        parts = [f"{t.name} (time × {and_interval(t.ratio, t.low, t.high, TO, significant)})" for t in totals]
        texts += [f"{name} is {call.lower()} than {base} at {joined(parts)}."] if parts else []
    return " ".join(texts)


def _describe_cell(cell: MachineCell, axis: RangeAxis) -> MachineText:
    described = MachineText(
        value="" if cell.value is None else quantity(cell.value.value, cell.value.unit),
        condition=cell.condition,
        level=cell.level,
        speed="",
        call=name_machine_call(cell),
    )
    if not cell.speed:
        return described
    per_core = cell.per_core if cell.per_core != cell.speed else None
    derived = [f"× {write_derived(cell, per_core)} per core"] if per_core else []
    derived += [f"× {write_price(cell)} for the same money"] if cell.per_price and cell.call else []
    return replace(
        described,
        speed=f"× {write_speed(cell)}",
        derived=", ".join(derived),
        at=axis.place(cell.speed),
        ends=axis.span((cell.low or cell.speed, cell.high or cell.speed)),
    )


def has_figures(page: Page) -> bool:
    """Returns whether the page has a figure."""
    return any(whole.figure for whole in page.full_nodes)


def _titles(evaluation: Evaluation) -> dict[str, str]:
    """Returns the titles of the benchmarks in the order of the report."""
    ordered = (name for names in grouped(evaluation.benchmarks).values() for name in names)
    return {name: evaluation.benchmarks[name].title for name in ordered}


def _describe_side(side: SideTitle, other: OtherSide | None) -> About:
    runs = plural(len(side.runs), "run") if side.kind == "group" else ""
    return About(
        name=side.name,
        kind=KINDS[side.kind],
        what=", ".join(filter(None, (runs, side.system))),
        started=side.started,
        differences=tuple((f.name, f.a, f.b) for f in other.cause.factors) if other else (),
        conditions=(*_cause(other), *other.conditions) if other else (),
        command=other.command if other else "",
    )


def _join_alike(sides: Iterable[About]) -> Iterator[About]:
    """Yields the sides; the first of those that differ from the baseline in the same way has the names of all."""
    of_way: dict[tuple[object, ...], list[str]] = {}
    base, *others = sides
    ways = [(of.kind == KINDS["published"], of.differences, of.conditions, of.command) for of in others]
    for way, side in zip(ways, others, strict=True):
        of_way.setdefault(way, []).append(side.name)
    yield base
    for way, side in zip(ways, others, strict=True):
        yield replace(side, alike=tuple(of_way.pop(way, ())))


def _cause(other: OtherSide) -> tuple[str, ...]:
    """Returns the cause of the differences from the baseline in sentences."""
    cause = other.cause
    return tuple(filter(None, (cause.sentence, cause.remedy))) if cause.kind in ("one", "confounded") else ()


def _undrawn(compared: SidesComparison) -> str:
    more = len(compared.sides) - MOST_DRAWN
    text = (
        f"The figures have lines of {MOST_DRAWN} sides, with all extremes. The other {more} sides are in these tables."
    )
    return text if more > 0 else ""
