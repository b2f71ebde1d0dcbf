"""A run in a few figures: what the screen, the list of runs and `show --json` say of it, without its records."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.measure.plan import mpi_in_effect
from steelyard.measure.plan.variants import meanings
from steelyard.model import Condition, Count, Evaluation, Finding, Level, Limit, Machine, Parameters, Result, Run, Value
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.evidence import sentence
from steelyard.model.mpi_settings import describe, is_of_user
from steelyard.model.plain import to_plain
from steelyard.show.report import condition as conditions
from steelyard.show.report import values
from steelyard.show.report.case_tables import CaseTable
from steelyard.show.report.compared_figures import Alternative
from steelyard.show.report.values import Shown
from steelyard.statistics.results.attempts import list_attempts
from steelyard.statistics.results.parameters import number

if TYPE_CHECKING:
    from steelyard.compare.standing import Hardware, Standing
    from steelyard.show.report.headline import Headline

VECTORS = 3  # of Triad, each of 8 bytes an element
REASONS: tuple[Level, ...] = ("DISTURBED", "UNSETTLED")  # the verdicts whose reasons are counted


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


def summarised(evaluation: Evaluation) -> Summary:
    """Returns the summary of an evaluation."""
    from steelyard.show.report import case_tables, sentences
    from steelyard.show.report.headline import headlines

    run, results = evaluation.run, evaluation.results
    groups = {name: tuple(r for r in results if r.benchmark == name) for name in sorted({r.benchmark for r in results})}
    return Summary(
        run=run.id,
        path=run.path,
        started=run.started,
        finished=run.finished,
        preset=run.plan.preset,
        versions=run.versions,
        machine=run.machine,
        machine_sentence=sentences.machine(evaluation),
        toolchains=_sort_names((launch.toolchain for launch in run.plan.launches), run.toolchains),
        mpis=tuple(dict.fromkeys(str(r.parameters["mpi"]) for r in results if "mpi" in r.parameters)),
        variants=meanings(run.site.variants),
        mpi_settings=describe(filter(is_of_user, mpi_in_effect.list_of_run(run) or ())),
        cases=sum(len(launch.cases) for launch in run.plan.launches),
        measured=len(run.records) - sum(attempt.attempt > 1 for attempt in list_attempts(results)),
        budget=run.budget,
        left_out=_count_left_out(run, results),
        verdicts=values.counts(results),
        reasons={level: _reasons(evaluation, level) for level in REASONS},
        condition=evaluation.condition,
        known=conditions.known(results),
        benchmarks={name: {k: n for k, n in values.counts(members).items() if n} for name, members in groups.items()},
        figures=tuple(map(make_figure, headlines(evaluation))),
        tables=case_tables.tables(evaluation),
        energy=_energy(evaluation),
        findings=evaluation.findings,
    )


def _count_left_out(run: Run, results: Iterable[Result]) -> dict[str, int]:
    """Returns the cases of each benchmark that the plan leaves out, and those that the run has not reached, finished or not."""
    missing = Counter(run.plan.left_out)
    if run.budget is not None or not run.finished:
        planned = Counter(c.benchmark for x in run.plan.launches if x.repetition == 1 for c in x.cases)
        planned.subtract(Counter(r.benchmark for r in results))
        missing += +planned
    return {name: number for name, number in missing.items() if number > 0}


def _sort_names(names: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """Returns each name once, in the given order, since a plan is shuffled."""
    planned = dict.fromkeys(names)
    return tuple(dict.fromkeys([*(name for name in given if name in planned), *planned]))


def make_figure(headline: "Headline") -> Figure:
    """Returns a main figure without its samples."""
    result = headline.result
    return Figure(
        name=headline.name,
        title=headline.title,
        conditions=headline.conditions,
        benchmark=result.benchmark,
        kernel=result.kernel,
        metric=headline.metric,
        parameters=result.parameters,
        hosts=result.hosts,
        value=headline.value,
        limit=result.limits.get(headline.metric),
        shown=headline.shown,
        why=headline.why,
        doubted=headline.doubted,
        energy=headline.energy,
        alternatives=headline.alternatives,
    )


def _energy(evaluation: Evaluation) -> RunEnergy | None:
    from steelyard.judge.evaluation.energy import contradictions, find_load, spend, uncovered
    from steelyard.measure.telemetry.coverage import absent
    from steelyard.measure.telemetry.watched import not_idle

    spent = spend(evaluation)
    if spent is None:
        return None
    joules, counted = spent.energy, spent.coverage
    return RunEnergy(
        source=counted.source,
        modelled=any(sensor.modelled for sensor in counted.sensors),
        energy=Value(joules.joules, "J", joules.low, joules.high, "lower", scope=counted.scope),
        power=joules.power,
        idle=spent.idle.power if spent.idle and not not_idle(find_load(evaluation)) else None,
        absent=absent(counted.scope, evaluation.run.machine),
        uncovered=uncovered(evaluation),
        doubt=" ".join(contradictions(spent)),
    )


def _reasons(evaluation: Evaluation, level: Level) -> dict[str, int]:
    """Returns the causes of that verdict, the most frequent first."""
    from steelyard.statistics.validity.verdict import name_disturbance

    verdicts = (r.verdict for r in evaluation.results if values.level(r) == level)
    return dict(Counter(name_disturbance(v) or "an unnamed cause" for v in verdicts).most_common())


def find_standings(figures: Iterable[Figure], machine: Machine) -> "list[Standing | None]":
    """Returns for each figure whether its value is good; None if nothing is known about such values, or for one of a cache.

    It is not a part of the summary, which is stored, because the user's library of systems may change.
    """
    from steelyard.compare.standing import describe

    hardware = describe(machine)
    return [None if _is_of_cache(figure, machine) else _find_standing(figure, hardware) for figure in figures]


def _is_of_cache(figure: Figure, machine: Machine) -> bool:
    elements, threads = number(figure.parameters.get("elements")), number(figure.parameters.get("threads")) or 1
    size = number(figure.parameters.get("bytes")) or VECTORS * 8 * (elements or 0)
    return size > 0 and level_of(size, int(threads), machine) not in (MEMORY, None)


def _find_standing(figure: Figure, hardware: "Hardware") -> "Standing | None":
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
    return standing.find_standing(make_reading(one.name, one.title, case, value), hardware) if one else None


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
    return {
        "run": run_summary.run,
        "started": run_summary.started,
        "finished": run_summary.finished,
        "preset": run_summary.preset,
        "versions": dict(run_summary.versions),
        "machine": to_plain(run_summary.machine),
        "toolchains": list(run_summary.toolchains),
        "mpis": list(run_summary.mpis),
        "variants": dict(run_summary.variants),
        "mpi_settings": run_summary.mpi_settings,
        "cases": run_summary.cases,
        "measured": run_summary.measured,
        "left_out": dict(run_summary.left_out),
        "verdicts": dict(run_summary.verdicts),
        "reasons": to_plain(run_summary.reasons),
        "condition": to_plain(run_summary.condition),
        "known": dict(run_summary.known),
        "benchmarks": to_plain(run_summary.benchmarks),
        "figures": figures_as_json(run_summary),
        "energy": to_plain(run_summary.energy),
        "findings": to_plain(run_summary.findings),
    }
