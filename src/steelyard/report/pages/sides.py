"""The sides of a report: what they are, what differs between them, their classes and benchmarks, and the values of all cases."""

from dataclasses import dataclass

from steelyard.compare.compared_sides import OtherSide, SidesComparison, SideTitle
from steelyard.model import Evaluation
from steelyard.report import side_table
from steelyard.report.names import grouped
from steelyard.report.side_traces import MOST_DRAWN
from steelyard.report.sides_of_report import ReportSides
from steelyard.words import plural

PLACE, TITLE = 14, "Sides"
SIDES = 2
KINDS = {"run": "run", "group": "group", "published": "published system", "imported": "imported run"}


@dataclass(frozen=True, kw_only=True)
class About:
    """A side: what it is, and the conditions in which it differs from the baseline."""

    name: str
    kind: str
    what: str
    started: str
    differences: tuple[tuple[str, str, str], ...]
    conditions: tuple[str, ...]
    command: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """Returns the data of the page.

    `packed` has the tables of totals and cases. `undrawn` says which sides have no lines in figures.
    """

    baseline: str
    sides: tuple[About, ...]
    packed: str
    cases: int
    undrawn: str
    notes: tuple[str, ...]


def data(evaluation: Evaluation | None, sides: ReportSides) -> Page:
    """Returns the page's data."""
    compared = sides.judged.comparison
    titles = _titles(evaluation) if evaluation else {}
    table = side_table.make_table(sides.judged, titles)
    by_letter = {other.letter: other for other in compared.others}
    others = [by_letter.get(side.letter) for side in compared.sides]
    return Page(
        baseline=compared.baseline.name,
        sides=tuple(map(_about, compared.sides, others)),
        packed=table.packed,
        cases=table.cases,
        undrawn=_undrawn(compared),
        notes=compared.notes,
    )


def _titles(evaluation: Evaluation) -> dict[str, str]:
    """Returns the titles of the benchmarks in the order of the report."""
    ordered = (name for names in grouped(evaluation.benchmarks).values() for name in names)
    return {name: evaluation.benchmarks[name].title for name in ordered}


def _about(side: SideTitle, other: OtherSide | None) -> About:
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


def _cause(other: OtherSide) -> tuple[str, ...]:
    """Returns the cause of the differences from the baseline in sentences."""
    cause = other.cause
    return tuple(filter(None, (cause.sentence, cause.remedy))) if cause.kind in ("one", "confounded") else ()


def _undrawn(compared: SidesComparison) -> str:
    more = len(compared.sides) - MOST_DRAWN
    if more <= 0:
        return ""
    return f"The figures have lines for the first {MOST_DRAWN} sides only. The other {more} sides are in these tables."
