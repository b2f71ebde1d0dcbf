"""The comparison of any number of sides with a baseline, as plain data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.compare.cause import Cause
from steelyard.compare.mix import Mix
from steelyard.compare.side import FOREIGN, Kind
from steelyard.model import Count, Level, Parameters, Scalar, Value
from steelyard.model.scalars import Call

NOT_JUDGED: Literal["NOT JUDGED"] = "NOT JUDGED"  # no interval is known, so no call is possible
SideCall = Call | Literal["NOT JUDGED"]
Differing = tuple[tuple[str, Scalar | None, Scalar | None], ...]  # parameter, value of the baseline, value of this side


@dataclass(frozen=True, kw_only=True)
class SideTitle:
    """A side and its letter. `runs` are the ids of its runs, `started` the time of the first one; `system` is its processor."""

    letter: str
    name: str
    kind: Kind
    runs: tuple[str, ...]
    started: str
    system: str

    @property
    def is_foreign(self) -> bool:
        """Returns whether Steelyard did not measure the values."""
        return self.kind in FOREIGN


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A case of one side. `ratio` is its time for the same work over that of the baseline, `low` … `high` its 95 % interval.

    `smallest` is the least relative difference of the time that would be found. `why` is the reason if no call is possible or
    the call is UNCLEAR. `call` is None for the baseline. Unknown numbers are None.
    """

    letter: str
    value: Value | None
    level: Level
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    call: SideCall | None = None
    smallest: float | None = None
    why: str = ""
    differing: Differing = ()


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """A case of the baseline, and of all sides that have it."""

    benchmark: str
    kernel: str
    parameters: Parameters
    metric: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class WholeCell:
    """The best value of a side that uses all cores of its nodes, or any of its configurations.

    `cores` are those of all `nodes`, `use` says in words how the side used them. `ratio` is as in `Cell`; `per_core` is the
    ratio of the products of time and cores. Unknown numbers are None.
    """

    letter: str
    value: Value
    nodes: Count | None
    cores: Count | None
    use: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    per_core: float | None = None
    call: SideCall | None = None


@dataclass(frozen=True, kw_only=True)
class WholeRow:
    """The sides that have a value on this number of full nodes; `nodes` None: the best configuration of each side."""

    nodes: Count | None
    cells: tuple[WholeCell, ...]


@dataclass(frozen=True, kw_only=True)
class NodeSeries:
    """What several sides did, over the numbers of full nodes. `partial` has the numbers of nodes of which a side used a part."""

    benchmark: str
    kernel: str
    parameters: Parameters
    metric: str
    rows: tuple[WholeRow, ...]
    partial: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class Total:
    """A benchmark, or a class of benchmarks (`members`), of one side against the baseline (see `wholes.Whole`).

    A comparison with published values has a ratio, but no interval.
    """

    name: str
    members: tuple[str, ...]
    cases: int
    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    call: SideCall = NOT_JUDGED
    smallest: float | None = None
    disturbed: bool = False
    why: str = ""
    rounds: int | None = None
    seconds: float | None = None
    runs: int | None = None
    mix: Mix | None = None


@dataclass(frozen=True, kw_only=True)
class CaseDifference:
    """The greatest difference of single cases of a benchmark in one direction; `further` is the number of other such cases."""

    benchmark: str
    kernel: str
    parameters: Parameters
    ratio: float
    low: float
    high: float
    call: Call
    disturbed: bool
    further: int


