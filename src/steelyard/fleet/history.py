"""The main figures of a machine over its runs: their steps, and what changed beside these."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median_high

import numpy as np

from steelyard.compare.factors import find_nature
from steelyard.compare.surroundings import ABSENT, Difference, compare_facts, find_differences, list_machine_facts
from steelyard.errors import SteelyardError
from steelyard.fleet.imported_values import list_imported
from steelyard.fleet.series import Point, Series, read_moment
from steelyard.measure import records
from steelyard.model import Run
from steelyard.model.words import joined, plural
from steelyard.show.report.summary import Figure, Summary, list_values, name_machine
from steelyard.statistics.difference.newest import judge_newest
from steelyard.statistics.difference.rank_test import mann_whitney
from steelyard.statistics.difference.steps import CONSTANT, Step, discover, find_course

CHANGED = 0.02  # chance that a pace beside equal runs differs so much on the two sides of a step
EXPLAINED = 0.5  # share of a step, in logarithms, that the pace beside the runs must show, too
PACES = {"issued": "the cores", "stream": "the memory", "exchange": "messages between ranks"}  # kinds that are named
MOST_NAMED = 3  # runs in a note
MOST_BACK = 0.1  # of the runs: more that are older than the one before by name show that names do not follow the time
NAMES = ("host", "system")  # a renamed machine is the same
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
class Renewal:
    """Conditions of the machine that changed between two successive runs, `before` and `run`. `started` is the date of `run`."""

    before: str
    run: str
    started: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The history of one machine. `runs` are its runs, and the files of its imported values, in the order of time.

    `renewals` are the changes of its conditions, the newest first. `notes` say what was left out, and what is doubtful.
    """

    system: str
    runs: tuple[str, ...]
    first: str
    last: str
    series: tuple[Series, ...]
    changes: tuple[Change, ...]
    renewals: tuple[Renewal, ...] = ()
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
    notes += _doubt_clock([(moment, run) for moment, run, _ in known])
    if empty := [one.run for _, _, one in known if not list_values(one)]:
        notes.append(f"{plural(len(empty), 'run')} without a main figure: {joined(empty[:MOST_NAMED])}")
    return [one for _, _, one in known], notes


def _doubt_clock(dated: Sequence[tuple[datetime, str]]) -> Iterator[str]:
    """Yields notes on runs whose date cannot be right. `dated` are the dates and names of the runs."""
    now = datetime.now(UTC)
    if future := [run for moment, run in dated if moment > now]:
        yield f"the date of {joined(future[:MOST_NAMED])} is in the future, so the clock of the machine may have been wrong"
    by_name = sorted((run, moment) for moment, run in dated if moment <= now)
    back = [run for (_, before), (run, moment) in itertools.pairwise(by_name) if moment < before]
    if 0 < len(back) <= MOST_BACK * len(by_name):  # of more, the names do not follow the time
        yield (
            f"by their names, {joined(back[:MOST_NAMED])} came after runs with a later date: the clock of the machine may "
            "have been set back"
        )


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
        renewals=tuple(_list_renewals(ordered))[::-1],
        notes=(*notes, *doubts, *more),
    )


def find_former_name(runs: Sequence[Summary], others: Mapping[str, Sequence[Summary]]) -> str:
    """Returns a note on the only other machine of the same hardware whose runs end before those of this one; "" without one."""
    first, hardware = min(one.started for one in runs), _list_hardware(runs)
    former = [
        name
        for name, rest in others.items()
        if all(one.started < first and not one.condition.foreign for one in rest) and _list_hardware(rest) == hardware
    ]
    if len(former) != 1:
        return ""
    last = max(one.started for one in others[former[0]])
    return (
        f"{former[0]} has the same hardware and no run after {last[:10]}. If this machine was renamed, show both: "
        f"steelyard history {name_machine(runs[0].machine)} {former[0]}"
    )


def _list_hardware(runs: Iterable[Summary]) -> set[tuple[str, int, int]]:
    """Returns the processor, the number of cores and the GiB of memory of each machine."""
    return {(one.machine.processor, len(one.machine.cores), one.machine.memory >> 30) for one in runs}


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
            found = SeriesStep(series=one, step=step, paces=find_paces(one, step))
            places.setdefault(tuple(point.run for point in found.ends), []).append(found)
    changes = [(*steps[0].ends, tuple(steps)) for steps in places.values()]
    for before, after, steps in sorted(changes, key=lambda c: read_moment(c[1].started) or datetime.min, reverse=True):
        differences, unread = _compare_conditions(before, after)
        yield Change(before=before, after=after, steps=steps, differences=differences, unread=unread)


def _list_renewals(ordered: Iterable[Summary]) -> Iterator[Renewal]:
    """Yields the changes of conditions between successive runs, from what their summaries have."""
    listed = ((one, list_machine_facts(one.machine, one.versions)) for one in ordered)
    for (before, had), (after, has) in itertools.pairwise(listed):
        differences = [d for d in compare_facts(had, has) if _is_renewal(d)]
        if differences:
            yield Renewal(before=before.run, run=after.run, started=after.started, differences=tuple(differences))


def _is_renewal(difference: Difference) -> bool:
    """Returns whether somebody changed this; limits are measured anew by each run, and not every user may read all."""
    if difference.name.startswith("limit of ") or ABSENT in (difference.a, difference.b):
        return False
    return difference.name not in NAMES and find_nature(difference.group, difference.name) is not None


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


def find_paces(series: Series, step: Step) -> dict[str, float]:
    """Returns the kinds of pace that changed in the same direction, by more than chance explains, with their factors."""
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
            if (
                (change < 0) == slower
                and abs(change) >= EXPLAINED * size
                and mann_whitney(np.array(sides[0]), np.array(sides[1])) < CHANGED
            ):
                found[kind] = after / before
    return found
