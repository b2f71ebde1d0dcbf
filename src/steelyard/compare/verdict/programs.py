"""The whole programs that all sides have run: the geometric mean of their best times and energies."""

from collections.abc import Sequence
from statistics import geometric_mean

from steelyard.compare.best_programs import find_best_programs
from steelyard.compare.program_points import worst_level
from steelyard.compare.quantities import Reading, find_span
from steelyard.compare.side import Side, SideCase
from steelyard.model import Value
from steelyard.model.words import plural

TITLES = {"time": "Time of the common programs", "energy": "Energy of the common programs"}


def read_programs(sides: Sequence[Side]) -> list[dict[str, Reading]]:
    """Returns for each side the geometric means over the programs and sizes that all sides have, by the best case of each.

    The means exist only for two and more sides with a common program.
    """
    readings: list[dict[str, Reading]] = [{} for _ in sides]
    if len(sides) < 2:
        return readings
    for metric, title in TITLES.items():
        bests = [find_best_programs(side, metric) for side in sides]
        common = sorted(set.intersection(*(set(best) for best in bests)), key=str)
        if common:
            for of_side, best in zip(readings, bests, strict=True):
                of_side[f"program_{metric}"] = _mean(f"program_{metric}", title, metric, [best[key] for key in common])
    return readings


def _mean(name: str, title: str, metric: str, cases: Sequence[SideCase]) -> Reading:
    values = [case.metrics[metric] for case in cases]
    spans = [span for value in values if (span := find_span(value))]
    known = len(spans) == len(values) and all(low > 0 for low, _ in spans)
    low, high = (geometric_mean(ends) for ends in zip(*spans, strict=True)) if known else (None, None)
    mean = Value(geometric_mean(v.value for v in values), values[0].unit, low, high, "lower")
    level = worst_level(case.level for case in cases)
    condition = f"geometric mean of {plural(len(cases), 'program')}"
    return Reading(
        quantity=name,
        title=title,
        value=mean,
        condition=condition,
        benchmark=cases[0].benchmark,
        parameters={},
        level=level,
    )
