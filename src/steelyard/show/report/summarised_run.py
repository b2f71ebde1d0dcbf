"""Makes the summary of an evaluated run."""

from collections import Counter
from collections.abc import Iterable

from steelyard.judge.evaluation.energy import find_load, list_contradictions, measure_run, name_uncovered
from steelyard.measure.plan import mpi_in_effect
from steelyard.measure.plan.variants import meanings
from steelyard.measure.telemetry.coverage import absent
from steelyard.measure.telemetry.watched import name_load
from steelyard.model import Evaluation, Level, Result, Run, Value
from steelyard.model.mpi_settings import describe, is_of_user
from steelyard.show.report import case_tables, sentences, values
from steelyard.show.report import condition as conditions
from steelyard.show.report.headline import Headline, headlines
from steelyard.show.report.summary import Figure, RunEnergy, Summary
from steelyard.statistics.results.attempts import list_attempts
from steelyard.statistics.validity.verdict import name_disturbance

REASONS: tuple[Level, ...] = ("DISTURBED", "UNSETTLED")  # the verdicts whose reasons are counted


def summarised(evaluation: Evaluation) -> Summary:
    """Returns the summary of an evaluation."""
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


def make_figure(headline: Headline) -> Figure:
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

    spent = measure_run(evaluation)
    if spent is None:
        return None
    joules, counted = spent.energy, spent.coverage
    return RunEnergy(
        source=counted.source,
        modelled=any(sensor.modelled for sensor in counted.sensors),
        energy=Value(joules.joules, "J", joules.low, joules.high, "lower", scope=counted.scope),
        power=joules.power,
        idle=spent.idle.power if spent.idle and not name_load(find_load(evaluation)) else None,
        absent=absent(counted.scope, evaluation.run.machine),
        uncovered=name_uncovered(evaluation),
        doubt=" ".join(list_contradictions(spent)),
    )


def _reasons(evaluation: Evaluation, level: Level) -> dict[str, int]:
    """Returns the causes of that verdict, the most frequent first."""
    verdicts = (r.verdict for r in evaluation.results if values.level(r) == level)
    return dict(Counter(name_disturbance(v) or "an unnamed cause" for v in verdicts).most_common())
