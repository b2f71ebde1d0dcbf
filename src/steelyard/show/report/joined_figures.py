"""Joins the figures of the sides of a report: one line a side in the same axes, with the limits of each side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from statistics import fmean, median

from steelyard.compare.compared_sides import SidesComparison
from steelyard.measure.published.system_library import list_shipped
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.show.report.axes import tick
from steelyard.show.report.doubtful_values import graded, level_of
from steelyard.show.report.forms_of_figures import fitted
from steelyard.show.report.published_lines import split
from steelyard.show.report.run_figures import RunFigures
from steelyard.statistics.validity.trust import worst

PUBLISHED = "published"  # name of the line of a published system that has only one in the figure
Key = tuple[str, int]  # the name of a figure, and its number among those of that name


@dataclass(frozen=True, kw_only=True)
class SideFigures:
    """The sides of a report by name, the baseline first, and the figures of each of their runs.

    `own` is the number of the side whose run the report shows. A published system has no runs, and neither has a side that is
    not drawn. `shown`: the sides that are shown at first. `compared` has the results for the titles.
    """

    names: tuple[str, ...]
    own: int
    runs: tuple[tuple[RunFigures, ...], ...]
    shown: tuple[int, ...] = ()
    compared: SidesComparison | None = None


@dataclass(frozen=True)
class Joined:
    """A figure of all sides. `maps`: a map shows only one side, so these are the maps of all sides by number."""

    figure: Figure
    maps: tuple[tuple[int, Figure], ...] = ()

    @property
    def drawn(self) -> set[int]:
        """Returns the numbers of the sides that have values."""
        lines = (s for s in self.figure.series if s.side is not None and any(y is not None for y in s.y))
        return {side for side, _ in self.maps} | {line.side or 0 for line in lines}


def join(benchmark: str, own: Sequence[Figure], sides: SideFigures) -> tuple[Joined, ...]:
    """Returns the figures `own` of the report's run together with those of the other sides, in the order of `own`.

    A group is one line: the median of its runs, with a band from the least to the greatest of them.
    """
    by_key: dict[Key, dict[int, Figure]] = {key: {} for key in _keyed(own)}
    for side, runs in enumerate(sides.runs):
        made = [run.get(benchmark, ()) for run in runs]
        if side == sides.own and len(runs) <= 1:
            made = [tuple(own)]
        for key, figures in _group_by_key(map(_keyed, made)).items():
            by_key.setdefault(key, {})[side] = _join_runs_of_group(figures)
    base = _keyed(own)
    joined = [
        _join(base.get(key) or next(iter(figures.values())), figures, sides)
        for key, figures in by_key.items()
        if figures
    ]
    mapped = {one.figure.z for one in joined if one.figure.kind == "heat"}
    # A surface has no maps of its own where a map of the same values follows.
    return tuple(
        Joined(one.figure) if one.figure.kind == "surface" and one.figure.z in mapped else one for one in joined
    )


def _keyed(figures: Iterable[Figure]) -> dict[Key, Figure]:
    keyed: dict[Key, Figure] = {}
    for figure in figures:
        number = sum(name == figure.name for name, _ in keyed)
        keyed[figure.name, number] = figure
    return keyed


def _group_by_key(runs: Iterable[Mapping[Key, Figure]]) -> dict[Key, list[Figure]]:
    together: dict[Key, list[Figure]] = {}
    for run in runs:
        for key, figure in run.items():
            together.setdefault(key, []).append(figure)
    return together


def _join(base: Figure, by_side: Mapping[int, Figure], sides: SideFigures) -> Joined:
    base, by_side = _form(base), {side: _form(figure) for side, figure in by_side.items()}
    alike = {side: figure for side, figure in by_side.items() if figure.kind == base.kind}
    base = replace(base, sides=sides.names, shown=sides.shown)
    if base.kind == "table":
        return Joined(_table(base, alike))
    if base.kind in ("heat", "surface"):
        return Joined(base, tuple((side, replace(f, kind="heat")) for side, f in alike.items()))
    published = [s for s in base.series if s.published]
    chosen = list(_list_chosen(published, sides.names)) if published else []
    series = [replace(s, side=side) for side, f in alike.items() for s in f.series if not s.published]
    series += _give_subject([line for _, line in chosen], series)
    caption = f"{base.caption} {_choose_marks(base, alike, sides)}".strip()
    marks = (*(mark for mark in base.marks if mark.axis == "x"), *_limits(alike, sides.names))
    series = list(_mark_further(series)) if base.kind == "lines" else series
    figure = replace(base, series=tuple(series), marks=marks, caption=caption)
    figure = replace(figure, series=_join_bars(figure)) if base.kind == "bars" else figure
    taken = {number for number, _ in chosen}
    return Joined(replace(figure, series=(*figure.series, *(s for n, s in enumerate(published) if n not in taken))))


def _form(figure: Figure) -> Figure:
    """Returns a map in a form that can hold several sides if it has only one row, one column or one cell."""
    if not figure.z or (len(figure.rows), len(figure.columns)) != (1, 1):
        return fitted(figure) if figure.z else figure
    place = f"{figure.x.title} {tick(figure.columns[0], figure.x)}, {figure.y.title} {tick(figure.rows[0], figure.y)}"
    bar = Series(figure.title, (place,), figure.z[0])
    unmapped = replace(figure, z=(), columns=(), rows=(), value=None, points=())
    return replace(unmapped, kind="bars", x=Axis("place"), y=figure.value or Axis("value"), series=(bar,))


def _table(base: Figure, by_side: Mapping[int, Figure]) -> Figure:
    """Returns a table with the rows of all sides, each behind the name of its side."""
    cells = ((base.sides[side], *row) for side, f in by_side.items() if f.headings == base.headings for row in f.cells)
    return replace(base, headings=("side", *base.headings), cells=tuple(cells))


def _list_chosen(published: Iterable[Series], names: Sequence[str]) -> Iterator[tuple[int, Series]]:
    """Yields the published lines of the systems that are sides, with their numbers."""
    systems = [system.name for system in list_shipped()]
    for number, series in enumerate(published):
        system, rest = split(series.name, systems)
        if system in names:
            yield number, replace(series, name=rest or PUBLISHED, side=names.index(system), published=False)


def _give_subject(published: Sequence[Series], measured: Sequence[Series]) -> list[Series]:
    """Returns the lines of published sides with the subject of the measured lines, if all of these have one; a limit has none."""
    first = measured[0] if len({(line.subject, line.better) for line in measured}) == 1 else Series("", (), ())
    return [
        line if "limit" in line.name else replace(line, subject=first.subject, better=first.better)
        for line in published
    ]


def _mark_further(lines: Sequence[Series]) -> Iterator[Series]:
    """Yields the lines. Those that differ only in conditions from a better one of the same side are marked."""
    rivals: dict[tuple[int | None, str], list[Series]] = {}
    for line in lines:
        if line.subject is not None and line.better != "none":
            rivals.setdefault((line.side, line.subject), []).append(line)
    best = {id(_choose_best(of)) for of in rivals.values()}
    for line in lines:
        is_rival = line.subject is not None and line.better != "none"
        yield replace(line, further=is_rival and id(line) not in best)


def _choose_best(lines: Sequence[Series]) -> Series:
    """Returns the line that is best on average at the places of all of them, or else at its best place.

    A line with less than half as many points as another one shows too little, such as a single point of a curve.
    """
    logs = [{x: log(y) for x, y in zip(line.x, line.y, strict=True) if y is not None and y > 0} for line in lines]
    most = max(map(len, logs))
    lines = [line for line, values in zip(lines, logs, strict=True) if 2 * len(values) >= most]
    logs = [values for values in logs if 2 * len(values) >= most]
    common = set[float | str].intersection(*map(set, logs))
    sign = 1 if lines[0].better == "higher" else -1
    scores = [
        fmean([sign * values[x] for x in common]) if common else max((sign * v for v in values.values()), default=-inf)
        for values in logs
    ]
    return lines[scores.index(max(scores))]


def _limits(by_side: Mapping[int, Figure], names: Sequence[str]) -> Iterator[Mark]:
    """Yields the limits of the sides. Equal limits are one mark; a limit that not all sides have is named by them."""
    having: dict[Mark, list[int]] = {}
    for side, figure in by_side.items():
        for mark in figure.marks:
            if mark.axis == "y":
                having.setdefault(mark, []).append(side)
    for mark, sides in having.items():
        if len(sides) == len(by_side):
            yield mark
        else:
            yield replace(mark, label=f"{', '.join(names[n] for n in sides)}: {mark.label}", sides=tuple(sides))


def _choose_marks(base: Figure, by_side: Mapping[int, Figure], sides: SideFigures) -> str:
    """Returns whose upright marks are drawn, if the sides differ in them: those of all sides would hide the lines."""
    upright = {side: {m for m in f.marks if m.axis == "x"} for side, f in by_side.items()}
    if len(set(map(frozenset, upright.values()))) < 2:
        return ""
    own = sides.own if sides.own in by_side else next(iter(by_side))
    return f"The upright marks are those of {sides.names[own]}." if any(m.axis == "x" for m in base.marks) else ""


def _join_bars(figure: Figure) -> tuple[Series, ...]:
    """Returns one set of bars a side. If a side has several, each bar is named by its place and its set."""
    names = list(dict.fromkeys(series.name for series in figure.series))
    order = {x: n for n, x in enumerate(dict.fromkeys(x for series in figure.series for x in series.x))}
    of_side: dict[int, list[Series]] = {}
    for series in figure.series:
        of_side.setdefault(series.side or 0, []).append(series)
    most = max(map(len, of_side.values()), default=0)
    if most < 2:
        return figure.series
    merged = []
    for side, lines in of_side.items():
        bars = sorted(
            (
                (x, names.index(s.name), f"{x}, {s.name}", y, *_read_ends(s, n))
                for s in lines
                for n, (x, y) in enumerate(zip(s.x, s.y, strict=True))
            ),
            key=lambda bar: (order[bar[0]], bar[1]),
        )
        _, _, places, values, low, high = zip(*bars, strict=True) if bars else ((),) * 6
        banded = any(line.banded for line in lines)
        merged.append(Series(figure.y.title, places, values, low, high, side=side, banded=banded))
    return tuple(merged)


def _read_ends(series: Series, number: int) -> tuple[float | None, float | None]:
    return (series.low[number] if series.low else None), (series.high[number] if series.high else None)


def _join_runs_of_group(figures: Sequence[Figure]) -> Figure:
    """Returns one figure of the runs of a group: the last one's, with the median and the range of all lines."""
    last = figures[-1]
    if len(figures) == 1 or last.kind not in ("lines", "bars"):
        return last
    lines: dict[str, list[Series]] = {}
    for figure in figures:
        for series in figure.series:
            if not series.published:
                lines.setdefault(series.name, []).append(series)
    return replace(last, series=tuple(map(_range, lines.values())))


def _range(lines: Sequence[Series]) -> Series:
    """Returns the median, least and greatest value of the same line of several runs at each place."""
    at: dict[float | str, list[float]] = {}
    for line in lines:
        for x, y in zip(line.x, line.y, strict=True):
            if y is not None:
                at.setdefault(x, []).append(y)
    places = tuple(at) if any(isinstance(x, str) for x in at) else tuple(sorted(at))
    middles = tuple(graded(median(at[x]), worst(map(level_of, at[x]))) for x in places)
    return replace(
        lines[0],
        x=places,
        y=middles,
        low=tuple(min(at[x]) for x in places),
        high=tuple(max(at[x]) for x in places),
        banded=True,
    )
