"""The embedded store: a folder with an SQLite database. It needs no server.

A batch is a row as it came, by node, writer and sequence, until it becomes parts within a minute or so: the readings of a
sensor in an hour. Of each hour that is over, rollups are made. A batch that comes again is found by its key, whoever wrote it
first.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.plain import to_json
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import Batch, Gap, encode
from steelyard.power.rollup import HOUR, join_rollups
from steelyard.power.stores import AHEAD, END, _tidying
from steelyard.power.stores._columns import Place, find_span
from steelyard.power.stores._database import Database
from steelyard.power.stores._snapshot import Snapshot

SELDOM = 60.0  # seconds between two looks for what is to be tidied up
SOON = 5.0  # seconds until the store is tidied again, if the last time left work
LONGEST = 2.0  # seconds that such a look takes, about: readings wait meanwhile
BRIEF = 0.05  # seconds of a transaction after which others get their turn
POLL = 0.12  # seconds: SQLite looks every 0.1 s whether it may write
MOST_NOTES = 100
MOST_NODES = 5  # nodes that a note names
FORGET = "delete from batches where node = ''"


class Embedded:
    """A store in a folder (`stores.Store`). `notes` names data that could not be read; the rest is used."""

    def __init__(self, folder: Path, make: bool = False) -> None:
        self._folder = folder
        self.notes: list[str] = []
        self._database = Database(folder, make)
        self._tidied = time.monotonic()
        self.at_once = 400_000
        self._ahead = False

    # ------------------------------------------------------------------ writing

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        with self._database.writing() as base:
            snapshot = Snapshot(base, self._note)
            before = snapshot.sensors(node).get(node, ())
            if before == tuple(sensors):
                return
            base.execute("insert or replace into described values (?, ?)", (node, to_json(tuple(sensors)).decode()))
            # Before, their readings could not become rollups, or became others.
            new = [(node, sensor.name, snapshot.removed) for sensor in {*sensors} - {*before}]
            base.executemany("update hours set stale = 1 where node = ? and sensor = ? and hour > ?", new)

    def write(self, batches: Sequence[Batch]) -> None:
        """Returns when the batches are on the disk, without those that were stored before."""
        ahead: set[str] = set()
        with self._database.writing() as base:
            kept = (Snapshot(base, self._note).removed + 1) * HOUR  # readings from this moment on are kept
            for batch in batches:
                key = _tidying.identify_batch(batch)
                if _tidying.is_stored(base, key):
                    continue
                first, last = find_span(batch)
                row = (*key, first, last, len(batch.at), batch.payload or encode(batch))
                base.execute("insert into batches values (?, ?, ?, ?, ?, ?, ?)", row)
                gaps = [(batch.node, to_json(gap).decode()) for gap in (*batch.gaps, *_report_late(batch, kept))]
                base.executemany("insert into gaps values (?, ?)", gaps)
                ahead |= {batch.node} if last > time.time_ns() + AHEAD else set()
        if ahead and not self._ahead:
            self._ahead = True  # said once: there may be very many nodes
            self._note(
                f"Readings of {', '.join(sorted(ahead)[:MOST_NODES])} have times that are more than one day in the future. Check "
                "the clock of this node."
            )
        if time.monotonic() - self._tidied > SELDOM:
            done = True
            try:
                done = self._tidy(time.time_ns(), LONGEST)
            except MachineFailed as failed:  # the readings are stored: that is what counts here
                self._note(str(failed))
            self._tidied = time.monotonic() - (0 if done else SELDOM - SOON)

    def probe(self, size: int) -> None:
        for statement in (f"insert or replace into batches values ('', '', 0, 0, -1, -1, zeroblob({size}))", FORGET):
            with self._database.writing() as base:
                base.execute(statement)

    def tidy(self, now: int, longest: float = float("inf")) -> None:
        if not self._tidy(now, longest):
            self._note("Some readings are not summarized yet, because there are very many. Tidy the store again.")

    def keep(self, keeping: Mapping[str, float]) -> None:
        with self._database.writing() as base:
            base.executemany("insert or replace into settings values (?, ?)", keeping.items())

    def close(self) -> None:
        self._database.close()

    def _tidy(self, now: int, longest: float) -> bool:
        """Returns whether all was done within so many seconds, about: each kind of work has at least a third of them."""
        moved, rolled, end = (time.monotonic() + longest * part / 3 for part in (1, 2, 3))
        what = "be tidied up; nothing was removed"
        done = self._repeat_step(moved, what, lambda base: _tidying.move(base, self._note))
        while places := self._waiting(now):
            if not self._repeat_step(rolled, what, self._make_rollup_step(now, places)):
                done = False
                break
        done &= self._repeat_step(end, "be tidied up", lambda base: _tidying.remove_expired(base, now))
        self._database.shrink(end)
        return done

    def _waiting(self, now: int) -> list[Place]:
        with self._database.reading("be tidied up") as base:
            return _tidying.list_waiting(base, now)

    def _make_rollup_step(self, now: int, places: list[Place]) -> Callable[[sqlite3.Connection], bool]:
        return lambda base: _tidying.roll(base, self._note, now, places)

    def _repeat_step(self, until: float, what: str, step: Callable[[sqlite3.Connection], bool]) -> bool:
        """Repeats a step while there is more to do. Returns whether it came to an end before this time."""
        more = True
        while more and (begin := time.monotonic()) < until:
            with self._database.writing(what) as base:
                more = step(base)
            if more and time.monotonic() - begin > BRIEF:
                time.sleep(POLL)
        return not more

    def _note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    # ------------------------------------------------------------------ reading

    @contextlib.contextmanager
    def _state(self) -> Iterator[Snapshot]:
        """Gives one state of the store, for all questions in the block."""
        with self._database.reading() as base:
            yield Snapshot(base, self._note)

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        with self._state() as state:
            return state.sensors()

    def trace(self, node: str, sensor: str, start: int = 0, end: int = END) -> Trace:
        with self._state() as state:
            return state.trace(node, self._find_sensor(state, node, sensor), start, end)

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        with self._state() as state:
            return state.newest(start, end)

    def rollup(self, sensors: Sequence[tuple[str, str]], level: int, start: int, end: int) -> Rollup:
        with self._state() as state:
            known = [(node, self._find_sensor(state, node, sensor)) for node, sensor in sensors]
            return join_rollups([state.rollup(node, sensor, level, start, end) for node, sensor in known], level)

    def gaps(self, node: str, start: int = 0, end: int = END) -> list[Gap]:
        with self._state() as state:
            return state.gaps(node, start, end)

    def count(self) -> int:
        with self._database.reading() as base:
            asked = (
                "select (select total(readings) from batches where readings > 0) + (select total(readings) from parts)"
            )
            return int(base.execute(asked).fetchone()[0])

    def _find_sensor(self, snapshot: Snapshot, node: str, sensor: str) -> Sensor:
        for each in snapshot.sensors(node).get(node, ()):
            if each.name == sensor:
                return each
        raise UsageError(f"The store '{self._folder}' has no sensor '{sensor}' of the node '{node}'.")


def _report_late(batch: Batch, kept: int) -> list[Gap]:
    """Returns a gap over readings that came too late: the others of that time are removed, so no rollup can be made."""
    old = batch.at[batch.at < kept]
    why = "came after the readings of that time had been removed"
    return [Gap(batch.sensors, int(old.min()), int(old.max()), why)] if len(old) else []
