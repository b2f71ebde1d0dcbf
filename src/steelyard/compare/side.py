"""The sides of a comparison as values of cases without samples: runs, groups of runs of one system, and published systems.

A comparison of a hundred runs must not read their records, so it has only what their tables of results hold.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.compare.classes import Class, find_class, find_class_of
from steelyard.compare.placement_names import name_placements
from steelyard.compare.surroundings import Facts, list_facts
from steelyard.evaluation.foreign_results import group_cases, summarise
from steelyard.model import (
    Attempt,
    Benchmark,
    Count,
    Evaluation,
    ForeignValue,
    Imported,
    Level,
    Limit,
    Machine,
    Parameters,
    Plan,
    Result,
    Value,
)
from steelyard.statistics.results import applications, messages
from steelyard.statistics.results.cost import find_work
from steelyard.statistics.results.result import last_attempts
from steelyard.statistics.results.variants import select_plain
from steelyard.telemetry.watched import modelled

Kind = Literal["run", "group", "published", "imported"]
FOREIGN: tuple[Kind, ...] = ("published", "imported")  # Steelyard did not measure their values, so no call is possible
# Sizes that a tool chose itself: a value of another size is compared, and the note names the size.
TOOL_SIZES = ("elements", "working_set_bytes")
SECOND = "second"  # the unit of work of kernels that count none: they are compared by their seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTime:
    """The median time of one launch of a case: natural logarithm of seconds for one unit of work.

    `began` is the start of the launch in seconds; None if it is unknown. Launches that began at about the same time share the
    state of the machine. `rate` and `stream` are the pace beside the launch, in additions per second and B/s (see `pace`).
    """

    launch: Count
    began: float | None
    log_seconds: float
    disturbed: bool
    rate: float | None = None
    stream: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCase:
    """A case of one side. `metrics` has the values by name, the main metric first; a case without values is not listed.

    `work` is the unit of work of `times` ("byte", "flop" … or `SECOND`). `statistic` says how a FOREIGN value was made, such as
    "best of 10"; "" for the values of Steelyard. `note` says what differs in meaning between a FOREIGN value and ours, `remark`
    what the library says about it. `limit` is the physical limit of the main metric. `hosts` is the number of machines on which
    the ranks ran; 0 if it is unknown. `timed`: the metric "time" is that of a whole program, which was verified, ran long
    enough, and had a processor for each worker.
    """

    benchmark: str
    kernel: str
    parameters: Parameters
    kind: Class
    metrics: Mapping[str, Value]
    level: Level
    statistic: str = ""
    note: str = ""
    remark: str = ""
    limit: Limit | None = None
    hosts: Count = 0
    work: str = ""
    times: tuple[LaunchTime, ...] = ()
    timed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRun:
    """One run of a side. `facts` are its conditions by group and name (see `surroundings.list_facts`).

    `machine` and `plan` are None for a published system. `modelled_power`: its power was calculated and not measured.
    `imported`: other tools measured the values.
    """

    run: str
    path: str
    started: str
    finished: bool
    machine: Machine | None
    facts: Facts
    cases: tuple[SideCase, ...]
    plan: Plan | None = None
    notes: tuple[str, ...] = ()
    modelled_power: bool = False
    imported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison, under the name that the user reads. Only a group and an imported side may have several runs."""

    name: str
    kind: Kind
    runs: tuple[SideRun, ...]

    @property
    def is_foreign(self) -> bool:
        """Returns whether Steelyard did not measure the values."""
        return self.kind in FOREIGN


def list_plain(side: Side) -> tuple[SideCase, ...]:
    """Returns the cases of all runs of a side without those of variants (see `select_plain`)."""
    return select_plain([case for run in side.runs for case in run.cases])


def reduce_run(evaluation: Evaluation, with_times: bool = True) -> SideRun:
    """Returns the run as a side of a comparison. INVALID results are omitted. `with_times`: the times of the launches, too."""
    run = evaluation.run
    return SideRun(
        run=run.id,
        path=run.path,
        started=run.started,
        finished=run.finished,
        machine=run.machine,
        facts={} if run.imported else list_facts(run),
        plan=run.plan,
        cases=tuple(_imported_cases(evaluation, run.imported) if run.imported else _cases(evaluation, with_times)),
        notes=run.notes,
        imported=run.imported is not None,
        modelled_power=evaluation.power is not None and modelled(evaluation.power.traces),
    )


