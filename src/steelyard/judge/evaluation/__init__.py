"""The evaluation of a run: from its table of results, or else judged from its records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.judge.evaluation import energy
from steelyard.measure import records
from steelyard.measure.plan import catalogue
from steelyard.measure.records import remembered
from steelyard.measure.records.power import read as read_power
from steelyard.model import Benchmark, Evaluation, Run
from steelyard.results import table
from steelyard.results.basis import find_basis, is_same


def evaluate(path: Path, paths: Sequence[Path] = (), afresh: bool = False) -> Evaluation:
    """Returns the evaluation of the run in the folder `path`, with its own benchmarks and those in the folders `paths`.

    A run is judged only once: its table of results is read if it belongs to the same files and the same rules (`afresh`: not
    even then). SteelyardError.
    """
    run = records.head(path)
    catalogued = catalogue.find(remembered.folders(run, paths))
    if run.imported:
        return _judge_imported(path, paths, catalogued)
    benchmarks = {name: catalogued[name] for name in run.plan.benchmarks() if name in catalogued}
    power = read_power(path)
    unread = (*power.unread, *remembered.unread(run, paths))
    head = None if afresh else table.read_head(path)
    basis = find_basis(path, benchmarks, head.basis if head else None)
    if head and is_same(head.basis, basis) and (restored := table.restore(path, head, run)):
        return Evaluation(
            run=_note(restored[0], unread),
            benchmarks=energy.add_metrics(benchmarks, restored[1], power),
            results=restored[1],
            findings=head.findings,
            power=power,
            condition=head.condition,
        )
    from steelyard.judge.evaluation.judging import judge_run  # with the rules, which the table does not need

    run = records.read(path)
    new = judge_run(_note(run, unread), benchmarks, power)
    table.keep_table(path, new, basis, run.notes)
    return new


def _judge_imported(path: Path, paths: Sequence[Path], benchmarks: Mapping[str, Benchmark]) -> Evaluation:
    from steelyard.judge.evaluation.judging import judge_imported

    run = records.read(path)
    return judge_imported(_note(run, remembered.unread(run, paths)), benchmarks)


def _note(run: Run, notes: Sequence[str]) -> Run:
    return replace(run, notes=(*run.notes, *notes))
