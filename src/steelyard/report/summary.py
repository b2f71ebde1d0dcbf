"""A run in a few figures: what the screen, the list of runs and `show --json` say of it, without its records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.evidence import sentence
from steelyard.machine.mpi_settings import describe, is_of_user
from steelyard.model import Condition, Count, Evaluation, Finding, Level, Machine, Parameters, Result, Run, Value
from steelyard.model.plain import to_plain
from steelyard.plan import mpi_in_effect
from steelyard.plan.variants import meanings
from steelyard.report import condition as conditions
from steelyard.report import values
from steelyard.report.case_tables import CaseTable
from steelyard.report.compared_figures import Alternative
from steelyard.report.values import Shown
from steelyard.statistics.results.attempts import list_attempts

if TYPE_CHECKING:
    from steelyard.report.headline import Headline

REASONS: tuple[Level, ...] = ("DISTURBED", "UNSETTLED")  # the verdicts whose reasons are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A main figure (see `headline.Headline`), and of which case it is. `energy`: its power and energies by their names."""

    name: str
    title: str
    conditions: str
    benchmark: str
    kernel: str
    parameters: Parameters
    value: Value | None
    shown: Shown
    why: str
    doubted: bool
    energy: Mapping[str, Value]
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnergy:
    """The energy of a run (J) with its scope, its mean power and that of the idle machine (W), and their source.

    `absent` names the parts of the machine that no sensor covers, and `uncovered` the cases that have no energy for this reason.
    """

    source: str
    modelled: bool
    energy: Value
    power: float
    idle: float | None
    absent: str = ""
    uncovered: str = ""


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
    from steelyard.report import case_tables, sentences
    from steelyard.report.headline import headlines

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
        toolchains=_in_order((launch.toolchain for launch in run.plan.launches), run.toolchains),
        mpis=tuple(dict.fromkeys(str(r.parameters["mpi"]) for r in results if "mpi" in r.parameters)),
        variants=meanings(run.site.variants),
        mpi_settings=describe(filter(is_of_user, mpi_in_effect.list_of_run(run) or ())),
        cases=sum(len(launch.cases) for launch in run.plan.launches),
        measured=len(run.records) - sum(attempt.attempt > 1 for attempt in list_attempts(results)),
        budget=run.budget,
        left_out=_left_out(run, results),
        verdicts=values.counts(results),
        reasons={level: _reasons(evaluation, level) for level in REASONS},
        condition=evaluation.condition,
        known=conditions.known(results),
        benchmarks={name: {k: n for k, n in values.counts(members).items() if n} for name, members in groups.items()},
        figures=tuple(map(_figure, headlines(evaluation))),
        tables=case_tables.tables(evaluation),
        energy=_energy(evaluation),
        findings=evaluation.findings,
    )


def _left_out(run: Run, results: Iterable[Result]) -> dict[str, int]:
    """Returns the cases of each benchmark that the plan leaves out, and those that the run has not reached, finished or not."""
    missing = Counter(run.plan.left_out)
    if run.budget is not None or not run.finished:
        planned = Counter(c.benchmark for x in run.plan.launches if x.repetition == 1 for c in x.cases)
        planned.subtract(Counter(r.benchmark for r in results))
        missing += +planned
    return {name: number for name, number in missing.items() if number > 0}


def _in_order(names: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """Returns each name once, in the given order, since a plan is shuffled."""
    planned = dict.fromkeys(names)
    return tuple(dict.fromkeys([*(name for name in given if name in planned), *planned]))


def _figure(headline: "Headline") -> Figure:
    result = headline.result
    return Figure(
        name=headline.name,
        title=headline.title,
        conditions=headline.conditions,
        benchmark=result.benchmark,
        kernel=result.kernel,
        parameters=result.parameters,
        value=headline.value,
        shown=headline.shown,
        why=headline.why,
        doubted=headline.doubted,
        energy=headline.energy,
        alternatives=headline.alternatives,
    )


def _energy(evaluation: Evaluation) -> RunEnergy | None:
    from steelyard.evaluation.energy import spend, uncovered
    from steelyard.telemetry.coverage import absent

    spent = spend(evaluation)
    if spent is None:
        return None
    joules, counted = spent.energy, spent.coverage
    return RunEnergy(
        source=counted.source,
        modelled=any(sensor.modelled for sensor in counted.sensors),
        energy=Value(joules.joules, "J", joules.low, joules.high, "lower", scope=counted.scope),
        power=joules.power,
        idle=spent.idle.power if spent.idle else None,
        absent=absent(counted.scope, evaluation.run.machine),
        uncovered=uncovered(evaluation),
    )


def _reasons(evaluation: Evaluation, level: Level) -> dict[str, int]:
    """Returns the causes of that verdict, the most frequent first."""
    from steelyard.statistics.validity.verdict import name_disturbance

    verdicts = (r.verdict for r in evaluation.results if values.level(r) == level)
    return dict(Counter(name_disturbance(v) or "an unnamed cause" for v in verdicts).most_common())


def figures_as_json(run_summary: Summary) -> list[dict[str, Any]]:
    """Returns the main figures as plain data. `text` is the value on the screen."""
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
        }
        for f in run_summary.figures
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
