"""How the cost of a disturbance grows along a sweep: a line through the undisturbed time, as far as it fits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from steelyard.model.units import percent, quantity, significant
from steelyard.whatif.answer import Answer, Prediction
from steelyard.whatif.conditions import how_often, label
from steelyard.whatif.question import Point

LINEAR = 0.05  # relative deviation of a point from a line that still counts as linear
EXACT = 0.0005  # deviation that is none
SURE = 0.5  # half of the interval of the greatest point, as a share of its extra time, above which no slope is certain
MOST = 3  # lines of a sweep with sentences of their own
FEWEST = 3  # points of a line that is called linear
STEP = 1e-3  # s of a time, or the share 0.1 %, for which sentences state the extra time

Disturbed = tuple[Prediction, float]  # with the undisturbed time in s
Sweep = Sequence[Disturbed]
T = TypeVar("T")


@dataclass(frozen=True)
class Growth:
    """The extra time in s is `slope` · x up to `until`, within `deviation` of that line. `beyond`: the sweep goes on.

    `faster`: all further points lie above the line; None: some lie above it, and others below.
    """

    slope: float
    until: float
    deviation: float
    beyond: bool
    faster: bool | None = False


def fit(points: Sequence[tuple[float, float, float]]) -> Growth | None:
    """Returns the line through the origin that fits the most of the first points (x, y, half of the interval of y).

    The slope is that of least squares of the relative deviations, their mean. A point fits if it lies within `LINEAR`, or if its
    interval contains the line. None if fewer than `FEWEST` points fit, nothing grows, or the interval of the greatest of them
    is too wide for a slope.
    """
    ordered = sorted(point for point in points if point[0] > 0)
    for count in range(len(ordered), FEWEST - 1, -1):
        first = ordered[:count]
        slope = sum(y / x for x, y, _ in first) / count
        if slope <= 0 or first[-1][2] > SURE * first[-1][1]:
            continue
        away = [abs(y - slope * x) for x, y, _ in first]
        if all(d <= max(LINEAR * slope * x, half) for d, (x, _, half) in zip(away, first, strict=True)):
            deviation = max(d / (slope * x) for d, (x, *_) in zip(away, first, strict=True))
            above = {y > slope * x for x, y, _ in ordered[count:]}
            return Growth(slope, first[-1][0], deviation, bool(above), None if len(above) > 1 else True in above)
    return None


def list_lines(
    sweep: Iterable[T], point: Callable[[T], Point], same: Callable[[Point], Point], value: Callable[[Point], float]
) -> list[list[T]]:
    """Returns the points of a sweep that differ in `value` alone, in its order: those that are the same after `same`."""
    lines: dict[Point, list[T]] = {}
    for one in sweep:
        lines.setdefault(same(point(one)), []).append(one)
    several = [line for line in lines.values() if len({value(point(one)) for one in line}) > 1]
    return [sorted(line, key=lambda one: value(point(one))) for line in several]


def describe_growth(answer: Answer, ranks: int) -> Iterator[str]:
    """States whether the time grows linearly with time-out, probability and length of interruptions, and what one rank costs."""
    points = [p.point for p in answer.predictions]
    bases = [(p, *answer.without[p.point]) for p in answer.predictions]
    lossy = [(p, base) for p, base, _ in bases if p.point.loss.probability and base]
    noisy = [(p, base) for p, _, base in bases if p.point.noise.duration and base]
    for line in _choose(lossy, lambda p: replace(p, loss=replace(p.loss, rto=0.0)), lambda p: p.loss.rto):
        where = label(line[0][0].point, points, "RTO")
        yield from _state_fit(line, lambda p: p.loss.rto, f"the time-out{where}", "1 ms of time-out")
    for line in _choose(lossy, without_loss, lambda p: p.loss.probability):
        where = label(line[0][0].point, points, "loss")
        yield from _state_fit(line, lambda p: p.loss.probability, f"the probability of loss{where}", "0.1 % of loss")
    for line in _choose(noisy, lambda p: replace(p, noise=replace(p.noise, duration=0.0)), lambda p: p.noise.duration):
        where = how_often(line[0][0].point.noise) + label(line[0][0].point, points, "noise")
        each = "1 ms of interruption"
        yield from _state_fit(line, lambda p: p.noise.duration, f"the length of interruptions {where}", each)
    for line in _choose(
        noisy, lambda p: replace(p, noise=replace(p.noise, probability=0.0)), lambda p: p.noise.probability
    ):
        length = quantity(line[0][0].point.noise.duration, "s")
        where = f"the probability of interruptions of {length}{label(line[0][0].point, points, 'noise')}"
        yield from _state_fit(line, lambda p: p.noise.probability, where, "0.1 % of the computations")
    pairs = zip(answer.predictions, answer.undisturbed, strict=True)
    yield from _compare_one_rank([(p, base.time) for p, base in pairs if p.point.random and base.time], ranks)


def _state_fit(line: Sweep, x: Callable[[Point], float], what: str, words: str) -> Iterator[str]:
    """States the straight line through the extra times of a line of the sweep, if there is one."""
    found = fit(_list_points(line, x))
    if found is None:
        return
    about = "about " * (found.deviation > LINEAR)
    adds = f"{words} adds {about}{quantity(found.slope * STEP, 's')}"
    if found.beyond:
        until = f"{100 * found.until:g} %" if "%" in words else quantity(found.until, "s", 3)
        how = "not linearly" if found.faster is None else "faster" if found.faster else "more slowly"
        yield f"Up to {until}, the time grows linearly with {what}: {adds}. Above, it grows {how}."
    else:
        fits = "on" if found.deviation < EXACT else f"within {percent(found.deviation, 1)} of"
        yield f"The time grows linearly with {what}: {adds} (all points lie {fits} this line)."


def _compare_one_rank(sweep: Sweep, ranks: int) -> Iterator[str]:
    """Compares the cost of the fewest affected ranks with the cost of all ranks, under the same condition."""
    at_least_one = [pair for pair in sweep if pair[0].point.count_affected_ranks(ranks) > 0]
    for line in _choose(at_least_one, lambda p: replace(p, affected=1.0), lambda p: p.affected)[:1]:
        few, every = (line[0], line[-1])
        count = few[0].point.count_affected_ranks(ranks)
        extra = [p.time - base for p, base in (few, every)]
        if every[0].point.affected == 1 and count < ranks and extra[1] > 0:
            share = percent(extra[0] / extra[1])
            if few[0].low is not None and few[0].high is not None and few[0].high - few[0].low > LINEAR * extra[1]:
                low, high = (percent((end - few[1]) / extra[1]) for end in (few[0].low, few[0].high))
                share += f" (95 % interval: {low} to {high})"
            who = "One affected rank adds" if count == 1 else f"{count} affected ranks add"
            times = f"{_format_times(few)} instead of {_format_times(every)} times the undisturbed time"
            where = label(every[0].point, [p.point for p, _ in sweep], "affected")
            yield f"{who} {share} of the time that all {ranks} ranks add{where}: {times}."


def _format_times(pair: Disturbed) -> str:
    return significant(pair[0].time / pair[1], 3)


def without_loss(point: Point) -> Point:
    """Returns the point with the probability 0 of loss."""
    return replace(point, loss=replace(point.loss, probability=0.0))


def _choose(sweep: Sweep, same: Callable[[Point], Point], value: Callable[[Point], float]) -> list[list[Disturbed]]:
    """Returns the lines (see `list_lines`) with the greatest times first, as many as have sentences of their own."""
    lines = list_lines(sweep, lambda pair: pair[0].point, same, value)
    return sorted(lines, key=lambda line: -max(p.time / base for p, base in line))[:MOST]


def _list_points(line: Sweep, x: Callable[[Point], float]) -> list[tuple[float, float, float]]:
    points = []
    for p, base in line:
        half = 0.0 if p.low is None or p.high is None else (p.high - p.low) / 2
        points.append((x(p.point), p.time - base, half))
    return points