def _cases(evaluation: Evaluation, with_times: bool) -> Iterator[SideCase]:
    for result in name_placements(evaluation):
        if result.metrics and result.verdict.level != "INVALID":
            yield reduce_result(result, evaluation.benchmarks.get(result.benchmark), with_times)


def reduce_result(result: Result, benchmark: Benchmark | None = None, with_times: bool = True) -> SideCase:
    """Returns a result as a case of a side. An INVALID result has no times."""
    work, times = _times(result) if with_times else ("", ())
    metrics = _main_first(result, benchmark)
    return SideCase(
        benchmark=result.benchmark,
        kernel=result.kernel,
        parameters=result.parameters,
        kind=find_class(result),
        metrics=metrics,
        level=result.verdict.level,
        limit=result.limits.get(next(iter(metrics), "")),
        hosts=_hosts(result),
        work=work,
        times=times,
        timed=applications.timed_alone(result),
    )


def _hosts(result: Result) -> int:
    """Returns the number of machines that the ranks were on; hosts that are one machine count once."""
    if messages.colocated(result):
        return 1
    return len(set(messages.hosts_of(result.attempts)))


def _main_first(result: Result, benchmark: Benchmark | None) -> dict[str, Value]:
    declared = [m.name for m in benchmark.metrics if m.better != "none"] if benchmark else []
    names = dict.fromkeys((*declared, *result.metrics))
    return {name: result.metrics[name] for name in names if name in result.metrics}


def _times(result: Result) -> tuple[str, tuple[LaunchTime, ...]]:
    """Returns the unit of work and the times of all launches, also of the disturbed ones."""
    measured = [attempt for attempt in last_attempts(result.attempts) if attempt.verdict.level != "INVALID"]
    timed = [(attempt, attempt.seconds, find_work(attempt)) for attempt in measured if attempt.seconds]
    works = [work for *_, work in timed if work]
    began: dict[int, float] = {}  # the first attempt of each launch
    for attempt in result.attempts:
        if attempt.surroundings.began is not None:
            began[attempt.launch] = min(attempt.surroundings.began, began.get(attempt.launch, math.inf))
    return works[0][1] if works else SECOND, tuple(
        _time(attempt, began.get(attempt.launch), seconds / (work[0] if work else 1.0))
        for attempt, seconds, work in timed
        if work or not works
    )


def _time(attempt: Attempt, began: float | None, seconds: float) -> LaunchTime:
    return LaunchTime(
        launch=attempt.launch,
        began=began,
        log_seconds=math.log(seconds),
        disturbed=attempt.verdict.level == "DISTURBED",
        rate=attempt.rate,
        stream=attempt.stream,
    )


def _imported_cases(evaluation: Evaluation, imported: Imported) -> Iterator[SideCase]:
    """Yields a case for each metric of each case of an imported run, with the statistic of the tool."""
    for metric, samples in (item for metrics in group_cases(imported.values) for item in metrics.items()):
        first = samples[0]
        ours = evaluation.benchmarks[first.benchmark].sources != ()
        parameters = {n: x for n, x in first.parameters.items() if not (ours and n in TOOL_SIZES)}
        yield SideCase(
            benchmark=first.benchmark,
            kernel=first.kernel,
            parameters=parameters,
            kind=find_class_of(first.benchmark, parameters, first.unit),
            metrics={metric: summarise(samples)},
            level="FOREIGN",
            statistic=first.statistic,
            note=", ".join(filter(None, (first.note.rstrip("."), _sizes(first, parameters)))),
        )


def _sizes(value: ForeignValue, kept: Parameters) -> str:
    """Returns the sizes that are not compared: 'with elements: 80000000'; '' without any."""
    sizes = [f"{n.replace('_', ' ')}: {x}" for n, x in value.parameters.items() if n not in kept]
    return f"with {', '.join(sizes)}" if sizes else ""
