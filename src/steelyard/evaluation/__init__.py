"""A run read back and judged: results, limits that follow from the measured clock, findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import findings, records
from steelyard.evaluation import energy, kept
from steelyard.garbage_collection import uncollected
from steelyard.machine.limits import limits
from steelyard.model import Benchmark, Evaluation, Machine, Record, Run
from steelyard.model.sensor import Power
from steelyard.plan import catalogue
from steelyard.records import best_pace, remembered
from steelyard.records.power import read as read_power
from steelyard.statistics.results.result import results
from steelyard.statistics.validity.verdict import judged_again

NO_POWER = Power()


def evaluate(path: Path, paths: Sequence[Path] = ()) -> Evaluation:
    """The evaluation of the run in the folder `path`, with its own benchmarks and those in the folders `paths`.

    Judged once: what follows from the same files by the same rules is read from the user's cache.
    """
    with kept.hashed(path) as own:
        run = records.read(path)
        power = read_power(path)
    run = replace(run, notes=(*run.notes, *power.unread, *remembered.unread(run, paths)))
    known = catalogue.find(remembered.folders(run, paths))
    benchmarks = {name: known[name] for name in benchmarks_of(run) if name in known}
    name = kept.key(path, own.result(), benchmarks)
    with uncollected():
        if found := kept.load(name, run, benchmarks, power):
            return found
        new = judged(rejudged(run), benchmarks, power)
        kept.save(name, new, run)
        return new


def judged(run: Run, benchmarks: Mapping[str, Benchmark], power: Power = NO_POWER) -> Evaluation:
    """The same from a run at hand, and what its sensors said."""
    run = replace(run, machine=with_limits(run.machine, run.records))
    found, known = energy.joined(results(run.records, benchmarks), benchmarks, power)
    return findings.judge(Evaluation(run=run, benchmarks=known, results=found, findings=(), power=power))


def rejudged(run: Run) -> Run:
    """The run with the verdicts that all of it supports: what a record was worth shows beside the best of the whole run."""
    best = best_pace.learned(run)
    return replace(run, records=tuple(rejudge(record, best) for record in run.records))


def rejudge(record: Record, best: best_pace.Best) -> Record:
    return record if record.verdict.level == "INVALID" else judged_again(record, best.bounds_of(record))


def benchmarks_of(run: Run) -> list[str]:
    """The names of the benchmarks that the run planned, sorted."""
    return sorted({launch.benchmark for launch in run.plan.launches})


def core_clock(measured: Iterable[Record]) -> float | None:
    """The true core clock (Hz): the median over the records of what the chain showed before the samples."""
    clocks = sorted(hertz for r in measured for hertz in r.surroundings.core_clock.before or () if hertz)
    return clocks[len(clocks) // 2] if clocks else None


def with_limits(machine: Machine, measured: Iterable[Record]) -> Machine:
    """The machine with the limits that need the measured clock; those that the user gave stand above all."""
    return replace(machine, limits={**limits(machine, core_clock(measured)), **machine.limits})
