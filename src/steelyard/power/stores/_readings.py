"""What an embedded store answers from its readings themselves."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from steelyard.model.sensor import Moments, Reading, Rollup, Sensor, Trace, Values
from steelyard.power.rollup import SECOND, each_level, joined
from steelyard.power.stores._rollups import HOUR, named
from steelyard.power.stores._segments import Segment, database, files

MARGIN = 600 * SECOND  # ns: how far a reading counts beyond its own moment; slower sensors are known in part only
_HOURS = f"select distinct moment // {HOUR}, greatest(moment - {MARGIN}, 0) // {HOUR}"
Described = Mapping[tuple[str, str], Sensor]


def within(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    return [s for s in segments if s.first <= end and s.last >= start]


def trace(segments: Sequence[Segment], node: str, sensor: Sensor, start: int, end: int) -> Trace:
    """The readings from `start` to `end` (ns since 1970), each once."""
    inside = within(segments, start, end)
    if not inside:
        return Trace(sensor, np.empty(0, dtype=np.int64), np.empty(0))
    with database() as opened:
        found = opened.execute(
            f"select distinct moment, value from {files(inside)} "
            "where node = $1 and sensor = $2 and moment between $3 and $4 order by moment",
            [node, sensor.name, start, end],
        ).fetchnumpy()
    return Trace(sensor, found["moment"].astype(np.int64), found["value"].astype(np.float64))


def newest(segments: Sequence[Segment], start: int, end: int) -> dict[tuple[str, str], Reading]:
    """Returns the newest finite reading of each (node, sensor) from `start` to `end` (ns since 1970)."""
    inside = within(segments, start, end)
    if not inside:
        return {}
    with database() as opened:
        rows = opened.execute(
            f"select node, sensor, max(moment), arg_max(value, moment) from {files(inside)} "
            "where moment between $1 and $2 and isfinite(value) group by node, sensor",
            [start, end],
        ).fetchall()
    return {(node, sensor): Reading(sensor, int(at), float(value)) for node, sensor, at, value in rows}


def rolled(
    segments: Sequence[Segment], sensors: Described, levels: Sequence[int], start: int, end: int
) -> list[Rollup]:
    """Of each level the stretches of all these sensors that begin from `start` up to `end`."""
    parts: list[list[Rollup]] = [[] for _ in levels]
    of = list(sensors)
    for number, at, value in _columns(within(segments, start - MARGIN, end + MARGIN), of, start - MARGIN, end + MARGIN):
        found = each_level(of[number][0], Trace(sensors[of[number]], at, value), levels, start, end)
        for part, each in zip(parts, found, strict=True):
            part.append(each)
    return [joined(part, level) for part, level in zip(parts, levels, strict=True)]


def hours(segment: Segment) -> set[int]:
    """The hours (since 1970) of which its readings tell: a reading stands for the time before it, too."""
    first, last = max(segment.first - MARGIN, 0) // HOUR, segment.last // HOUR  # a clock may stand at 1970
    if last - first <= 1 and segment.first // HOUR == last:
        return {first, last}
    with database() as opened:
        return {int(hour) for both in opened.execute(f"{_HOURS} from {files([segment])}").fetchall() for hour in both}


def hours_of(
    segments: Sequence[Segment], node: str, sensors: Sequence[str], of: AbstractSet[int], removed: int
) -> list[int]:
    """Those of the hours `of` in which these sensors have readings, but only hours after `removed` (ns since 1970)."""
    begin, end = max(min(of) * HOUR, removed), (max(of) + 1) * HOUR
    inside = within(segments, begin, end + MARGIN)
    if not inside:
        return []
    with database() as opened:
        found = opened.execute(
            f"{_HOURS} from {files(inside)} "
            "where node = $1 and sensor in (select unnest($2::varchar[])) and moment between $3 and $4",
            [node, list(sensors), begin, end + MARGIN],
        ).fetchall()
    return sorted({int(hour) for both in found for hour in both if hour in of and hour * HOUR > removed})


def _columns(
    segments: Sequence[Segment], sensors: Sequence[tuple[str, str]], start: int, end: int
) -> list[tuple[int, Moments, Values]]:
    """Of each sensor that has readings its number, their moments and their values."""
    if not segments or not sensors:
        return []
    with database() as opened:
        named(opened, sensors)
        found = opened.execute(
            f"select id, moment, value from {files(segments)} join names using (node, sensor) "
            "where moment between $1 and $2 order by id, moment",
            [start, end],
        ).fetchnumpy()
    number, at, value = found["id"], found["moment"].astype(np.int64), found["value"].astype(np.float64)
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    ends = [*begins[1:], len(number)][: len(begins)]  # none where there are no readings
    return [(int(number[b]), at[b:e], value[b:e]) for b, e in zip(begins, ends, strict=True)]
