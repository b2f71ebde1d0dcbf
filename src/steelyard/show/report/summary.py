"""A run in a few figures: what the screen, the list of runs and `show --json` say of it, without its records."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from steelyard.model import Condition, Count, Finding, Level, Limit, Machine, Parameters, Value
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.evidence import sentence
from steelyard.model.plain import to_plain
from steelyard.show.report import condition as conditions
from steelyard.show.report.alternative import Alternative
from steelyard.show.report.benchmark_table import CaseTable
from steelyard.show.report.values import Shown
from steelyard.statistics.results.parameters import number

if TYPE_CHECKING:
    from steelyard.compare.standing import Standing

VECTORS = 3  # of Triad, each of 8 bytes an element
LEFT_OUT = ("path", "machine_sentence", "budget", "tables")  # of --json


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A main figure (see `headline.Headline`), and of which case it is. `energy`: its power and energies by their names."""

    name: str
    title: str
    conditions: str
    benchmark: str
    kernel: str
    metric: str
    parameters: Parameters
    hosts: Count
    value: Value | None
    limit: Limit | None
    shown: Shown
    why: str
    doubted: bool
    energy: Mapping[str, Value]
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnergy:
    """The energy of a run (J) with its scope, its mean power and that of the idle machine (W), and their source.

    `idle` is None if it is not known or other processes were busy. `absent` names the parts of the machine that no sensor covers,
    `uncovered` the cases that have no energy for this reason, and `doubt` the sensors that contradict each other.
    """

    source: str
    modelled: bool
    energy: Value
    power: float
    idle: float | None
    absent: str = ""
    uncovered: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run judged. `cases` were planned, `measured` have a record; `machine_sentence` describes the machine.

    `variants` has what each variant changes, by its name; `mpi_settings`: what steers the ranks besides the plan. `left_out` has
    by benchmark the cases that the budget (seconds) leaves out, or that the run has not reached. `verdicts` counts the results of
    each level, `reasons` the causes of two of these, `benchmarks` the results of each benchmark. `tables` are those of a run of
    few benchmarks.
    """

    run: str
    path: str
    started: str
    finished: bool
    preset: str
    versions: Mapping[str, str]
    machine: Machine
    machine_sentence: str
    toolchains: tuple[str, ...]
    mpis: tuple[str, ...]
    variants: Mapping[str, str]
    mpi_settings: str
    cases: Count
    measured: Count
    budget: float | None
    left_out: Mapping[str, Count]
    verdicts: Mapping[Level, Count]
    reasons: Mapping[Level, Mapping[str, Count]]
    condition: Condition
    known: Mapping[conditions.Known, Count]
    benchmarks: Mapping[str, Mapping[Level, Count]]
    figures: tuple[Figure, ...]
    tables: tuple[CaseTable, ...]
    energy: RunEnergy | None
    findings: tuple[Finding, ...]


def name_machine(machine: Machine) -> str:
    """Returns the name under which the runs of a machine belong together."""
    return machine.host or machine.system


def list_values(summary: Summary) -> dict[tuple[str, ...], tuple[Figure, float]]:
    """Returns the main figures that can be compared with those of other runs, with their values, by figure and conditions."""
    return {
        (figure.name, figure.benchmark, figure.kernel, figure.metric, value.unit, figure.conditions): (
            figure,
            value.value,
        )
        for figure in summary.figures
        if (value := figure.value) is not None and figure.shown.value and 0 < value.value < math.inf
    }


def find_standings(figures: Iterable[Figure], machine: Machine) -> "list[Standing | None]":
    """Returns for each figure whether its value is good; None if nothing is known about such values, or for one of a cache.

    It is not a part of the summary, which is stored, because the user's library of systems may change.
    """

    return [None if _is_of_cache(figure, machine) else _find_standing(figure, machine) for figure in figures]


def _is_of_cache(figure: Figure, machine: Machine) -> bool:
    elements, threads = number(figure.parameters.get("elements")), number(figure.parameters.get("threads")) or 1
    size = number(figure.parameters.get("bytes")) or VECTORS * 8 * (elements or 0)
    return size > 0 and level_of(size, int(threads), machine) not in (MEMORY, None)


def _find_standing(figure: Figure, machine: Machine) -> "Standing | None":
    from steelyard.compare import standing
    from steelyard.compare.classes import find_class_of
    from steelyard.compare.quantities import find_quantity, make_reading
    from steelyard.compare.side import SideCase

    value = figure.value
    if value is None or not figure.shown.value or figure.shown.above or not 0 < value.value < math.inf:
        return None
    case = SideCase(
        benchmark=figure.benchmark,
        kernel=figure.kernel,
        parameters=figure.parameters,
        kind=find_class_of(figure.benchmark, figure.parameters, value.unit),
        metrics={figure.metric: value},
        level=figure.shown.level,
        limit=figure.limit,
        hosts=figure.hosts,
    )
    one = find_quantity(case, figure.metric)
    reading = make_reading(one.name, one.title, case, value) if one else None
    return standing.find_standing(reading, standing.describe(machine, reading)) if reading else None


def figures_as_json(run_summary: Summary) -> list[dict[str, Any]]:
    """Returns the main figures as plain data. `text` is the value on the screen, `standing` the answer to "is that good?"."""
    standings = find_standings(run_summary.figures, run_summary.machine)
    return [
        {
            "name": f.name,
            "title": f.title,
            "conditions": f.conditions,
            "benchmark": f.benchmark,
            "kernel": f.kernel,
            "parameters": dict(f.parameters),
            "value": to_plain(f.value),
            "text": f.shown.marked,
            "share_of_limit": f.shown.share,
            "verdict": f.shown.level,
            "evidence": list(map(sentence, f.shown.evidence)),
            "doubted": f.doubted,
            "energy": to_plain(f.energy),
            "alternatives": list(map(_alternative_as_json, f.alternatives)),
            "standing": to_plain(one) | {"reason": one.reason} if one else None,
        }
        for f, one in zip(run_summary.figures, standings, strict=True)
    ]


def _alternative_as_json(alternative: Alternative) -> dict[str, Any]:
    return {
        "name": alternative.name,
        "value": to_plain(alternative.value),
        "text": alternative.shown.marked,
        "verdict": alternative.shown.level,
        "time_ratio": to_plain(alternative.time_ratio),
        "call": alternative.call,
        "energy": to_plain(alternative.energy),
    }


def as_json(run_summary: Summary) -> dict[str, Any]:
    """Returns plain data of less than 1 MB for any run, without cases and samples."""
    names = [field.name for field in fields(run_summary) if field.name not in LEFT_OUT]
    plain = {name: to_plain(getattr(run_summary, name)) for name in names}
    return plain | {"figures": figures_as_json(run_summary)}
