"""The ratio of the times of two runs that their pace alone explains, where the launches of the runs prove it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from steelyard.compare.launch_table import Indexes, LaunchTable

FEWEST_LAUNCHES = 6
LARGEST_ERROR = 0.05  # root mean square of the logarithms of the times that the other launches predict
ROUNDING = 1e-12  # share of a sum
SMALLEST_GAIN = 0.5  # of the scatter of the times must disappear in the prediction


@dataclass(frozen=True)
class _Point:
    """A case in a launch: logarithms of pace and time, relative to the mean of the case in that run."""

    launch: tuple[int, int]  # run, number
    pace: float
    seconds: float


def explain_by_pace(runs: Sequence[tuple[LaunchTable, Indexes]]) -> float | None:
    """Returns the ratio of times, b / a, that the pace of the cores alone explains; None if the launches do not prove it.

    `runs` are a and b, each with the rows of its table that are compared.

    The dependence is the slope of log time on log pace within each case and run. It is proven if each launch is predicted from
    the others to ± 5 % (leave one launch out), and if the paces within one run differ as much as those of both runs.
    """
    points: list[_Point] = []
    paces: tuple[list[float], list[float]] = ([], [])
    for run, (table, rows) in enumerate(runs):
        read = rows[table.rate[rows] > 0]
        for case in np.unique(table.case[read]):
            of_case = read[table.case[read] == case]
            launches, rates = table.launch[of_case].tolist(), np.log(table.rate[of_case]).tolist()
            paces[run].extend(rates)
            points += _centre_points(run, list(zip(launches, rates, table.log_seconds[of_case].tolist(), strict=True)))
    by_launch: dict[tuple[int, int], list[_Point]] = {}
    for point in points:
        by_launch.setdefault(point.launch, []).append(point)
    if len(by_launch) < FEWEST_LAUNCHES or not all(paces):
        return None
    difference = median(paces[1]) - median(paces[0])
    if abs(difference) > max(max(of_run) - min(of_run) for of_run in paces):
        return None
    sums = {launch: _sum_up(members) for launch, members in by_launch.items()}
    squares, products = (math.fsum(both) for both in zip(*sums.values(), strict=True))
    errors: list[float] = []
    for left_out, members in by_launch.items():
        without = _slope(squares - sums[left_out][0], products - sums[left_out][1], squares)
        errors += [p.seconds - without * p.pace for p in members] if without is not None else []
    slope = _slope(squares, products, squares)
    scatter = _root_mean_square([p.seconds for p in points])
    if slope is None or not errors or _root_mean_square(errors) > min(LARGEST_ERROR, SMALLEST_GAIN * scatter):
        return None
    return math.exp(slope * difference)


def _centre_points(run: int, both: Sequence[tuple[int, float, float]]) -> list[_Point]:
    if len(both) < 2:
        return []
    pace, seconds = (fmean(values) for values in list(zip(*both, strict=True))[1:])
    return [_Point((run, n), x - pace, y - seconds) for n, x, y in both]


def _sum_up(points: Iterable[_Point]) -> tuple[float, float]:
    """Returns the sum of the squares of the paces, and that of their products with the times."""
    listed = list(points)
    return math.fsum(p.pace**2 for p in listed), math.fsum(p.pace * p.seconds for p in listed)


def _slope(squares: float, products: float, whole: float) -> float | None:
    """Returns the slope from sums; None if the squares are only what rounding leaves of the `whole` sum."""
    return products / squares if squares > ROUNDING * whole else None


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(fmean(v * v for v in values))
