"""Which values of a figure rest on results that cannot be relied on: also those that were computed from them.

A figure is plain data, and does not say from what its values come. So the benchmark's own function is asked again for results
whose times and metrics were moved a little, by different parts: what moves with the results of a verdict rests on them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from steelyard.model import Level, Result, Value
from steelyard.model.figure import Figure, Series
from steelyard.report import values
from steelyard.report.doubts import Doubts, among, level_of
from steelyard.report.lamps import signed
from steelyard.statistics.validity.trust import worst

PART = 1e-7  # of each value; small enough to change no choice, and far above the rounding of doubles
_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, so that no two results are moved alike

Drawing = Callable[[tuple[Result, ...]], Sequence[Figure]]


def derived(draw: Drawing, results: Sequence[Result], made: Sequence[Figure]) -> Doubts:
    """The values in `made` that rest on results of a lesser verdict, with the least trusted of these.

    `made` are the figures that `draw` makes of `results`.
    """
    found: dict[float, Level] = {}
    for level in among(map(values.level, results)):
        moved = tuple(_moved(r, n) if values.level(r) == level else r for n, r in enumerate(results))
        try:
            others = draw(moved)
        except Exception:  # a benchmark may come from anyone: what then rests on what is not known
            others = ()
        for figure, other in zip_longest(made, others):
            for value in _changed(figure, other) if figure else ():
                found[value] = worst((level, found.get(value, level)))
    return found


def with_signs(figure: Figure, doubts: Doubts, own: Doubts) -> Figure:
    """The figure with the sign before the name of each line that was computed of what cannot be relied on.

    `own` are the values of the results themselves: lines of these bear their marks only.
    """

    def name(series: Series) -> str:
        known = [y for y in series.y if y is not None]
        computed = bool(known) and not series.published and all(y in doubts and y not in own for y in known)
        return (
            signed(series.name, worst(level_of(y, doubts) for y in known)) if computed and series.name else series.name
        )

    return replace(figure, series=tuple(replace(series, name=name(series)) for series in figure.series))


def _moved(result: Result, number: int) -> Result:
    """The result with its times longer by a small part that is its own, and its metrics as far away."""
    factor = 1 + PART * (1 + number * _GOLDEN % 1)
    records = tuple(replace(r, samples=tuple(s * factor for s in r.samples)) for r in result.records)
    return replace(
        result, records=records, metrics={name: _scaled(value, factor) for name, value in result.metrics.items()}
    )


def _scaled(value: Value, factor: float) -> Value:
    low, high = (None if end is None else end * factor for end in (value.low, value.high))
    return replace(value, value=value.value * factor, low=low, high=high)


def _changed(figure: Figure, other: Figure | None) -> Iterator[float]:
    """Those values of the first figure that are others in the second; all of them where it has another shape."""
    before, after = list(_numbers(figure)), list(_numbers(other)) if other else []
    alike = len(before) == len(after)
    for index, value in enumerate(before):
        if value is not None and not (alike and value == after[index]):
            yield value


def _numbers(figure: Figure) -> Iterator[float | None]:
    """Its values and the places of its names, which are values too."""
    for series in figure.series:
        if not series.published:
            yield from series.y
    for row in figure.z:
        yield from row
    for mark in figure.marks:
        yield mark.at
    for point in figure.points:
        yield from (None if isinstance(at, str) else at for at in (point.x, point.y))
