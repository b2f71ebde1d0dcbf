"""The figures of a run's benchmarks as plain data, which the cache keeps: a report of many runs evaluates only one of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from steelyard.model import Benchmark, Evaluation, Level, Machine, Result
from steelyard.model.figure import Figure
from steelyard.report import values, variant_figures
from steelyard.report.derived import derived, numbers_in, with_levels
from steelyard.report.doubtful_values import graded, level_of
from steelyard.statistics.validity.trust import doubtful

RunFigures = Mapping[str, tuple[Figure, ...]]  # by benchmark


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigure:
    """A figure of a benchmark. `levels`: the verdicts of its values in the order of `numbers_in`; () if all are CLEAN."""

    benchmark: str
    figure: Figure
    levels: tuple[Level, ...] = ()


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


def reduce_figures(evaluation: Evaluation) -> tuple[StoredFigure, ...]:
    """Returns all figures of the run's benchmarks without published lines. A benchmark whose code fails has none."""
    return tuple(
        _stored(name, figure)
        for name, benchmark in evaluation.benchmarks.items()
        for figure in _made(benchmark, evaluation)
    )


def _made(benchmark: Benchmark, evaluation: Evaluation) -> tuple[Figure, ...]:
    try:
        return make(benchmark, values.of_benchmark(evaluation, benchmark.name), evaluation.run.machine)
    except Exception:  # a benchmark may come from anyone; the report of that run itself shows the error
        return ()


def _stored(benchmark: str, figure: Figure) -> StoredFigure:
    own = replace(figure, series=tuple(series for series in figure.series if not series.published))
    numbers = list(numbers_in(own))
    levels = tuple(map(level_of, numbers))
    plain = with_levels(own, [None if n is None else float(n) for n in numbers], ["CLEAN"] * len(numbers))
    return StoredFigure(benchmark=benchmark, figure=plain, levels=levels if any(map(doubtful, levels)) else ())


def restore(stored: Iterable[StoredFigure]) -> RunFigures:
    """Returns the figures by benchmark, with the verdicts of their values."""
    by_benchmark: dict[str, list[Figure]] = {}
    for one in stored:
        figure = with_levels(one.figure, list(numbers_in(one.figure)), one.levels) if one.levels else one.figure
        by_benchmark.setdefault(one.benchmark, []).append(figure)
    return {name: tuple(figures) for name, figures in by_benchmark.items()}
