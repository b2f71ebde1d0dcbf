"""Tolerance: the fall of the cost of an operation as threads are added, at the points that benchmarks declare.

A node is tolerant if the rate at which operations are issued sets the time of an operation, and not the latency of each.
Then n threads reduce the cost of an operation to an n-th. The idea is from an evaluation of AMD nodes by NICEVT (2008),
whose Barcelona nodes reduced G from 407 to 31 cycles with 16 threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.model import Evaluation, Level, Result
from steelyard.model.roles import TolerancePoint
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.cost import ratio


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """`ratio` is the cost of an operation with one thread over that with `threads`: a speed-up.

    `low` … `high` is its 95 % interval, `efficiency` is `ratio` / `threads`: 1 where every thread added
    brings its whole share. `point` is the point's name; `label` says besides in what the case
    differs from the others of that point. `usual` marks the case that stands for the point; `level` is the
    lesser verdict of the two results.
    """

    benchmark: str
    point: str
    label: str
    threads: int
    ratio: float
    low: float
    high: float
    efficiency: float
    usual: bool
    level: Level


class Point(NamedTuple):
    """A point that a benchmark declares, and its results (at least one) with any number of threads."""

    benchmark: str
    role: TolerancePoint
    results: Sequence[Result]


def list_points(evaluation: Evaluation) -> list[Point]:
    """Returns the measured points, in the order of their roles."""
    roles = sorted(find_roles(evaluation, TolerancePoint), key=lambda pair: pair[1].order)
    measured = (Point(name, role, role.at(cases.find(evaluation.results, name, role.kernel))) for name, role in roles)
    return [point for point in measured if point.results]


def results_at_point(evaluation: Evaluation, name: str) -> list[Result]:
    """Returns the results of the point of that name; empty if it was not measured."""
    return next((list(point.results) for point in list_points(evaluation) if point.role.point == name), [])


def tolerance(point: Point) -> list[Tolerance]:
    """Returns the tolerance of every case with one thread and with more; empty if the threads were not varied."""
    tolerances: list[Tolerance] = []
    groups = cases.group(point.results, "threads")
    varying = _list_varying(point.results)
    chosen = _choose_usual_group(groups, point.role)
    for group in groups:
        alone, name = group[0], point.role.point
        if cases.number(alone, "threads") == 1:
            words = ", ".join(in_words(name_, cases.value(alone, name_)) for name_ in varying)
            tolerances += _group_tolerances(
                name, f"{name} ({words})" if words else name, alone, group[1:], group is chosen
            )
    return tolerances


def _group_tolerances(point: str, label: str, alone: Result, many: Sequence[Result], usual: bool) -> list[Tolerance]:
    tolerances = []
    for result in many:
        speedup = ratio(alone, result)
        threads = cases.number(result, "threads")
        if speedup is None or threads is None or threads < 2:
            continue
        tolerances.append(
            Tolerance(
                benchmark=alone.benchmark,
                point=point,
                label=label,
                threads=int(threads),
                ratio=speedup.value,
                low=speedup.low,
                high=speedup.high,
                efficiency=speedup.value / threads,
                usual=usual,
                level=cases.doubt(alone, result),
            )
        )
    return tolerances


def _list_varying(members: Sequence[Result]) -> list[str]:
    names = dict.fromkeys(name for r in members for name in r.parameters)
    return [n for n in names if n != "threads" and len({str(cases.value(r, n)) for r in members}) > 1]


def _choose_usual_group(groups: Sequence[Sequence[Result]], role: TolerancePoint) -> Sequence[Result] | None:
    """Returns the group with the most usual parameters among those with one thread and more."""
    candidates = [g for g in groups if len(g) > 1 and cases.number(g[0], "threads") == 1]

    def unusual(group: Sequence[Result]) -> tuple[float, ...]:
        parameters = group[0].parameters
        strange = sum(parameters.get(n, v) != v for n, v in cases.USUAL.items())
        least = (cases.number(group[0], n) or 0.0 for n in role.least)
        most = (-(cases.number(group[0], n) or 0.0) for n in role.most)
        return (strange, *least, *most)

    return min(candidates, key=unusual, default=None)
