"""Judges a run: results, limits that follow from the measured clock, findings."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from steelyard.judge import findings
from steelyard.judge.evaluation import energy, foreign_results
from steelyard.measure.machine.limits import limits
from steelyard.measure.records import best_pace
from steelyard.measure.records.best_pace import Best
from steelyard.model import Benchmark, Evaluation, Imported, Machine, Record, Result, Run
from steelyard.model.evidence import noted
from steelyard.model.sensor import Power
from steelyard.statistics.results.launch_medians import add_launch_times
from steelyard.statistics.results.ranges import Paces, paces_lost
from steelyard.statistics.results.result import results
from steelyard.statistics.validity.condition import find_condition
from steelyard.statistics.validity.pace import slowdown
from steelyard.statistics.validity.proofs import add_proofs
from steelyard.statistics.validity.verdict import judge_again, judge_record

NO_POWER = Power()
KNOWN_RUNS = 5  # earlier runs that are needed to know how much of a virtual machine other guests take at other hours


def judge_imported(run: Run, benchmarks: Mapping[str, Benchmark]) -> Evaluation:
    """Returns the evaluation of an imported run. `benchmarks` are those of Steelyard."""
    return findings.judge(foreign_results.evaluate_imported(run, run.imported or Imported(tools={}), benchmarks))


def judge_run(run: Run, benchmarks: Mapping[str, Benchmark], power: Power) -> Evaluation:
    """Returns the evaluation of a run as it was read: each record is compared with the best pace of the machine."""
    best = best_pace.learned(run)
    return evaluate_run(rejudge_run(run, best), benchmarks, power, best)


def evaluate_run(
    run: Run, benchmarks: Mapping[str, Benchmark], power: Power = NO_POWER, best: Best | None = None
) -> Evaluation:
    """Returns the evaluation of a run that was read, with the readings of its sensors.

    `best` is the best pace of the machine if it is known.
    """
    best = best or best_pace.learned(run)
    run = replace(run, machine=add_limits(run.machine, run.records))
    condition = add_proofs(find_condition(run.records, map(best.shares, run.records)), run.records, run.machine)
    known = run.shown.runs >= KNOWN_RUNS and bool(run.shown.slow)
    paces = make_paces(best, run.shown.slow, unknown=run.machine.is_virtual and not known)
    measured = results(run.records, benchmarks, paces)
    with_energy, extended = energy.add_energy(measured, benchmarks, power, run.machine)
    complete = tuple(add_launch_times(add_result_limits(result, extended, run.machine)) for result in with_energy)
    return findings.judge(
        Evaluation(run=run, benchmarks=extended, results=complete, findings=(), power=power, condition=condition)
    )


def add_result_limits(result: Result, benchmarks: Mapping[str, Benchmark], machine: Machine) -> Result:
    """Returns the result with the physical limits of its metrics."""
    benchmark = benchmarks[result.benchmark]
    known = ((name, benchmark.known_limit(name, result, machine)) for name in result.metrics)
    return replace(result, limits={name: limit for name, limit in known if limit})


def make_paces(best: Best, slow: Mapping[str, float] = MappingProxyType({}), unknown: bool = False) -> Paces:
    """Returns the paces of a machine, with the slow ones of earlier runs, and whether other guests take an unknown part of it."""
    return Paces(
        losses=lambda record: paces_lost(best.shares(record)),
        slowdown=lambda record: slowdown(record, best.bounds_of(record)),
        slow=paces_lost(slow),
        unknown=unknown,
    )


def rejudge_run(run: Run, best: Best) -> Run:
    """Returns the run with verdicts that compare each record with the best of the whole run."""
    processors, bare = run.machine.processors, run.machine.setting("hypervisor").value == "none"
    return replace(run, records=tuple(rejudge_record(record, best, processors, bare) for record in run.records))


def rejudge_record(record: Record, best: Best, processors: int | None = None, bare: bool = False) -> Record:
    """Returns the record with a verdict by the best pace. `bare`: without a hypervisor, so that no guest can take time."""
    seconds = record.surroundings.processor_seconds
    if record.verdict.level == "INVALID":
        return record
    if not (bare and seconds.steal):
        return judge_again(record, best.bounds_of(record), processors)
    around = replace(record.surroundings, processor_seconds=replace(seconds, steal=None, most_steal=None))
    judged = judge_record(replace(record, surroundings=around), best.bounds_of(record))
    note = noted(
        "steal",
        "the kernel reports steal time, although there is no hypervisor. No verdict uses this fault of the kernel.",
    )
    verdict = replace(judged.verdict, evidence=(*judged.verdict.evidence, note))
    return replace(judged, surroundings=record.surroundings, verdict=verdict)


def measure_core_clock(measured: Iterable[Record]) -> float | None:
    """Returns the true core clock in Hz: the median of the records' readings of the chain before the samples."""
    clocks = sorted(hertz for r in measured for hertz in r.surroundings.core_clock.before or () if hertz)
    return clocks[len(clocks) // 2] if clocks else None


def add_limits(machine: Machine, measured: Iterable[Record]) -> Machine:
    """Returns the machine with the limits that need the measured clock. Limits from the user have priority."""
    return replace(machine, limits={**limits(machine, measure_core_clock(measured)), **machine.limits})
