"""A system of the library as a side of a comparison, with the cases of Steelyard that its figures correspond to."""

from steelyard.compare.classes import Class, find_class_of
from steelyard.compare.side import Side, SideCase, SideRun
from steelyard.measure.benchmarks import texts
from steelyard.measure.published import system_library
from steelyard.measure.published.our_case import HOSTS, SPREAD, SPREAD_ENDING, OurCase
from steelyard.measure.published.system import Figure, System
from steelyard.measure.published.system_reader import expect_known
from steelyard.model import Limit, Value
from steelyard.model.scalars import Better
from steelyard.model.units import LOWER


def find_side(name: str) -> Side | None:
    """Returns the system of that name, the only one whose name contains it, or that of a file ".toml"; None without one.

    UsageError if a file cannot be read.
    """
    system = find_known(name)
    return make_side(system) if system else None


def find_known(name: str) -> System | None:
    """Returns the system (see `find_side`). UsageError also if a file names a benchmark that does not exist."""
    system = system_library.find_system(name)
    if system and system.path:
        expect_known(system, texts.list_own())
    return system


def make_side(system: System) -> Side:
    """Returns the system as a side. Figures without a case of Steelyard are counted in a note."""
    without = sum(not figure.cases for figure in system.figures)
    notes = [f"Published in: {system.source}."]
    if without:
        notes.append(
            f"{without} of {len(system.figures)} published figures correspond to no case of Steelyard. "
            f"To see why: steelyard systems '{system.name}'"
        )
    run = SideRun(
        run=system.name,
        path=system.path,
        started="",
        finished=True,
        machine=None,
        facts={},
        cases=tuple(make_case(figure, case) for figure in system.figures for case in figure.cases),
        notes=tuple(notes),
        cores=system.cores,
    )
    return Side(name=system.name, kind="published", runs=(run,))


def make_case(figure: Figure, case: OurCase) -> SideCase:
    """Returns a printed figure as the case of Steelyard that it corresponds to."""
    spread = case.statistic.startswith(SPREAD)
    metric = case.metric + SPREAD_ENDING if spread else case.metric
    better: Better = "lower" if spread or figure.unit in LOWER else "higher"
    kind: Class = find_class_of(case.benchmark, case.parameters, figure.unit)
    return SideCase(
        benchmark=case.benchmark,
        kernel=case.kernel,
        parameters=case.parameters,
        kind=kind,
        metrics={metric: Value(figure.value * case.share, figure.unit, None, None, better)},
        level="FOREIGN",
        statistic=case.statistic,
        note=case.note,
        remark=figure.note,
        limit=Limit(figure.limit * case.share, figure.unit, "as printed") if figure.limit else None,
        hosts=hosts if isinstance(hosts := case.parameters.get(HOSTS, 0), int) else 0,
    )
