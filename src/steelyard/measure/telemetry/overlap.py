"""Sensors of one source that contain each other, from their readings: two names of one counter, or a sum of other sensors.

The power of all sensors is compared in blocks of time. Two sensors are the same, or one is the sum of others, if they agree in
nearly every block within the precision of the devices. Their power must change so often that separate devices would have
differed. If it changes too little, the overlap is only possible, and totals include both sensors.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log2

import numpy as np
from numpy.typing import NDArray

from steelyard.measure.telemetry import coverage
from steelyard.measure.telemetry.energy import NANO, SURE, Course, Overlap, energy
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.model.sensor import Sensor, Values
from steelyard.model.words import joined

BLOCKS = 200  # greatest number of blocks of time into which a course is divided
RUNS, RUN = 20, 1000  # groups of neighbouring knots that are kept of a long course
HOLE = 1.5  # times its usual length: a block across a hole is none
ENOUGH = 24  # blocks, that are not given up for longer ones
FINE = 1e-3  # share of the power: a finer step distinguishes two devices of the same kind
ROUGH = 0.02  # share of the power: a value that is not known better agrees with many others
APART = 0.01  # share of the power by which two separate devices differ
MISSED = 0.05  # share of the power by which a wrong sum differs
AGREE = 0.95  # share of the blocks
NEAR = 0.1  # of what two numbered devices may differ by: the same counter differs by less in most blocks
CONSTANT = 1e-6  # share of the power: rounding errors of sums
TURNS = 10  # different changes of the power, that two devices do not make alike by chance
BITS = 20  # bits of evidence: separate devices agree this well once in a million
CHANCE = 0.05  # chance that a sum fits by accident: a greater chance leaves a doubt
ROUNDED = 0.375  # of a step, by which each value may be rounded; values that differ by a step do not agree
CERTAIN = 160  # bits, for numbered devices that print few digits; of fewer than half of them nothing is said
MOST_PARTS = 10  # parts of which all sums are tried
# Devices of one kind with a number: drivers and boards count separate ones so. A die has none: it may show its package's counter.
_NUMBERED = re.compile(r"(?<![a-z])(gpu|card|psu?|pws|supply|cpu|package|socket|accel|node)[-_ ]?[0-9]+")


# Returns the names of meters, each with those of the parts that it contains.
Contents = Callable[[Sequence[Sensor]], Iterable[tuple[list[str], list[str]]]]


@dataclass(frozen=True)
class _Table:
    """The power (W) of each course in each block that all courses cover, and its possible error against the others."""

    courses: Sequence[Course]
    watts: NDArray[np.float64]
    steps: Values  # steps of the values, in W
    doubt: NDArray[np.float64]  # W

    def tolerance(self, places: Sequence[int]) -> tuple[Values, Values]:
        """Returns the allowed difference in each block, and the least change of power that exceeds it."""
        skew = self.doubt[[*places]].sum(axis=0)
        steps = self.steps[[*places]]
        if len(places) == 2 and not any(self.courses[place].sensor.resolution for place in places):
            steps = np.full(2, steps.min())  # with few values a step looks too long
        step = ROUNDED * float(steps.sum())
        if len({self.courses[place].sensor.quantity for place in places}) > 1:
            skew = skew + sum(_measure_scatter(self.courses[place], self.watts.shape[1]) for place in places)
        tolerance = skew + step + 1e-9 * np.abs(self.watts[places[0]])
        return tolerance, 4 * skew + 1.25 * step + 4e-9 * np.abs(self.watts[places[0]])


def resolve(courses: Mapping[str, Course]) -> dict[str, Course]:
    """Returns the courses with `overlap` if the readings show that another sensor contains one, and `part_of` if it is sure."""
    courses = _free_parts(courses, _list_contents)
    result = dict(courses)
    keys = {course.sensor.name: key for key, course in courses.items()}
    sources: dict[str, list[str]] = {}
    for sensor in select_summed([course.sensor for course in courses.values()]):
        if not sensor.modelled:
            sources.setdefault(sensor.source, []).append(sensor.name)
    for names in sources.values():
        table = _make_table([courses[keys[name]] for name in names]) if len(names) > 1 else None
        for part, overlap in _find_overlaps(table).items() if table else ():
            course = courses[keys[part]]
            sensor = replace(course.sensor, part_of=overlap.holder) if overlap.sure else course.sensor
            result[keys[part]] = replace(course, sensor=sensor, overlap=overlap)
    return _free_parts(result, _list_contents_of_node)


def _free_parts(courses: Mapping[str, Course], contents: Contents) -> dict[str, Course]:
    """Returns the courses. A whole that contradicts its parts is no meter of it: its parts count instead."""
    result = {course.sensor.name: course for course in courses.values()}
    certain = [course.sensor for course in courses.values() if not course.overlap or course.overlap.sure]
    for holders, parts in sorted(contents(certain), key=lambda pair: len(pair[1])):
        held, wholes = [result[name] for name in parts], [result[name] for name in holders]
        if (still := _is_stuck(held, wholes)) or _exceed_wholes(held, wholes):
            _remove_overlap(result, holders, parts, still)
    return {key: result[course.sensor.name] for key, course in courses.items()}


def _remove_overlap(courses: dict[str, Course], holders: Sequence[str], parts: Sequence[str], still: bool) -> None:
    """Replaces the courses so that the holders count nowhere, and what they contain counts."""
    overlap = Overlap(joined(holders), False, True, more=not still, still=still)
    above = {name: courses[name].sensor.part_of for name in holders}
    for name, course in courses.items():
        holder = parts[0] if name in holders else above.get(course.sensor.part_of, course.sensor.part_of)
        sensor = replace(course.sensor, part_of=holder)
        courses[name] = replace(course, sensor=sensor, overlap=overlap if name in parts else course.overlap)


def _list_contents(sensors: Sequence[Sensor]) -> Iterator[tuple[list[str], list[str]]]:
    """Yields the name of a meter, and of a part that it contains or of all parts that only a number distinguishes.

    The dies of a package may show the same counter, so that they are not added.
    """
    names = {sensor.name: sensor for sensor in sensors}
    numbered: dict[tuple[str, str], list[str]] = {}
    for sensor in sensors:
        if (holder := names.get(sensor.part_of)) and holder.source == sensor.source:
            yield [holder.name], [sensor.name]
            numbered.setdefault((holder.name, re.sub("(?<!die-)(?<![0-9])[0-9]+", "#", sensor.name)), []).append(
                sensor.name
            )
    yield from (([holder], parts) for (holder, _), parts in numbered.items() if len(parts) > 1)


def _list_contents_of_node(sensors: Sequence[Sensor]) -> Iterator[tuple[list[str], list[str]]]:
    """Yields the meters of a node by one source, and the separate parts that other sensors measure."""
    for members in coverage.group_by_host(s for s in select_summed(sensors) if not s.modelled).values():
        chosen = coverage.choose(s for s in members if s.scope not in ("node", "host"))
        nodes: dict[str, list[str]] = {}
        for sensor in members:
            if sensor.scope == "node":
                nodes.setdefault(sensor.source, []).append(sensor.name)
        yield from ((holders, [s.name for s in chosen.sensors]) for holders in nodes.values() if chosen.scope)


def _find_common_time(courses: Sequence[Course]) -> tuple[int, int]:
    begin = max(course.origin + round(float(course.at[0]) / NANO) for course in courses)
    return begin, min(course.origin + round(float(course.at[-1]) / NANO) for course in courses)


def _exceed_wholes(parts: Sequence[Course], wholes: Sequence[Course]) -> bool:
    begin, end = _find_common_time((*parts, *wholes))
    spent = [[energy(course, begin, end) if end > begin else None for course in side] for side in (parts, wholes)]
    low = sum(e.low * (1 - (c.sensor.error or 0.0)) for e, c in zip(spent[0], parts, strict=True) if e)
    high = sum(e.high * (1 + (c.sensor.error or 0.0)) for e, c in zip(spent[1], wholes, strict=True) if e)
    return all(spent[0] + spent[1]) and low > (1 + MISSED) * high


def _is_stuck(parts: Sequence[Course], wholes: Sequence[Course]) -> bool:
    """Returns whether a power has the same value in all readings, while that of its parts changes by more than it could hide."""
    begin, end = _find_common_time((*parts, *wholes))
    slowest = max(max(c.sensor.update, c.sensor.window) for c in wholes)
    if not all(map(_is_constant, wholes)) or (end - begin) * NANO <= ENOUGH * slowest:
        return False
    edges = np.linspace(begin, end, ENOUGH + 1)
    spent = [np.diff(np.interp((edges - c.origin) * NANO, c.at, c.joules)) for c in (*parts, *wholes)]
    seconds = (end - begin) * NANO / ENOUGH
    hidden = max(MISSED * float(np.mean(sum(spent[len(parts) :]))) / seconds, 2 * sum(c.step for c in wholes))
    return bool(np.ptp(sum(spent[: len(parts)])) / seconds > hidden)


def _is_constant(course: Course) -> bool:
    watts = np.diff(course.joules) / np.diff(course.at)
    return course.sensor.quantity == "power" and len(watts) >= ENOUGH and np.ptp(watts) <= CONSTANT * watts.mean()


def thin_out(of: Course) -> Course:
    """Returns the course with fewer knots: groups of neighbours from all of its time. It saves memory for many courses."""
    if len(of.at) <= RUNS * RUN:
        return of
    begins = np.linspace(0, len(of.at) - RUN, RUNS).astype(int)
    knots = (begins[:, None] + np.arange(RUN)).ravel()
    low, high, gap, scatter = (np.add.reduceat(column, knots[:-1]) for column in (of.low, of.high, of.gap, of.scatter))
    return replace(of, at=of.at[knots], joules=of.joules[knots], low=low, high=high, gap=gap, scatter=scatter)


def sentences(courses: Mapping[str, Course], wrong: bool = False) -> list[str]:
    """Returns a sentence for each sensor that contains others. `wrong`: only for those that contradict their parts."""
    groups: dict[Overlap, list[Sensor]] = {}
    for course in courses.values():
        if course.overlap and (course.overlap.more or course.overlap.still or not wrong):
            groups.setdefault(course.overlap, []).append(course.sensor)
    return [_describe_overlap(overlap, parts) for overlap, parts in groups.items()]


def doubtful(courses: Mapping[str, Course]) -> set[str]:
    """Returns the sensors that another sensor may contain."""
    return {course.sensor.name for course in courses.values() if course.overlap and not course.overlap.sure}


def _describe_overlap(of: Overlap, parts: Sequence[Sensor]) -> str:
    names, more = joined(sensor.name for sensor in parts), len(parts) > 1
    if of.more:
        sources, them = joined(dict.fromkeys(sensor.source for sensor in parts)), "them" if more else "it"
        return (
            f"{names} use{'' if more else 's'} more power than {of.holder}, which should include {them}. One of these sensors is "
            f"wrong. The energy by {sources} does not include {of.holder}. Compare them with another meter."
        )
    if of.still:
        return (
            f"{of.holder} shows the same value all the time, while the power of {names} changes. Steelyard does not use "
            f"{of.holder}. Read it with another program to check it."
        )
    if of.sure and of.same:
        rest = "They are the same counter and count" if more else "It is the same counter and counts"
        return f"{names} repeat{'' if more else 's'} the readings of {of.holder}. {rest} once."
    if of.sure:
        return f"{of.holder} is the sum of {names} in all readings. Totals include this sum, but not its parts."
    claim = (
        f"{names} show{'' if more else 's'} the same values as {of.holder} and may be the same counter."
        if of.same
        else f"{of.holder} shows the sum of {names} and may be their total."
    )
    return (
        f"{claim} The readings are too few or vary too little to decide. The energy by {parts[0].source} includes {names}; "
        f"its interval begins at the energy without {'them' if more else 'it'}. Measure for a longer time, while the load "
        "changes."
    )


def _make_table(courses: Sequence[Course]) -> _Table | None:
    """Returns None if the courses have no time in common without gaps."""
    spans = [float(course.at[-1] - course.at[0]) for course in courses]
    long = [course for course, span in zip(courses, spans, strict=True) if span >= max(spans) / 2]
    zero = min(course.origin for course in long)
    starts = [(course.origin - zero) * NANO for course in long]
    begin = max(start + float(course.at[0]) for start, course in zip(starts, long, strict=True))
    end = min(start + float(course.at[-1]) for start, course in zip(starts, long, strict=True))
    blocks = _blocks(long, starts, begin, end)
    if len(long) < 2 or blocks is None:
        return None
    watts = np.array([_find_powers(course, *(blocks - start)) for start, course in zip(starts, long, strict=True)])
    watts = watts[:, np.isfinite(watts).all(axis=0)]
    if not watts.shape[1]:
        return None
    length = float(np.median(blocks[1] - blocks[0]))
    skews = [_find_skew(long[0], course) for course in long]
    doubt = np.array([_bound_error(*item) / length for item in zip(long, watts, skews, strict=True)])
    return _Table(long, watts, np.array([course.step for course in long]), doubt)


def _blocks(courses: Sequence[Course], starts: Sequence[float], begin: float, end: float) -> NDArray[np.float64] | None:
    """Returns begins and ends of blocks, from one reading of the slowest sensor to another one; None if there are none.

    Blocks are short, because a mean of many readings hides differences. For counters, they are long compared with the lag.
    """
    slowest = max(range(len(courses)), key=lambda place: _find_usual_step(courses[place].at))
    at = courses[slowest].at + starts[slowest]
    at = at[(at >= begin) & (at <= end)]
    if len(at) < 2:
        return None
    lag = sum(sorted(course.sensor.update for course in courses if course.sensor.quantity == "energy")[-2:])
    usual = _find_usual_step(at)
    readings = max(round(min(lag / FINE, (end - begin) / ENOUGH) / usual), 1)
    first = np.arange(0, len(at) - readings, max(readings, -(-len(at) // BLOCKS)))
    edges = np.array([at[first], at[first + readings]])
    return edges[:, edges[1] - edges[0] <= HOLE * readings * usual]


def _find_usual_step(at: Values) -> float:
    return float(np.median(np.diff(at)))


def _find_powers(course: Course, begins: Values, ends: Values) -> Values:
    gaps = np.concatenate(([0.0], np.cumsum(course.gap)))
    joules, gap = (
        np.interp(ends, course.at, column) - np.interp(begins, course.at, column) for column in (course.joules, gaps)
    )
    return np.where(gap > 0, np.nan, joules / (ends - begins))


def _find_skew(one: Course, other: Course) -> float:
    """Returns the seconds between the readings of two sensors that are read together."""
    at = (other.at + (other.origin - one.origin) * NANO)[:: -(-len(other.at) // RUN)]
    place = np.clip(np.searchsorted(one.at, at), 1, len(one.at) - 1)
    return float(np.median(np.minimum(np.abs(at - one.at[place - 1]), np.abs(at - one.at[place]))))


def _bound_error(course: Course, watts: Values, skew: float) -> Values:
    """Returns J: the steps and the lag of a counter, and the change between the readings of two sensors."""
    shift = np.full(len(watts), skew * float(np.ptp(watts)))
    if course.sensor.quantity != "energy":
        return shift
    return shift + 2 * course.sensor.resolution + course.sensor.update / 2 * np.abs(watts)


def _measure_scatter(course: Course, blocks: int) -> float:
    """Returns W: the uncertainty between the readings of a momentary power, in a block."""
    return SURE * float(np.sqrt(course.scatter.sum() * blocks)) / float(course.at[-1] - course.at[0])


def _find_overlaps(table: _Table) -> dict[str, Overlap]:
    names, mean = [course.sensor.name for course in table.courses], table.watts.mean(axis=1)
    overlaps: dict[str, Overlap] = {}
    for one, other in combinations(range(len(names)), 2):
        near = abs(mean[one] - mean[other]) <= 2 * ROUGH * mean[one]
        if near and names[one] not in overlaps and names[other] not in overlaps:
            sure = _is_sum(table, one, (other,), _are_numbered(names[one], names[other]))
            if sure is not None:
                overlaps[names[other]] = Overlap(names[one], True, sure)
    separate = [place for place, name in enumerate(names) if name not in overlaps or not overlaps[name].sure]
    for whole, parts, sure in _list_sums(table, separate):
        overlaps |= {names[place]: Overlap(names[whole], False, sure) for place in parts}
    return overlaps


def _are_numbered(one: str, other: str) -> bool:
    return _NUMBERED.sub(r"\1#", one) == _NUMBERED.sub(r"\1#", other)


def _is_sum(table: _Table, whole: int, parts: Sequence[int], numbered: bool = False, tried: float = 1.0) -> bool | None:
    """Returns whether the sum of the parts is surely the whole; None if it is not, or without evidence. `tried`: sums."""
    power, others = table.watts[whole], table.watts[[*parts]].sum(axis=0)
    tolerance, change = table.tolerance((whole, *parts))
    apart = np.abs(power - others)
    if (apart <= tolerance).mean() < AGREE or not power.mean() > 0:
        return None
    if numbered and np.median(apart) > NEAR * np.median(tolerance):
        return None
    rough = float(np.median(tolerance)) / float(power.mean())
    turns = _count_changes(power, float(np.median(change)))
    bits = turns * log2(1 + (APART if len(parts) == 1 else MISSED) / rough)
    if numbered and rough > FINE:
        return None if rough > APART or bits < CERTAIN / 2 else bits >= CERTAIN
    if rough > ROUGH:
        return None
    if turns >= TURNS and bits >= BITS + log2(tried):
        return True
    return False if len(parts) == 1 or log2(tried * rough) - bits < log2(CHANCE) else None


def _count_changes(watts: Values, apart: float) -> int:
    """Returns the number of different changes of power, in steps of the resolution: a load that starts and ends makes two."""
    steps = np.round(watts / apart).astype(np.int64)
    changes = np.stack((steps[:-1], steps[1:]), axis=1)[steps[:-1] != steps[1:]]
    return len(np.unique(changes, axis=0)) if len(changes) else 0


def _list_sums(table: _Table, places: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...], bool]]:
    """Yields sensors that are the sum of smaller ones, the smallest first. A sensor is part of only one sum."""
    mean = table.watts.mean(axis=1)
    rising = sorted((place for place in places if mean[place] > 0), key=lambda place: mean[place])
    within: set[int] = set()
    tried = float(sum(2 ** min(number, MOST_PARTS) for number in range(2, len(rising))))
    for number, whole in enumerate(rising):
        smaller = [place for place in rising[:number] if place not in within]
        fits = [
            (float(np.abs(table.watts[whole] - table.watts[[*parts]].sum(axis=0)).mean()), parts, sure)
            for parts in _list_candidates(smaller, mean, float(mean[whole]))
            if (sure := _is_sum(table, whole, parts, tried=max(tried, 1.0))) is not None
        ]
        if fits:
            _, parts, sure = min(fits, key=lambda fit: (not fit[2], fit[0]))
            within |= {*parts}
            yield whole, parts, sure


def _list_candidates(places: Sequence[int], mean: Values, whole: float) -> Iterator[tuple[int, ...]]:
    """Returns the sets of two or more sensors with nearly the mean power of the whole; for many sensors only the full set."""
    if len(places) > MOST_PARTS:
        sets: Iterator[tuple[int, ...]] = iter([tuple(places)])
    else:
        sets = (parts for size in range(2, len(places) + 1) for parts in combinations(places, size))
    return (parts for parts in sets if abs(mean[[*parts]].sum() - whole) <= 2 * ROUGH * whole)