@dataclass(frozen=True, kw_only=True)
class OtherSide:
    """A side against the baseline.

    `cause` has the factors that differ; `conditions` are sentences on conditions in which the compared cases differ.
    `counts` has the number of cases for each call. `again` has both runs, as a user types them, that a measurement in turn takes
    to decide what is UNCLEAR, and `command` is the whole command; both are empty if that is not possible or not needed.
    """

    letter: str
    cause: Cause
    conditions: tuple[str, ...]
    classes: tuple[Total, ...]
    benchmarks: tuple[Total, ...]
    cases: tuple[CaseDifference, ...]
    counts: Mapping[str, int]
    disturbed: int
    only_baseline: int
    only_side: int
    again: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class MachineCell:
    """The value of one side, with its condition in words and its verdict; None and "" if the side has none.

    `speed` is the speed of the side over that of the baseline (of values for which less is better: the inverse ratio), with its
    95 % interval; `per_core` the same for each of the `cores` (None: unknown, or more cores do not help). `nodes` are those of a
    value that grows with their number. `power` was measured during the same case. `per_price` is the speed for the same money
    with the interval `price_low` … `price_high`, if a node and hour have a `price`, or a kilowatt hour a `price_per_kwh`. The
    latter is None if the energy does not count: both sides need the power of the same parts. `call` is None for the baseline and
    without a value of both. `now` is the call of these runs, if both sides measured the same case and another hour may differ.
    """

    letter: str
    value: Value | None = None
    condition: str = ""
    level: Level = "FOREIGN"
    speed: float | None = None
    low: float | None = None
    high: float | None = None
    cores: float | None = None
    nodes: float = 1
    per_core: float | None = None
    power: Value | None = None
    price: float | None = None
    price_per_kwh: float | None = None
    per_price: float | None = None
    price_low: float | None = None
    price_high: float | None = None
    call: SideCall | None = None
    now: Call | None = None

    def span_of(self, ratio: float) -> tuple[float, float] | None:
        """Returns the 95 % interval of a ratio that follows from the speed, such as that for each core; None without one."""
        if not self.speed or self.low is None or self.high is None:
            return None
        return self.low * ratio / self.speed, self.high * ratio / self.speed


@dataclass(frozen=True, kw_only=True)
class MachineFigure:
    """A quantity, or the time of a program with its problem, for all sides, the baseline first."""

    name: str
    title: str
    cells: tuple[MachineCell, ...]
    is_program: bool = False


@dataclass(frozen=True, kw_only=True)
class SidesComparison:
    """All sides, the baseline first, and each other side against the baseline. `rows` are empty if they were not wanted.

    `machines` compares the sides of other machines than the baseline, each at its best use.
    `full_nodes` sets full nodes beside full nodes if a side was imported.
    """

    sides: tuple[SideTitle, ...]
    others: tuple[OtherSide, ...]
    rows: tuple[CaseRow, ...]
    notes: tuple[str, ...]
    machines: tuple[MachineFigure, ...] = ()
    full_nodes: tuple[NodeSeries, ...] = ()

    @property
    def baseline(self) -> SideTitle:
        """Returns the side that the others are compared with."""
        return self.sides[0]

    def title(self, letter: str) -> SideTitle:
        """Returns the side of that letter."""
        return next(side for side in self.sides if side.letter == letter)


def list_slower_machines(figures: Iterable[MachineFigure]) -> list[tuple[str, str]]:
    """Returns the letter and the quantity of each whole machine that is certainly slower than the baseline, both undisturbed."""
    return [
        (cell.letter, figure.title)
        for figure in figures
        for cell in figure.cells
        if cell.call == "SLOWER" and "DISTURBED" not in (cell.level, figure.cells[0].level)
    ]


def list_slower(comparison: SidesComparison) -> list[str]:
    """Returns the undisturbed machines, cases, classes and benchmarks in which a side is certainly slower than the baseline."""
    slower = [f"{letter}: {name}" for letter, name in list_slower_machines(comparison.machines)]
    for other in comparison.others:
        totals = (t.name for t in (*other.classes, *other.benchmarks) if t.call == "SLOWER" and not t.disturbed)
        cases = (f"{c.benchmark} {c.kernel}" for c in other.cases if c.call == "SLOWER" and not c.disturbed)
        slower += [f"{other.letter}: {name}" for name in (*totals, *cases)]
    return slower
