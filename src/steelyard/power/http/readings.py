"""Queries of the store: one call at a time, with limits on the number of readings and on the time."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from steelyard.errors import UsageError
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import Gap
from steelyard.power.rollup import SECOND, joined
from steelyard.power.stores import END, Store

Name = tuple[str, str]  # node ("SYSTEM/NODE") and sensor

MOST_READINGS = 20_000_000  # of a query, and as many stretches: 320 MB
LONGEST = 30.0  # seconds of a query
AT_ONCE = 2  # queries; others wait
_PIECE = 6 * 3600 * SECOND  # the first piece of a trace
_LONGEST_PIECE = 32 * 86400 * SECOND
_MANY = 500_000  # readings of a piece: the next one is shorter
_ROWS = 2_000_000  # stretches that one call to the store may give


class TooMuch(UsageError):
    """A valid query whose answer would be too large or too slow."""


class Readings:
    """The store for many queries at once. Only one query reads it at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asking = threading.Lock()
        self._room = threading.BoundedSemaphore(AT_ONCE)

    @contextmanager
    def query(self) -> Iterator["Query"]:
        """Waits until there is room for a query, and counts what it reads."""
        with self._room:
            yield Query(self)

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        with self._asking:
            return self._store.sensors()

    def newest(self, start: int, end: int) -> dict[Name, Reading]:
        with self._asking:
            return self._store.newest(start, end)

    def gaps(self, node: str, start: int, end: int) -> list[Gap]:
        with self._asking:
            return self._store.gaps(node, start, end)

    def trace(self, node: str, sensor: str, start: int, end: int) -> Trace:
        with self._asking:
            return self._store.trace(node, sensor, start, end)

    def rollup(self, sensors: Sequence[Name], level: int, start: int, end: int) -> Rollup:
        with self._asking:
            return self._store.rollup(sensors, level, start, end)


class Query:
    """One query. TooMuch if it reads too much or takes too long."""

    def __init__(self, of: Readings) -> None:
        self._of = of
        self._end = time.monotonic() + LONGEST
        self._read = 0

    def trace(self, node: str, sensor: Sensor, start: int, end: int) -> Trace:
        """Returns the readings from `start` up to, but not including, `end` (ns since 1970)."""
        pieces = list(self._pieces(node, sensor.name, max(start, 0), min(end, END)))
        none = Trace(sensor, np.empty(0, dtype=np.int64), np.empty(0))
        return Trace(
            sensor, np.concatenate([p.at for p in (none, *pieces)]), np.concatenate([p.value for p in (none, *pieces)])
        )

    def rollup(self, sensors: Sequence[Name], level: int, start: int, end: int) -> Iterator[tuple[Name, Rollup]]:
        """Yields the rollup of each sensor in turn, as `Store.rollup` gives it."""
        start, end = max(start, 0), min(end, END)
        rows = max(1, (end - start) // (level * SECOND))
        together = max(1, _ROWS // rows)
        width = _ROWS * level * SECOND
        for place in range(0, len(sensors), together):
            some = sensors[place : place + together]
            parts = [self._of.rollup(some, level, begin, min(begin + width, end)) for begin in range(start, end, width)]
            self._count(sum(len(part.at) for part in parts))
            whole = joined(parts, level)
            for name in some:
                yield name, _only(whole, name)

    def _pieces(self, node: str, sensor: str, first: int, last: int) -> Iterator[Trace]:
        """Yields a trace in pieces, so that too many readings are noticed before they fill the memory."""
        length, begin = _PIECE, first
        while begin < last:
            end = min(begin + length, last)
            piece = self._of.trace(node, sensor, begin, end - 1)
            self._count(len(piece.at))
            yield piece
            length = min(2 * length, _LONGEST_PIECE) if len(piece.at) < _MANY else max(length // 2, SECOND)
            begin = end

    def _count(self, more: int) -> None:
        self._read += more
        if self._read > MOST_READINGS:
            raise TooMuch(
                f"The query reads more than {MOST_READINGS} readings. Ask for fewer sensors or a shorter period."
            )
        if time.monotonic() > self._end:
            raise TooMuch(f"The query takes longer than {LONGEST:.0f} s. Ask for fewer sensors or a shorter period.")


def _only(rollup: Rollup, name: Name) -> Rollup:
    rows = (
        rollup.number == rollup.sensors.index(name) if name in rollup.sensors else np.zeros(len(rollup.at), dtype=bool)
    )
    return Rollup(
        seconds=rollup.seconds,
        sensors=(name,),
        number=np.zeros(int(rows.sum()), dtype=np.int32),
        at=rollup.at[rows],
        count=rollup.count[rows],
        least=rollup.least[rows],
        mean=rollup.mean[rows],
        greatest=rollup.greatest[rows],
        joules=rollup.joules[rows],
        known=rollup.known[rows],
    )
