"""The embedded store: a folder of Parquet segments, written whole or not at all and read by DuckDB. It needs no server.

    format.json         the number of the form
    sensors.jsonl       what each node's sensors are, a line each time that a node says it anew
    segments/           FIRST-LAST-ID.parquet, from and to which moment (ns since 1970): node, sensor, moment, value, sorted so
    rollups/            LEVEL/FIRST-LAST.parquet, what the readings of these hours give (`_rollups.py`)
    keep.json           for how many seconds what is kept; what it does not name is kept for ever, rollups of a second for a week

A segment's own metadata names the batches that are in it, the gaps, and the segments that it replaces: one rename makes all of
that true at once. A batch that comes again is found there, whoever wrote it first; writers take turns by a lock.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import Batch, Gap
from steelyard.power.rollup import joined
from steelyard.power.stores import AHEAD, END, _readings, _tidying
from steelyard.power.stores._columns import Columns, columns
from steelyard.power.stores._index import Index
from steelyard.power.stores._rollups import HOUR, Rollups, named
from steelyard.power.stores._segments import Metadata, Sequences, database, files, written
from steelyard.power.stores._tidying import Tidying

TRIES = 5  # of a question whose files were replaced meanwhile
SELDOM = 60.0  # seconds between two looks for what is to be tidied up

Answer = TypeVar("Answer")


class Embedded:
    """A store in a folder (`stores.Store`). `notes` says which segments could not be read: the others are answered."""

    def __init__(self, folder: Path, make: bool = False) -> None:
        self._folder = folder
        with self._said("be opened"):
            self._index = Index(folder, make)
        self._rollups = Rollups(folder)
        self._tidying = Tidying(self._index, self._rollups)
        self._tidied = time.monotonic()
        self.notes = self._index.notes

    # ------------------------------------------------------------------ writing

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        with self._said("be written"), self._index.locked():
            new = {*sensors} - {*self._index.sensors.get(node, ())}
            self._index.describe(node, sensors)
            if new and (made := self._rollups.hours()):  # before, their readings could not become rollups
                names = [sensor.name for sensor in new]
                self._rollups.forget(
                    _readings.hours_of(list(self._index.read.values()), node, names, made, self._index.removed)
                )

    def write(self, batches: Sequence[Batch]) -> None:
        """Returns when the batches are on the disk; those that were stored before are left out."""
        with self._said("be written"), self._index.locked():
            new: dict[tuple[str, int], Batch] = {}
            for batch in batches:
                if not self._index.has(batch):
                    new.setdefault((batch.source, batch.sequence), batch)
            if new:
                self._add(list(new.values()))
                self._tidying.merge()
        if time.monotonic() - self._tidied > SELDOM:
            try:
                self._tidy(time.time_ns(), most=1)
            except MachineFailed as failed:  # the readings are stored: that is what counts here
                self._note(str(failed))
            self._tidied = time.monotonic()

    def tidy(self, now: int) -> None:
        """Makes the rollups of hours that are over, and removes what is older than it is to be kept. `now`: ns since 1970."""
        self._tidy(now)

    def keep(self, keeping: Mapping[str, float]) -> None:
        with self._said("be written"), self._index.locked():
            _tidying.keep(self._folder, {**_tidying.kept(self._folder), **keeping})

    def close(self) -> None:
        """Nothing is kept open."""

    def _add(self, batches: Sequence[Batch]) -> None:
        known: dict[str, Sequences] = {}
        for batch in batches:
            known.setdefault(batch.source, Sequences()).add(batch.sequence, batch.sequence)
        removed = self._index.removed
        about = Metadata(
            {writer: found.stretches for writer, found in known.items()},
            [(batch.node, gap) for batch in batches for gap in (*batch.gaps, *_late(batch, removed))],
        )
        names, found = self._apart(*columns(batches))
        moments = found["moment"]
        touched = {
            int(h)
            for shift in (-_readings.MARGIN, _readings.MARGIN)
            for h in np.unique(np.maximum(moments + shift, 0) // HOUR)
        }
        self._rollups.forget([hour for hour in sorted(touched) if hour * HOUR > removed])
        self._segment(names, found, about)

    def _segment(self, names: list[tuple[str, str]], found: Columns, about: Metadata) -> None:
        moments = found["moment"]
        span = (int(moments.min()), int(moments.max())) if len(moments) else (0, 0)
        with database() as opened:
            named(opened, names)
            opened.register("columns", found)
            listed = "(select list({} order by id) from names)[id + 1] as {}".format
            chosen = f"select {listed('node', 'node')}, {listed('sensor', 'sensor')}, moment, value from columns"
            # The least effort of zstd: what is merged later is packed again.
            self._index.learn(written(self._index.segments, opened, chosen, span, about, level=1), about)

    def _apart(self, names: list[tuple[str, str]], found: Columns) -> tuple[list[tuple[str, str]], Columns]:
        """Without what is far ahead of this machine's clock: that is kept in a segment of its own.

        Beside it, what is old would never be removed. It is written first: killed in between, the batch comes again.
        """
        ahead = found["moment"] > time.time_ns() + AHEAD
        if ahead.any():
            nodes = sorted({names[number][0] for number in np.unique(found["id"][ahead])})
            self._note(
                f"Readings of {', '.join(nodes)} are dated more than a day ahead. They are stored apart; check that clock."
            )
            self._segment(names, {name: column[ahead] for name, column in found.items()}, Metadata({}, []))
            found = {name: column[~ahead] for name, column in found.items()}
        return names, found

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _tidy(self, now: int, most: int | None = None) -> None:
        """With at most so many hours, for who has more to do."""
        left = most
        # Whatever it is: the segments stay as they are, and who collects goes on.
        with self._said("be tidied up; nothing was removed", ValueError, ArithmeticError, LookupError, TypeError):
            while left is None or left > 0:
                with self._index.locked():
                    if not self._tidying.hour(now):
                        self._tidying.days(now)
                        # A clock that is ahead must not remove everything: nothing is older than the newest reading makes it.
                        sound = [s.last for s in self._index.read.values() if s.first <= now + AHEAD]
                        self._tidying.retain(min(now, max(sound, default=now)))
                        break
                left = None if left is None else left - 1

    # ------------------------------------------------------------------ reading

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        self._index.refresh()
        return dict(self._index.sensors)

    def trace(self, node: str, sensor: str, start: int = 0, end: int = END) -> Trace:
        described = self._described(node, sensor)
        return self._answered(lambda: _readings.trace(list(self._index.read.values()), node, described, start, end))

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        return self._answered(lambda: _readings.newest(list(self._index.read.values()), start, end))

    def rollup(self, sensors: Sequence[tuple[str, str]], level: int, start: int, end: int) -> Rollup:
        known = {(node, sensor): self._described(node, sensor) for node, sensor in sensors}

        def answer() -> Rollup:
            ready, hours = self._rollups.read(level, list(known), start, end)
            segments = list(self._index.read.values())
            others = [
                _readings.rolled(segments, known, (level,), begin, until)[0]
                for begin, until in _stretches(self._left(start, end, hours), start, end)
            ]
            return _sorted(joined([ready, *others], level)) if others else ready

        return self._answered(answer)

    def gaps(self, node: str, start: int = 0, end: int = END) -> list[Gap]:
        self._index.refresh()
        mine = {gap for of, gap in self._index.gaps if of == node and gap.start <= end and gap.end >= start}
        return sorted(mine, key=lambda gap: (gap.start, gap.end))

    def count(self) -> int:
        def answer() -> int:
            if not self._index.read:
                return 0
            with database() as opened:
                asked = f"select count(*) from {files(list(self._index.read.values()))}"
                (found,) = opened.execute(asked).fetchone() or (0,)
            return int(found)

        return self._answered(answer)

    def _described(self, node: str, sensor: str) -> Sensor:
        for refreshed in (False, True):
            if refreshed:
                self._index.refresh()
            for each in self._index.sensors.get(node, ()):
                if each.name == sensor:
                    return each
        raise UsageError(f"The store '{self._folder}' has no sensor '{sensor}' of the node '{node}'.")

    def _left(self, start: int, end: int, done: set[int]) -> list[int]:
        """The hours from `start` up to `end` of which readings may tell and that are not `done`."""
        first, last = start // HOUR, (end - 1) // HOUR
        spans = [((s.first - _readings.MARGIN) // HOUR, s.last // HOUR) for s in self._index.read.values()]
        touched = {hour for a, b in spans for hour in range(max(a, first), min(b, last) + 1)}
        return sorted(touched - done)

    def _answered(self, answer: Callable[[], Answer]) -> Answer:
        """Asked again where a file was replaced between looking for it and reading it."""
        import duckdb

        with self._said("be read"):
            for _ in range(TRIES - 1):
                self._index.refresh()
                with contextlib.suppress(OSError, duckdb.IOException):
                    return answer()
            self._index.refresh()
            return answer()

    @contextlib.contextmanager
    def _said(self, what: str, *surprises: type[Exception]) -> Iterator[None]:
        import duckdb

        known: tuple[type[Exception], ...] = (OSError, duckdb.Error, UnicodeDecodeError, *surprises)
        try:
            yield
        except known as error:
            why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            if isinstance(error, UnicodeDecodeError):  # DuckDB repeats a damaged file's bytes in its error
                why = "a file in it is damaged"
            raise MachineFailed(f"The store '{self._folder}' cannot {what}: {why}.") from error


def _late(batch: Batch, removed: int) -> list[Gap]:
    """What of a batch no rollup will hold: the readings of that time have been removed, and it cannot be made anew."""
    old = batch.at[batch.at <= removed]
    why = "came after the readings of that time had been removed"
    return [Gap(batch.sensors, int(old.min()), int(old.max()), why)] if len(old) else []


def _stretches(hours: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """From and to which moment hours lie that follow each other, within `start` to `end`."""
    first = 0
    for place, hour in enumerate(hours):
        if place + 1 == len(hours) or hours[place + 1] != hour + 1:
            yield max(hours[first] * HOUR, start), min((hour + 1) * HOUR, end)
            first = place + 1


def _sorted(found: Rollup) -> Rollup:
    order = np.lexsort((found.at, found.number))
    return Rollup(
        found.seconds,
        found.sensors,
        found.number[order],
        found.at[order],
        found.count[order],
        found.least[order],
        found.mean[order],
        found.greatest[order],
        found.joules[order],
        found.known[order],
    )
