"""Rule: names repetitions whose values are unlike the others, with their files."""

from collections.abc import Iterator, Sequence
from statistics import median

from steelyard.importing.doubts import SEVERAL
from steelyard.importing.findings.imported_outliers import STEPS, find_step
from steelyard.judge.evaluation.foreign_results import group_cases
from steelyard.model import Evaluation, Finding, ForeignValue
from steelyard.model.units import quantity
from steelyard.model.words import joined, plural

IMPORTED = True
FEWEST = 5  # repetitions, so that the others have a median and a spread
FAR = 0.2  # share of the median by which an outlier differs from it
SPREADS = 5  # and as many times the median deviation of the repetitions
MOST, NAMED = 5, 3  # cases of the finding, and repetitions of each


def find(evaluation: Evaluation) -> list[Finding]:
    """States which repetitions of a case are far from the others. Several outputs in one file may have run at once."""
    imported = evaluation.run.imported
    if not imported:
        return []
    found: dict[tuple[str, ...], tuple[Sequence[ForeignValue], Sequence[ForeignValue]]] = {}
    for metrics in group_cases(imported.values):
        for repetitions in metrics.values():
            samples = [v for v in repetitions if SEVERAL not in v.note]
            if far := _find_outliers(samples):
                # The metrics of one case, such as time and rate, have the same outliers.
                found.setdefault((samples[0].benchmark, *sorted(v.file for v in far)), (samples, far))
    if not found:
        return []
    cases = sorted(found.values(), key=lambda case: -_distance(*case))
    values, outliers = cases[0]
    others = [v.value for v in values if v not in outliers]
    more = f" The same is true of {plural(len(cases) - 1, 'further case')}." if len(cases) > 1 else ""
    return [
        Finding(
            rule="imported_repetitions",
            level="notice",
            seen=f"In {values[0].benchmark}, {len(outliers)} of {plural(len(values), 'repetition')} "
            f"{'is' if len(outliers) == 1 else 'are'} far from the others: {joined([_show(v) for v in outliers[:NAMED]])}, where "
            f"the middle of the others is {quantity(median(others), values[0].unit)}.{more}",
            evidence=tuple(sentence for case in cases[:MOST] for sentence in _describe(*case)),
            cause="Other work ran at the same time, a part of the machine was slow, or the file belongs to another experiment.",
            remedy="Look at these files. If they are another experiment, import the folder with --layout, which says so.",
            benchmark=values[0].benchmark,
        )
    ]


def _find_outliers(values: Sequence[ForeignValue]) -> list[ForeignValue]:
    if len(values) < FEWEST or values[0].better == "none":
        return []
    center = median(v.value for v in values)
    spread = median(abs(v.value - center) for v in values)
    step = min((find_step(v.value) for v in values if v.value), default=0.0)
    least = max(FAR * abs(center), SPREADS * spread, STEPS * step)
    far = [v for v in values if abs(v.value - center) > least]
    return sorted(far, key=lambda v: -abs(v.value - center))


def _distance(values: Sequence[ForeignValue], outliers: Sequence[ForeignValue]) -> float:
    center = median(v.value for v in values)
    return abs(outliers[0].value / center - 1) if center else float("inf")


def _show(value: ForeignValue) -> str:
    return quantity(value.value, value.unit)


def _describe(values: Sequence[ForeignValue], outliers: Sequence[ForeignValue]) -> Iterator[str]:
    first = values[0]
    ordered = sorted(values, key=lambda v: v.value)
    yield (
        f"{first.kernel.replace('_', ' ')}, {first.metric.replace('_', ' ')}, {plural(len(values), 'repetition')}: "
        f"{_show(ordered[0])} to {_show(ordered[-1])}, median {quantity(median(v.value for v in values), first.unit)}."
    )
    yield from (f"{_show(v)}: {v.source}" for v in outliers[:NAMED])
