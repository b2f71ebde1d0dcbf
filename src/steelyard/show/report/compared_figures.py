"""The same cases of a run with two or three compilers, MPIs or variants: their values, and the ratios of their times."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.judge.findings.every import compilers, variant_effects
from steelyard.judge.findings.network import mpi_compared
from steelyard.measure.plan import variants
from steelyard.model import Evaluation, Result, Value
from steelyard.show.report import values
from steelyard.show.report.alternative import Alternative
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.cost import launches
from steelyard.statistics.results.energy_metrics import ENERGY
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.samples.interval import Array

MOST = 3  # compilers, MPIs or variants whose figures stand beside each other
# The smallest difference that counts, and the samples of a result, as in the findings on the same pairs.
FAMILIES: Mapping[str, tuple[float, Callable[[Result], list[Array]]]] = {
    "toolchain": (compilers.SMALLEST, launches),
    "mpi": (mpi_compared.SMALLEST, lambda result: [] if messages.oversubscribed(result) else messages.seconds(result)),
    "variant": (variant_effects.SMALLEST, variant_effects.select_samples),
}


@dataclass(frozen=True)
class Axis:
    """The parameter "toolchain", "mpi" or "variant", and its values in this run, the one that all are compared with first."""

    parameter: str
    names: tuple[str, ...]


def axis(evaluation: Evaluation) -> Axis | None:
    """Returns what the run compares: None unless it has two or three toolchains, or two or three MPIs, but not both.

    Variants are compared also if the run has several toolchains or MPIs, with each of these.
    """
    run = evaluation.run
    ordered = {
        "variant": list(variants.names(run.site.variants)),
        "toolchain": list(run.toolchains),
        "mpi": [tool.name for tool in run.machine.mpis],
    }
    axes = []
    for parameter, names in ordered.items():
        given = dict.fromkeys(str(r.parameters[parameter]) for r in evaluation.results if parameter in r.parameters)
        if len(given) > 1:
            axes.append(
                Axis(parameter, tuple(sorted(given, key=lambda n: names.index(n) if n in names else len(names))))
            )
    alone = axes and (len(axes) == 1 or axes[0].parameter == "variant")
    return axes[0] if alone and len(axes[0].names) <= MOST else None


def compare(
    evaluation: Evaluation, figures: Sequence[tuple[Result, str]], compared: Axis
) -> list[tuple[Alternative, ...]]:
    """Returns the alternatives of each figure (result and metric), in the order of the axis; () if one of them is missing."""
    comparisons = _comparisons(evaluation)
    by_case: dict[Identity, dict[str, Result]] = {}
    for r in evaluation.results:
        if compared.parameter in r.parameters:
            by_case.setdefault(identity(r, compared.parameter), {})[str(r.parameters[compared.parameter])] = r
    rows = [by_case.get(identity(r, compared.parameter), {}) for r, _ in figures]
    return [
        tuple(_alternative(evaluation, row[n], metric, n, comparisons.get(id(row[n]))) for n in compared.names)
        if len(row) == len(compared.names)
        and all(metric in r.metrics or values.level(r) == "INVALID" for r in row.values())
        else ()
        for row, (_, metric) in zip(rows, figures, strict=True)
    ]


def _comparisons(evaluation: Evaluation) -> dict[int, Comparison]:
    """Returns the comparison of each result with that of the first compiler, MPI or variant, by its identity.

    They are corrected for the number of all pairs of the run, so that the figures and the finding on them agree.
    """
    compared = axis(evaluation)
    if compared is None:
        return {}
    smallest, samples = FAMILIES[compared.parameter]
    usable = [r for r in evaluation.results if r.verdict.level != "INVALID" and samples(r)]
    by_second: dict[int, Comparison] = {}
    for name in compared.names[1:]:
        pairs = cases.pair(usable, compared.parameter, compared.names[0], name)
        found = compare_all([(samples(a), samples(b)) for a, b in pairs], smallest)
        by_second |= {id(b): comparison for (_, b), comparison in zip(pairs, found, strict=True)}
    return by_second


def _alternative(
    evaluation: Evaluation, result: Result, metric: str, name: str, comparison: Comparison | None
) -> Alternative:
    shown = values.shown(result, metric)
    assert shown is not None  # it has the metric, or is INVALID
    return Alternative(
        name=name,
        shown=shown,
        value=result.metrics.get(metric),
        time_ratio=Value(comparison.ratio, "1", comparison.low, comparison.high, "lower") if comparison else None,
        call=comparison.call if comparison else None,
        energy=result.metrics.get(ENERGY.name) if shown.value else None,
    )
