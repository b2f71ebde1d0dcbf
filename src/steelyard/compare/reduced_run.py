"""A run as a side of a comparison: what its table of results holds, without its records."""

from collections.abc import Iterator

from steelyard.compare.classes import find_class, find_class_of
from steelyard.compare.placement_names import name_placements
from steelyard.compare.side import SideCase, SideRun
from steelyard.compare.surroundings import list_facts
from steelyard.judge.evaluation.foreign_results import group_cases, summarise
from steelyard.measure.telemetry.watched import is_modelled
from steelyard.model import Benchmark, Evaluation, ForeignValue, Imported, Parameters, Result, Value
from steelyard.model.cores import usable_cores
from steelyard.model.roles import Headline

# Sizes that a tool chose itself: a value of another size is compared, and the note names the size.
TOOL_SIZES = ("elements", "working_set_bytes")


def reduce_run(evaluation: Evaluation) -> SideRun:
    """Returns the run as a side of a comparison. INVALID results are omitted."""
    run = evaluation.run
    return SideRun(
        run=run.id,
        path=run.path,
        started=run.started,
        finished=run.finished,
        machine=run.machine,
        facts={} if run.imported else list_facts(run),
        plan=run.plan,
        cases=tuple(_list_imported_cases(evaluation, run.imported) if run.imported else _cases(evaluation)),
        notes=run.notes,
        imported=run.imported is not None,
        cores=None if run.imported else usable_cores(run.machine) or None,
        modelled_power=evaluation.power is not None and is_modelled(evaluation.power.traces),
    )


def _cases(evaluation: Evaluation) -> Iterator[SideCase]:
    for result in name_placements(evaluation):
        if result.metrics and result.verdict.level != "INVALID":
            yield reduce_result(result, evaluation.benchmarks.get(result.benchmark))


def reduce_result(result: Result, benchmark: Benchmark | None = None) -> SideCase:
    """Returns a result as a case of a side. An INVALID result has no times."""
    metrics = _main_first(result, benchmark)
    return SideCase(
        benchmark=result.benchmark,
        kernel=result.kernel,
        parameters=result.parameters,
        kind=find_class(result),
        metrics=metrics,
        level=result.verdict.level,
        limit=result.limits.get(next(iter(metrics), "")),
        hosts=result.hosts,
        work=result.work,
        times=result.times,
        timed=result.timed,
    )


def _main_first(result: Result, benchmark: Benchmark | None) -> dict[str, Value]:
    declared = [m.name for m in benchmark.metrics if m.better != "none"] if benchmark else []
    names = dict.fromkeys((*declared, *result.metrics))
    return {name: result.metrics[name] for name in names if name in result.metrics}


def _list_imported_cases(evaluation: Evaluation, imported: Imported) -> Iterator[SideCase]:
    """Yields a case for each metric of each case of an imported run, with the statistic of the tool; main kernels first."""
    described = evaluation.benchmarks.values()
    main = {(b.name, role.kernel) for b in described for role in b.roles if isinstance(role, Headline)}
    items = [item for metrics in group_cases(imported.values) for item in metrics.items()]
    for metric, samples in sorted(items, key=lambda item: (item[1][0].benchmark, item[1][0].kernel) not in main):
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
