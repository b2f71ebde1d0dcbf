"""The evaluation of a run: from its table of results, or else judged from its records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.judge.evaluation import energy
from steelyard.measure import records
from steelyard.measure.plan import catalogue
from steelyard.measure.records import remembered
from steelyard.measure.records.power import read as read_power
from steelyard.model import Benchmark, Evaluation, Result, Run
from steelyard.model.sensor import Power
from steelyard.results import table
from steelyard.results.basis import find_basis, is_same


def evaluate(path: Path, paths: Sequence[Path] = (), afresh: bool = False) -> Evaluation:
    """Returns the evaluation of the run in the folder `path`, with its own benchmarks and those in the folders `paths`.

    A run is judged only once: its table of results is read if it belongs to the same files and the same rules (`afresh`: not
    even then). SteelyardError.
    """
    run = records.head(path)
    catalogued = catalogue.find(remembered.folders(run, paths))
    named = catalogued if run.imported else run.plan.benchmarks()
    benchmarks = {name: catalogued[name] for name in named if name in catalogued}
    power = None if run.imported else read_power(path)
    unread = (*(power.unread if power else ()), *remembered.unread(run, paths))
    head = None if afresh else table.read_head(path)
    basis = find_basis(path, benchmarks, head.basis if head else None)
    if head and is_same(head.basis, basis) and (restored := table.restore(path, head, run)):
        run, results = restored
        return Evaluation(
            run=_note(run, unread),
            benchmarks=_describe(benchmarks, head, results, power),
            results=results,
            findings=head.findings,
            power=power,
            condition=head.condition,
        )
    from steelyard.judge.evaluation import judging  # with the rules, which the table does not need

    run = records.read(path)
    noted = _note(run, unread)
    new = judging.judge_run(noted, benchmarks, power) if power else judging.judge_imported(noted, benchmarks)
    table.keep_table(path, new, basis, run.notes)
    return new


def _describe(
    benchmarks: Mapping[str, Benchmark], head: table.Head, results: Sequence[Result], power: Power | None
) -> Mapping[str, Benchmark]:
    if power:
        return energy.add_metrics(benchmarks, results, power)
    from steelyard.judge.evaluation.foreign_results import describe  # with NumPy, which own runs do not need

    return describe(results, head.tools, benchmarks)


def _note(run: Run, notes: Sequence[str]) -> Run:
    return replace(run, notes=(*run.notes, *notes))
