"""The main figures of a machine over its runs: their steps, and what changed beside these."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median_high

from steelyard.compare.factors import find_nature
from steelyard.compare.surroundings import Difference, find_differences
from steelyard.errors import SteelyardError
from steelyard.fleet.imported_values import list_imported
from steelyard.fleet.series import Point, Series, read_moment
from steelyard.measure import records
from steelyard.model import Run
from steelyard.model.words import plural
from steelyard.show.report.summary import Figure, Summary, list_values
from steelyard.statistics.difference.newest import judge_newest
from steelyard.statistics.difference.steps import CONSTANT, Step, discover, find_course

EXPLAINED = 0.5  # share of a step, in logarithms, that the pace beside the runs must show, too
PACES = {"issued": "the cores", "stream": "the memory", "exchange": "messages between ranks"}  # kinds that are named
BETWEEN = ("machine", "setting", "network", "MPI", "toolchain", "version")  # groups of conditions that a step is beside


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesStep:
    """A step of a series. `paces` are the kinds of pace that changed with it, by at least half as much, with their factors."""

    series: Series
    step: Step
    paces: Mapping[str, float]

    @property
    def ends(self) -> tuple[Point, Point]:
        """Returns the last value before the step, and the first one after it."""
        return self.series.points[self.step.place - 1], self.series.points[self.step.place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The steps between the same two runs, with the conditions that differ between these. `unread`: why none is known."""

    before: Point
    after: Point
    steps: tuple[SeriesStep, ...]
    differences: tuple[Difference, ...]
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The history of one machine. `runs` are its runs, and the files of its imported values, in the order of time.

    `notes` say what was left out, and what is doubtful.
    """

    system: str
    runs: tuple[str, ...]
    first: str
    last: str
    series: tuple[Series, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def order(summaries: Sequence[Summary]) -> tuple[list[Summary], list[str]]:
    """Returns the runs in the order of their beginnings, those of equal ones by their names, and notes on doubtful times."""
    known = [(moment, one.run, one) for one in summaries if (moment := read_moment(one.started))]
    unknown = [one for one in summaries if not read_moment(one.started)]
    notes = [f"{plural(len(unknown), 'run')} without a date left out: {unknown[0].run}"] if unknown else []
    known.sort(key=lambda item: item[:2])
    same = [b.run for (x, _, _), (y, _, b) in itertools.pairwise(known) if x == y]
    if same:
        notes.append(f"{same[0]} and the run before it have the same time, so their order is that of their names")
    return [one for _, _, one in known], notes


def make_history(
    system: str, summaries: Sequence[Summary], notes: Sequence[str] = (), most: int | None = None
) -> History:
    """Returns the history of one machine. `summaries` are its runs, in any order; imported ones have many dates.

    At most so many imported cases are judged, those of main figures and those with the most values first; None: all.
    """
    ordered, doubts = order([one for one in summaries if not one.condition.foreign])
    imported, more = list_imported([one for one in summaries if one.condition.foreign])
    if most is not None and len(imported) > most:
        more.append(f"{plural(len(imported) - most, 'further case')} without a row here; for all: steelyard history")
    series = [_judge_series(one) for one in (*list_series(ordered), *imported[:most])]
    found = discover([one.course.p for one in series])
    series = [one if is_found else replace(one, course=replace(CONSTANT, p=one.course.p, lone=one.course.lone))
              for one, is_found in zip(series, found, strict=True)]  # fmt: skip
    dates = {(one.run, one.started) for one in ordered}
    dates |= {(point.run, point.started) for one in imported for point in one.points}
    runs = sorted(dates, key=lambda date: (read_moment(date[1]) or datetime.min.replace(tzinfo=UTC), date[0]))
    return History(
        system=system,
        runs=tuple(run for run, _ in runs),
        first=runs[0][1] if runs else "",
        last=runs[-1][1] if runs else "",
        series=tuple(series),
        changes=tuple(_list_changes(series)),
        notes=(*notes, *doubts, *more),
    )


def list_series(ordered: Iterable[Summary]) -> list[Series]:
    """Returns each main figure with its values, for each of its conditions (settings that are best differ from run to run)."""
    figures: dict[tuple[str, ...], Figure] = {}
    points: dict[tuple[str, ...], list[Point]] = {}
    for summary in ordered:
        paces = {kind: had.median for kind, had in summary.condition.had.items() if had.median > 0}
        for key, (figure, value) in list_values(summary).items():
            figures[key] = figure
            point = Point(run=summary.run, path=summary.path, started=summary.started, value=value,
                          level=figure.shown.level, paces=paces)  # fmt: skip
            points.setdefault(key, []).append(point)
    return [
        Series(name=f.name, title=f.title, conditions=f.conditions, benchmark=f.benchmark, metric=f.metric,
               unit=f.value.unit, better=f.value.better, points=tuple(points[key]))
        for key, f in figures.items() if f.value
    ]  # fmt: skip


def _judge_series(series: Series) -> Series:
    """Returns the series with its course, and with how the newest value stands to those before it on the same level."""
    values = [point.value for point in series.points]
    course = find_course(values)
    newest = judge_newest(values[course.steps[-1].place if course.steps else 0 :])
    return replace(series, course=course, newest=newest)


def _list_changes(series: Iterable[Series]) -> Iterator[Change]:
    """Yields the steps of all series by the two runs between which they lie, the newest first."""
    places: dict[tuple[str, ...], list[SeriesStep]] = {}
    for one in series:
        for step in one.course.steps:
            found = SeriesStep(series=one, step=step, paces=_find_paces(one, step))
            places.setdefault(tuple(point.run for point in found.ends), []).append(found)
    changes = [(*steps[0].ends, tuple(steps)) for steps in places.values()]
    for before, after, steps in sorted(changes, key=lambda c: read_moment(c[1].started) or datetime.min, reverse=True):
        differences, unread = _compare_conditions(before, after)
        yield Change(before=before, after=after, steps=steps, differences=differences, unread=unread)


def _compare_conditions(before: Point, after: Point) -> tuple[tuple[Difference, ...], str]:
    heads: list[Run] = []
    for point in (before, after):
        try:
            heads.append(records.head(Path(point.path)))
        except SteelyardError as error:
            return (), str(error)
    differences = find_differences(*heads)
    chosen = [d for d in differences if d.group in BETWEEN and find_nature(d.group, d.name)]
    return tuple(chosen), ""


def _find_paces(series: Series, step: Step) -> dict[str, float]:
    """Returns the kinds of pace that changed in the same direction, with their factors."""
    slower = (step.ratio < 1) == (series.better != "lower")
    size = abs(math.log(step.ratio))
    found = {}
    for kind in PACES:
        sides = [
            [p.paces[kind] for p in part if kind in p.paces]
            for part in (series.points[: step.place], series.points[step.place :])
        ]
        if all(sides):
            before, after = map(median_high, sides)
            change = math.log(after / before)
            if (change < 0) == slower and abs(change) >= EXPLAINED * size:
                found[kind] = after / before
    return found
