"""Queries of an embedded store about a sensor, in one state of its database."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.model.plain import from_json, from_plain
from steelyard.model.sensor import Moments, Reading, Rollup, Sensor, Trace, Values
from steelyard.power.message import Batch, Gap, Refused, decode, is_name
from steelyard.power.rollup import COLUMNS, HOUR, LEVELS, MARGIN, choose, join_rollups, make_rollup, roll_up_levels
from steelyard.power.stores._columns import make_columns
from steelyard.power.stores._database import DAMAGE
from steelyard.power.stores._packing import unpack

Content = TypeVar("Content")
CHUNKS = dict(zip(LEVELS, (1, 24, 720), strict=True))  # hours that a row of rollups holds


class Snapshot:
    """`note` is told what cannot be read: it is left out."""

    def __init__(self, base: sqlite3.Connection, note: Callable[[str], None]) -> None:
        self._base, self._note = base, note
        self._fresh: tuple[tuple[object, ...], list[Batch]] = ((), [])

    # ------------------------------------------------------------------ sensors and settings

    def sensors(self, node: str | None = None) -> dict[str, tuple[Sensor, ...]]:
        """Returns the sensors of one node or of all nodes."""
        where, of = ("", ()) if node is None else (" where node = ?", (node,))
        found = {}
        for name, text in self._base.execute(f"select node, sensors from described{where}", of):
            sensors = self._read("description of a node", _read_content, tuple[Sensor, ...], text)
            if sensors is not None and is_name(name):
                found[name] = sensors
        return found

    def gaps(self, node: str, start: int, end: int) -> list[Gap]:
        texts = self._base.execute("select distinct gap from gaps where node = ?", (node,))
        found = [self._read(f"gap of {node}", _read_content, Gap, text) for (text,) in texts]
        return sorted(
            (gap for gap in found if gap and gap.start <= end and gap.end >= start), key=lambda g: (g.start, g.end)
        )

    def settings(self) -> dict[str, float]:
        return dict(self._base.execute("select name, value from settings"))

    @property
    def removed(self) -> int:
        """Returns the hours up to this one (since 1970) whose readings have been removed."""
        return int(self.settings().get("removed", -1))

    # ------------------------------------------------------------------ readings

    def trace(self, node: str, sensor: Sensor, start: int, end: int) -> Trace:
        """Returns the readings from `start` to `end` (ns since 1970) in the order of time, each once."""
        found = [*self.parts(node, sensor.name, start, end), *self._lately(node, sensor.name, start, end)]
        if not found:
            return Trace(sensor, np.empty(0, np.int64), np.empty(0))
        at, value = (np.concatenate([part[column] for part in found]) for column in (0, 1))
        order = np.lexsort((value, at))
        at, value = at[order], value[order]
        wanted = (at >= start) & (at <= end)
        wanted[1:] &= (at[1:] != at[:-1]) | (value[1:] != value[:-1])
        return Trace(sensor, at[wanted], value[wanted])

    def parts(self, node: str, sensor: str, start: int, end: int) -> Iterator[tuple[Moments, Values]]:
        """Yields the parts that have readings from `start` to `end`, the newest first."""
        rows = self._base.execute(
            "select body from parts where node = ? and sensor = ? and hour between ? and ? and first <= ? and last >= ? "
            "order by hour desc, last desc",
            (node, sensor, start // HOUR, end // HOUR, end, start),
        )
        for (body,) in rows:
            found = self._read(f"part of {node}/{sensor}", unpack, body, 2)
            if found:
                yield found[0], found[1]

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        """Returns the newest reading of each (node, sensor) from `start` to `end` (ns since 1970)."""
        found: dict[tuple[str, str], Reading] = {}
        for node, sensors in self.sensors().items():
            found |= self._newest_fresh(node, start, end)
            for sensor in (each.name for each in sensors):
                newest = found[node, sensor].at if (node, sensor) in found else start - 1
                for at, value in self.parts(node, sensor, newest + 1, end):
                    if at[-1] <= newest:
                        break  # the following rows are also too old
                    place = int(np.searchsorted(at, end, "right")) - 1
                    if at[place] > newest:
                        newest = int(at[place])
                        found[node, sensor] = Reading(sensor, newest, float(value[place]))
        return found

    def _newest_fresh(self, node: str, start: int, end: int) -> dict[tuple[str, str], Reading]:
        batches = self.fresh(node, start, end)
        if not batches:
            return {}
        names, found = make_columns(batches)
        inside = (found["moment"] >= start) & (found["moment"] <= end)
        number, at, value = (found[name][inside] for name in ("id", "moment", "value"))
        lasts = np.flatnonzero(np.diff(number, append=-1))
        return {
            names[number[last]]: Reading(names[number[last]][1], int(at[last]), float(value[last])) for last in lasts
        }

    def _lately(self, node: str, sensor: str, start: int, end: int) -> Iterator[tuple[Moments, Values]]:
        for batch in self.fresh(node, start, end):
            if sensor in batch.sensors:
                mine = batch.number == batch.sensors.index(sensor)
                yield batch.at[mine], batch.value[mine]

    def fresh(self, node: str, start: int, end: int) -> list[Batch]:
        """Returns the batches of a node that are no parts yet; those of one node are kept until another is asked for."""
        if self._fresh[0] != (node, start, end):
            rows = self._base.execute(
                "select body from batches where node = ? and first <= ? and last >= ?", (node, end, start)
            )
            found = (self._read(f"batch of {node}", decode, node, body) for (body,) in rows)
            self._fresh = (node, start, end), [batch for batch in found if batch]
        return self._fresh[1]

    # ------------------------------------------------------------------ rollups

    def rollup(self, node: str, sensor: Sensor, level: int, start: int, end: int) -> Rollup:
        """Returns the intervals of `level` seconds that begin from `start` up to `end`: stored ones, and the rest made now."""
        kept, ready = self._kept(node, sensor.name, level, start, end)
        parts = [kept]
        for first, last in _list_uncovered_times(ready.tolist(), start, end):
            trace = self.trace(node, sensor, max(first - MARGIN, 0), last + MARGIN)
            if not len(trace.at):
                continue
            touched = np.unique(np.concatenate((np.maximum(trace.at - MARGIN, 0), trace.at)) // HOUR)
            for run in np.split(touched, np.flatnonzero(np.diff(touched) != 1) + 1):
                if len(run):
                    begin, until = max(int(run[0]) * HOUR, first), min((int(run[-1]) + 1) * HOUR, last)
                    around = (trace.at >= begin - MARGIN) & (trace.at <= until + MARGIN)
                    of = Trace(sensor, trace.at[around], trace.value[around])
                    parts += roll_up_levels(node, of, (level,), begin, until) if begin < until else []
        if len(parts) == 1:
            return kept
        found = join_rollups(parts, level)
        return choose(found, np.argsort(found.at, kind="stable"))

    def chunk(self, level: int, node: str, sensor: str, chunk: int) -> Rollup | None:
        row = self._base.execute(
            "select body from rollups where level = ? and node = ? and sensor = ? and chunk = ?",
            (level, node, sensor, chunk),
        ).fetchone()
        return self._unpacked(level, (node, sensor), row[0]) if row else None

    def _kept(self, node: str, sensor: str, level: int, start: int, end: int) -> tuple[Rollup, NDArray[np.int64]]:
        """Returns the stored rollups, and the hours that have only rollups."""
        first, last = start // HOUR, (end - 1) // HOUR
        rows = self._base.execute(
            "select chunk, body from rollups where level = ? and node = ? and sensor = ? and chunk between ? and ? "
            "order by chunk",
            (level, node, sensor, first // CHUNKS[level], last // CHUNKS[level]),
        ).fetchall()
        chunks = {chunk: found for chunk, body in rows if (found := self._unpacked(level, (node, sensor), body))}
        ready = np.array(
            [
                hour
                for (hour,) in self._base.execute(
                    "select hour from hours where node = ? and sensor = ? and hour between ? and ? and not stale order by hour",
                    (node, sensor, first, last),
                )
                if hour // CHUNKS[level] in chunks
            ],
            dtype=np.int64,
        )
        removed = self.removed
        for batch in self.fresh(node, max(start - MARGIN, 0), end + MARGIN):
            low, high = (int(batch.at.min()) - MARGIN) // HOUR, (int(batch.at.max()) + MARGIN) // HOUR
            ready = ready[(ready <= removed) | (ready < low) | (ready > high)]
        parts = list(chunks.values())
        found = parts[0] if len(parts) == 1 else join_rollups(parts, level)
        wanted = np.isin(found.at // HOUR, ready) & (found.at >= start) & (found.at < end)
        return choose(found, np.flatnonzero(wanted)), ready

    def _unpacked(self, level: int, of: tuple[str, str], body: bytes) -> Rollup | None:
        found = self._read(f"rollup of {'/'.join(of)}", unpack, body, len(COLUMNS))
        return make_rollup(level, of, found) if found else None

    def _read(self, what: str, read: Callable[..., Content], *of: object) -> Content | None:
        try:
            return read(*of)
        except (Refused, *DAMAGE) as error:
            self._note(f"A {what} is left out: it is damaged ({error}).")
            return None


def _read_content(kind: type[Content], text: str) -> Content:
    return from_plain(kind, from_json(text.encode()))


def _list_uncovered_times(hours: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Returns the spans (begin, end) of the time from `start` to `end` that lie in none of these hours, in their order."""
    begin = start
    for hour in hours:
        if hour * HOUR > begin:
            yield begin, hour * HOUR
        begin = max(begin, (hour + 1) * HOUR)
    if begin < end:
        yield begin, end
