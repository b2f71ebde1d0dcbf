"""New readings of a store, printed as they arrive."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from steelyard.measure.telemetry.watched import Stretch
from steelyard.model.sensor import Sensor, Trace
from steelyard.model.units import quantity
from steelyard.power.command_line import readings_output, rollup_rows
from steelyard.power.command_line.sensor_selection import Part, select_parts
from steelyard.power.command_line.time_ranges import SECOND, When
from steelyard.power.stores import AHEAD
from steelyard.show.command_line import streams

if TYPE_CHECKING:
    from steelyard.power.stores import Store

FIRST = 10  # readings, or stretches, with which it begins
LATE = 60 * SECOND  # ns: what comes later than that after younger readings of its sensor is not shown
LOOK = 1.0  # seconds between two looks
LAST = 1 << 62  # ns: later than any moment

Line = tuple[int, str]  # its moment, and what is printed


@dataclass
class Place:
    """The readings of a sensor that were printed: up to `newest` (ns since 1970), and the moments of the last minute."""

    newest: int
    shown: set[int] = field(default_factory=set)


def follow(store: "Store", words: str | None, level: int | None, as_json: bool, wait: Callable[[float], bool]) -> None:
    """Prints new readings once a second, each time in order, until `wait` returns True or nobody reads the output."""
    places: dict[tuple[str, str], Place] = {}
    always = When("", (Stretch("", 0, LAST),))
    while not streams.is_reader_gone():
        began = time.monotonic()
        chosen, _ = select_parts(store, [words] if words else [], always)
        earlier = set(places)
        fresh = [(part.node, s) for part in chosen for s in part.sensors if (part.node, s.name) not in earlier]
        lines = sorted(_read_last(store, fresh, places, level, as_json))[-FIRST:]
        for part in chosen:
            for sensor in part.sensors:
                if (part.node, sensor.name) in earlier:
                    lines += _read_new(store, part.node, sensor, places[part.node, sensor.name], level, as_json)
        for _, line in sorted(lines):
            print(line)
        sys.stdout.flush()
        if wait(max(LOOK - (time.monotonic() - began), 0.0)):
            return


def _read_last(
    store: "Store",
    fresh: list[tuple[str, Sensor]],
    places: dict[tuple[str, str], Place],
    level: int | None,
    as_json: bool,
) -> Iterator[Line]:
    """Yields the last readings of each sensor that was not printed before."""
    for node, sensor in fresh:
        trace = _read_recent(store, node, sensor)
        newest = int(trace.at[-1]) if len(trace.at) else time.time_ns() - LATE
        if level is None:
            places[node, sensor.name] = Place(newest, {int(at) for at in trace.at[trace.at > newest - LATE]})
            yield from _format_readings(node, Trace(sensor, trace.at[-FIRST:], trace.value[-FIRST:]), as_json)
        else:
            whole = newest // (level * SECOND) * level * SECOND
            places[node, sensor.name] = Place(whole)
            yield from _format_intervals(store, node, sensor, whole - FIRST * level * SECOND, whole, level, as_json)


def _read_recent(store: "Store", node: str, sensor: Sensor) -> Trace:
    """Returns at least the last FIRST readings, if there are so many. It searches farther and farther back."""
    now = time.time_ns()
    for back in (LATE, 60 * LATE, 60 * 24 * LATE):
        trace = store.trace(node, sensor.name, now - back, now + AHEAD)
        if len(trace.at) >= FIRST:
            return trace
    # A sensor without recent readings: only the hours that have readings are read.
    hours = store.rollup([(node, sensor.name)], 3600, 0, now)
    until = np.cumsum(hours.count[::-1])[::-1]  # readings from each hour on
    enough = np.flatnonzero(until >= FIRST)
    return store.trace(node, sensor.name, int(hours.at[enough[-1]]) if len(enough) else 0, now + AHEAD)


def _read_new(
    store: "Store", node: str, sensor: Sensor, place: Place, level: int | None, as_json: bool
) -> Iterator[Line]:
    start = max(place.newest - (LATE - 1 if level is None else 0), 0)
    trace = store.trace(node, sensor.name, start, time.time_ns() + AHEAD)
    if not len(trace.at):
        return
    newest = int(trace.at[-1])
    if level is not None:
        whole = newest // (level * SECOND) * level * SECOND
        if whole > place.newest:
            yield from _format_intervals(store, node, sensor, place.newest, whole, level, as_json)
            place.newest = whole
        return
    fresh = [int(at) not in place.shown for at in trace.at]
    yield from _format_readings(node, Trace(sensor, trace.at[fresh], trace.value[fresh]), as_json)
    place.newest = max(newest, place.newest)
    place.shown = {int(at) for at in trace.at if at > place.newest - LATE}


def _format_readings(node: str, trace: Trace, as_json: bool) -> Iterator[Line]:
    name, unit = f"{node}/{trace.sensor.name}", trace.sensor.unit
    for at, value in zip(trace.at.tolist(), trace.value.tolist(), strict=True):
        when = datetime.fromtimestamp(at / SECOND).isoformat(" ", "milliseconds")
        yield (
            at,
            readings_output.format_json_line(name, at, value)
            if as_json
            else f"{when}  {name}  {quantity(value, unit, 6)}",
        )


def _format_intervals(
    store: "Store", node: str, sensor: Sensor, start: int, end: int, level: int, as_json: bool
) -> Iterator[Line]:
    """Yields the rows of complete intervals: a later reading has arrived."""
    part = Part(node, (sensor,), (Stretch("", max(start, 0), end),))
    for rollup in rollup_rows.read_rollups(store, part, level):
        for row in rollup_rows.list_rows(rollup):
            as_text = json.dumps(dict(zip(rollup_rows.COLUMNS, row, strict=True)))
            when, count, least, mean, most, joules, _ = rollup_rows.format_row(row, sensor)
            yield (
                row[1],
                as_text if as_json else f"{when}  {row[0]}  {mean} ({least} – {most}, {count} readings, {joules})",
            )
