"""Evaluates a run: results, limits that follow from the measured clock, findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from steelyard import findings, records
from steelyard.evaluation import energy, evaluation_cache, foreign_results
from steelyard.garbage_collection import uncollected
from steelyard.machine.limits import limits
from steelyard.machine.settings import is_virtual
from steelyard.model import Benchmark, Evaluation, Machine, Record, Run
from steelyard.model.sensor import Power
from steelyard.plan import catalogue
from steelyard.records import best_pace, remembered
from steelyard.records.best_pace import Best
from steelyard.records.power import read as read_power
from steelyard.statistics.results.ranges import Paces, paces_lost
from steelyard.statistics.results.result import results
from steelyard.statistics.validity.cause import add_proofs
from steelyard.statistics.validity.condition import find_condition
from steelyard.statistics.validity.pace import slowdown
from steelyard.statistics.validity.verdict import judge_again

NO_POWER = Power()
KNOWN_RUNS = 5  # earlier runs that say how much of a virtual machine other guests take at another hour


def evaluate(path: Path, paths: Sequence[Path] = ()) -> Evaluation:
    """Returns the evaluation of the run in the folder `path`, with its own benchmarks and those in the folders `paths`.

    A run is judged only once: the user's cache holds the result for the same files and the same rules.
    """
    with evaluation_cache.hash_run(path) as digest:
        run = records.read(path)
        power = read_power(path)
    run = replace(run, notes=(*run.notes, *power.unread, *remembered.unread(run, paths)))
    catalogued = catalogue.find(remembered.folders(run, paths))
    if run.imported:
        return findings.judge(foreign_results.evaluate_imported(run, run.imported, catalogued))
    benchmarks = {name: catalogued[name] for name in list_benchmarks(run) if name in catalogued}
    name = evaluation_cache.make_key(path, digest.result(), benchmarks)
    with uncollected():
        if saved := evaluation_cache.load(name, run, benchmarks, power):
            return saved
        best = best_pace.learned(run)
        new = evaluate_run(rejudge_run(run, best), benchmarks, power, best)
        evaluation_cache.save(name, new, run)
        return new


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
    paces = paces_of(best, run.shown.slow, unknown=is_virtual(run.machine) and not known)
    measured = results(run.records, benchmarks, paces)
    with_energy, extended = energy.add_energy(measured, benchmarks, power, run.machine)
    return findings.judge(
        Evaluation(run=run, benchmarks=extended, results=with_energy, findings=(), power=power, condition=condition)
    )


def paces_of(best: Best, slow: Mapping[str, float] = MappingProxyType({}), unknown: bool = False) -> Paces:
    """Returns the paces of a machine, with the slow ones of earlier runs, and whether other guests take an unknown part of it."""
    return Paces(
        losses=lambda record: paces_lost(best.shares(record)),
        slowdown=lambda record: slowdown(record, best.bounds_of(record)),
        slow=paces_lost(slow),
        unknown=unknown,
    )


def rejudge_run(run: Run, best: Best) -> Run:
    """Returns the run with verdicts that compare each record with the best of the whole run."""
    processors = run.machine.processors
    return replace(run, records=tuple(rejudge_record(record, best, processors) for record in run.records))


def rejudge_record(record: Record, best: Best, processors: int | None = None) -> Record:
    return record if record.verdict.level == "INVALID" else judge_again(record, best.bounds_of(record), processors)


def list_benchmarks(run: Run) -> list[str]:
    """Returns the sorted names of the benchmarks that the run planned."""
    return sorted({launch.benchmark for launch in run.plan.launches})


def measure_core_clock(measured: Iterable[Record]) -> float | None:
    """Returns the true core clock in Hz: the median of the records' readings of the chain before the samples."""
    clocks = sorted(hertz for r in measured for hertz in r.surroundings.core_clock.before or () if hertz)
    return clocks[len(clocks) // 2] if clocks else None


def add_limits(machine: Machine, measured: Iterable[Record]) -> Machine:
    """Returns the machine with the limits that need the measured clock. Limits from the user have priority."""
    return replace(machine, limits={**limits(machine, measure_core_clock(measured)), **machine.limits})
