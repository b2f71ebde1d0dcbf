"""The figures of a run's benchmarks with the verdicts of their values."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from steelyard.model import Benchmark, Evaluation, Machine, Result
from steelyard.model.figure import Figure
from steelyard.show.report import values, variant_figures
from steelyard.show.report.derived import derived
from steelyard.show.report.doubtful_values import graded
from steelyard.statistics.validity.trust import doubtful

RunFigures = Mapping[str, tuple[Figure, ...]]  # by benchmark


def make(benchmark: Benchmark, results: Iterable[Result], machine: Machine) -> tuple[Figure, ...]:
    """Returns the figures that a benchmark makes of these results. Their unreliable values carry a verdict.

    INVALID results are omitted. Raises what the code of the benchmark raises.
    """
    usable = tuple(r for r in results if values.level(r) != "INVALID")
    if not usable:
        return ()
    made = variant_figures.figures(benchmark, tuple(map(graded_result, usable)), machine)
    return derived(lambda moved: variant_figures.figures(benchmark, moved, machine), usable, made)


def graded_result(result: Result) -> Result:
    """Returns the result. If it is unreliable, its metrics carry its verdict and the evidence for it."""
    level = values.level(result)
    if not doubtful(level):
        return result
    why = values.evidence(result)
    metrics = {name: replace(v, value=graded(v.value, level, why)) for name, v in result.metrics.items()}
    return replace(result, metrics=metrics)


def draw_run(evaluation: Evaluation) -> RunFigures:
    """Returns the figures of the run's benchmarks without published lines. A benchmark whose code fails has none."""
    made = {name: _draw(benchmark, evaluation) for name, benchmark in evaluation.benchmarks.items()}
    return {name: figures for name, figures in made.items() if figures}


def _draw(benchmark: Benchmark, evaluation: Evaluation) -> tuple[Figure, ...]:
    try:
        made = make(benchmark, values.of_benchmark(evaluation, benchmark.name), evaluation.run.machine)
    except Exception:  # a benchmark may come from anyone; the report of that run itself shows the error
        return ()
    return tuple(replace(figure, series=tuple(s for s in figure.series if not s.published)) for figure in made)
