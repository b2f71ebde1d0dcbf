"""Finds the values of a figure that depend on unreliable results, also values that were calculated from them.

A figure is plain data, and does not say from what its values come. So the benchmark's own function is asked again for results
whose times and metrics were moved a little, by different parts: what moves with the results of a verdict rests on them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

from steelyard.model import Level, Record, Result, Value
from steelyard.model.figure import Figure, Series
from steelyard.results.deferred import Deferred
from steelyard.show.report import values
from steelyard.show.report.doubtful_values import Doubtful, among, graded, level_of
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.validity.trust import worst

PART = 1e-7  # of each value; small enough to change no choice, and far above the rounding of doubles
_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, so that no two results are moved alike

Drawing = Callable[[tuple[Result, ...]], Sequence[Figure]]
Numbers = list[float | None]


def derived(draw: Drawing, results: Sequence[Result], made: Sequence[Figure]) -> tuple[Figure, ...]:
    """Returns the figures. Each value that depends on doubtful results has the least trusted verdict of these results.

    `made` are the figures that `draw` makes of `results`; a value in them that has a verdict already keeps it.
    """
    numbers = [list(numbers_in(figure)) for figure in made]
    levels: list[list[Level]] = [["CLEAN"] * len(before) for before in numbers]
    for level in among(map(values.level, results)):
        moved = tuple(_move_result(r, n) if values.level(r) == level else r for n, r in enumerate(results))
        try:
            others = [list(numbers_in(figure)) for figure in draw(moved)]
        except Exception:  # a benchmark may come from anyone: what then rests on what is not known
            others = []
        for before, own_levels, after in zip_longest(numbers, levels, others[: len(numbers)], fillvalue=None):
            for place in _list_changed(before or [], after):
                own_levels[place] = worst((level, own_levels[place]))  # type: ignore[index]
    return tuple(map(with_levels, made, numbers, levels))


def with_signs(figure: Figure) -> Figure:
    """Returns the figure with a sign before the name of each line that was calculated from unreliable results.

    Lines of the results' own values only have marks.
    """

    def name(series: Series) -> str:
        present = [y for y in series.y if y is not None]
        computed = all(isinstance(y, Doubtful) and not y.evidence for y in present)
        signs = bool(present) and not series.published and computed and bool(series.name)
        return signed(series.name, worst(map(level_of, present))) if signs else series.name

    return replace(figure, series=tuple(replace(series, name=name(series)) for series in figure.series))


def _move_result(result: Result, number: int) -> Result:
    """Returns the result with its times and metrics multiplied by a factor close to 1 that no other result has."""
    factor = 1 + PART * (1 + number * _GOLDEN % 1)
    return replace(
        result,
        records=Deferred(len(result.records), lambda: [_lengthen_record(record, factor) for record in result.records]),
        attempts=Deferred(
            len(result.attempts),
            lambda: [replace(a, seconds=a.seconds and a.seconds * factor) for a in result.attempts],
        ),
        metrics={name: _scale_value(value, factor) for name, value in result.metrics.items()},
        seconds=_scale_value(result.seconds, factor) if result.seconds else None,
    )


def _lengthen_record(record: Record, factor: float) -> Record:
    """Returns the record with its times and the times of its ranks multiplied by the factor."""
    around, samples = record.surroundings, tuple(seconds * factor for seconds in record.samples)
    rows = around.ranks.seconds
    if rows is not None:
        longer = [[None if seconds is None else seconds * factor for seconds in row] for row in rows]
        around = replace(around, ranks=replace(around.ranks, seconds=longer))
    return replace(record, samples=samples, surroundings=around)


def _scale_value(value: Value, factor: float) -> Value:
    low, high = (None if end is None else end * factor for end in (value.low, value.high))
    return replace(value, value=value.value * factor, low=low, high=high)


def _list_changed(before: Numbers, after: Numbers | None) -> Iterator[int]:
    """Yields the positions of the values that differ between the figures; all positions if the shapes differ."""
    alike = after is not None and len(before) == len(after)
    for place, value in enumerate(before):
        if value is not None and not (alike and after is not None and value == after[place]):
            yield place


def numbers_in(figure: Figure) -> Iterator[float | None]:
    """Yields the values of the figure and the positions of its names, which are values too."""
    for series in figure.series:
        if not series.published:
            yield from series.y
    for row in figure.z:
        yield from row
    for mark in figure.marks:
        yield mark.at
    for point in figure.points:
        yield from (None if isinstance(at, str) else at for at in (point.x, point.y))


def with_levels(figure: Figure, before: Numbers, levels: Sequence[Level]) -> Figure:
    """Returns the figure with these verdicts of its values, in the order of `numbers_in`."""
    pairs = zip(before, levels, strict=True)
    numbers = iter([y if y is None or isinstance(y, Doubtful) else graded(y, level) for y, level in pairs])

    def some(many: Iterable[object]) -> tuple[Any, ...]:
        return tuple(islice(numbers, len(tuple(many))))

    series = tuple(s if s.published else replace(s, y=some(s.y)) for s in figure.series)
    z = tuple(map(some, figure.z))
    marks = tuple(replace(mark, at=at) for mark, at in zip(figure.marks, some(figure.marks), strict=True))
    points = []
    for point in figure.points:
        x, y = some((point.x, point.y))
        points.append(replace(point, x=point.x if x is None else x, y=point.y if y is None else y))
    return replace(figure, series=series, z=z, marks=marks, points=tuple(points))
