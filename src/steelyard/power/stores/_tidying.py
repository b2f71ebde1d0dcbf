"""Maintenance of an embedded store: parts of batches, rollups of complete hours, and retention."""

import itertools
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from steelyard.model.sensor import Moments, Rollup, Sensor, Values
from steelyard.power.message import Batch, Refused, decode, encode, select
from steelyard.power.rollup import COLUMNS, HOUR, LEVELS, MARGIN, NAMES, SECOND, choose, join_rollups, roll_up_levels
from steelyard.power.stores import AHEAD
from steelyard.power.stores._columns import Place, find_span, make_columns, place_readings
from steelyard.power.stores._database import DAMAGE
from steelyard.power.stores._packing import FAST, SMALL, pack
from steelyard.power.stores._snapshot import CHUNKS, Snapshot

LATE = 900 * SECOND  # ns after an hour until it has rollups: what comes later costs making them anew
MOST = 65536  # readings of a part
# Limits of one transaction. Others can write after it:
AT_ONCE = 4 << 20  # bytes of batches that become parts
MOST_PARTS = 2000  # parts that are made
MOST_ROWS = 20_000  # rows that are removed
TURN = 0.5  # seconds in which rollups are made
UNSOUND = -1  # `stale` of an hour that has no rollups and is not tried again until something about it changes
MOST_HOURS = 5000  # hours of sensors that are looked for at once
# Each node that has batches: a step of the index for each, whatever the number of batches.
NODES = (
    "with recursive nodes(node) as (select min(node) from batches where node > '' union all "
    "select (select min(node) from batches where batches.node > nodes.node) from nodes where node is not null) "
    "select node from nodes where node is not null"
)
NUMBER = 1 << 63  # a sequence has 64 bits without a sign, a number of SQLite has a sign
# A second's rollups are made again from the readings while these are there, and take more room than they.
USUAL: Mapping[str, float] = {"1s": 7 * 86400.0}

Key = tuple[str, bytes, int]
Note = Callable[[str], None]


def identify_batch(batch: Batch) -> Key:
    return batch.node, batch.writer.bytes, batch.sequence - NUMBER


def is_stored(base: sqlite3.Connection, of: Key) -> bool:
    """Returns whether the batch is stored, whole or as parts."""
    row = base.execute(
        "select last from stored where node = ? and writer = ? and first <= ? order by first desc limit 1", of
    ).fetchone()
    if row and row[0] >= of[2]:
        return True
    return (
        base.execute("select 1 from batches where node = ? and writer = ? and sequence = ?", of).fetchone() is not None
    )


def move(base: sqlite3.Connection, note: Note) -> bool:
    """Makes parts of some batches, about MOST_PARTS. Returns whether there were any."""
    whole: list[Key] = []
    parts: list[Batch] = []
    damaged: list[Key] = []
    places: set[Place] = set()
    size = 0
    where = "where node = ? and writer = ? and sequence = ?"
    for node, writer, sequence, body in _list_unsorted_batches(base):
        key = node, writer, sequence
        try:
            part, rest = _divide_batch(decode(node, body), MOST_PARTS)
        except (Refused, *DAMAGE):
            damaged.append(key)
            continue
        parts.append(part)
        if len(rest.at):
            row = (*find_span(rest), len(rest.at), encode(rest), *key)
            base.execute(f"update batches set first = ?, last = ?, readings = ?, body = ? {where}", row)
            break
        whole.append(key)
        places |= {*place_readings(part)[0]}
        size += len(body)
        if size > AT_ONCE or len(places) > MOST_PARTS:
            break
    base.executemany(f"update batches set readings = -1 {where}", damaged)  # stays for somebody to look at
    base.executemany(f"delete from batches {where}", whole)
    _record_parts(base, sorted(whole))
    _add_parts(base, [batch for batch in parts if len(batch.at)], Snapshot(base, note).removed)
    return bool(parts)


def _list_unsorted_batches(base: sqlite3.Connection) -> Iterator[tuple[str, bytes, int, bytes]]:
    """Yields the batches that are no parts yet. Nodes are in random order, so that none waits for all batches of another."""
    nodes = [node for (node,) in base.execute(NODES)]
    for node in random.sample(nodes, len(nodes)):
        yield from base.execute(
            "select node, writer, sequence, body from batches where node = ? and readings >= 0 order by writer, sequence",
            (node,),
        )


def _divide_batch(batch: Batch, most: int) -> tuple[Batch, Batch]:
    """Returns the readings of the first hours of sensors, at most so many hours, and the rest."""
    _, number = place_readings(batch)
    return select(batch, number < most), select(batch, number >= most)


def list_waiting(base: sqlite3.Connection, now: int) -> list[Place]:
    """Returns some complete hours of sensors without rollups, of each node in turn; the last one comes first."""
    number = "row_number() over (partition by node order by hour)"
    turns = f"select node, sensor, hour, {number} as turn from hours where stale and stale > 0 and hour < ?"
    asked = f"select node, sensor, hour from ({turns}) order by turn limit ?"
    return base.execute(asked, ((now - LATE) // HOUR, MOST_HOURS)).fetchall()[::-1]


def roll(base: sqlite3.Connection, note: Note, now: int, places: list[Place]) -> bool:
    """Makes rollups of these hours of sensors for a TURN, and takes them off the list. Returns whether it has more."""
    snapshot, until = Snapshot(base, note), time.monotonic() + TURN
    known = {(node, sensor.name): sensor for node, sensors in snapshot.sensors().items() for sensor in sensors}
    keeping, newest = {**USUAL, **snapshot.settings()}, _limit_now(base, now)
    while places and time.monotonic() < until:
        node, name, hour = places.pop()
        base.execute("savepoint hour")
        stale = 0
        try:
            _merge_parts_of_hour(base, snapshot, node, name, hour)
            for word, level, made in _make_rollups(snapshot, known.get((node, name)), node, hour):
                # A row that retention has removed must not come back with one hour only.
                if (hour // CHUNKS[level] + 1) * CHUNKS[level] * HOUR > newest - keeping.get(word, 1e12) * SECOND:
                    _keep_rollup(base, snapshot, (node, name), level, hour, made)
        except DAMAGE as error:  # whatever it is, it costs this hour only
            base.execute("rollback to hour")
            note(f"Some readings of {node}/{name} cannot be summarized: {error}. Check the description of this sensor.")
            stale = UNSOUND
        base.execute("update hours set stale = ? where node = ? and sensor = ? and hour = ?", (stale, node, name, hour))
        base.execute("release hour")
    return bool(places)


def _make_rollups(snapshot: Snapshot, sensor: Sensor | None, node: str, hour: int) -> Iterator[tuple[str, int, Rollup]]:
    """Yields the rollups of an hour with the name of their level and its seconds; none of a sensor that nobody described."""
    if sensor:
        begin, end = hour * HOUR, (hour + 1) * HOUR
        trace = snapshot.trace(node, sensor, max(begin - MARGIN, 0), end + MARGIN)
        yield from zip(NAMES, LEVELS, roll_up_levels(node, trace, LEVELS, begin, end), strict=True)


def remove_expired(base: sqlite3.Connection, now: int) -> bool:
    """Removes some data that are too old; readings only if their hours have rollups. Returns whether there may be more."""
    keeping = {**USUAL, **dict(base.execute("select name, value from settings"))}
    ahead, now = (now + AHEAD) // HOUR, _limit_now(base, now)
    removed = 0
    if "readings" in keeping:
        before = now - round(keeping["readings"] * SECOND)
        old = (
            "select rowid, hour from parts where hour < ? and not exists (select 1 from hours h where h.node = parts.node "
            "and h.sensor = parts.sensor and h.hour = parts.hour and h.stale) order by hour limit ?"
        )
        rows = base.execute(old, (before // HOUR, MOST_ROWS)).fetchall()
        base.executemany("delete from parts where rowid = ?", [(row,) for row, _ in rows])
        if rows:
            last = max(rows[-1][1], keeping.get("removed", -1))
            base.execute("insert or replace into settings values ('removed', ?)", (last,))
        # The moments of these parts lie in the future, so the time of storing tells their age.
        removed = max(len(rows), _delete(base, "parts", "hour > ? and stored < ?", (ahead, before)))
    for word, level in NAMES.items():
        if word in keeping:
            hour = (now - round(keeping[word] * SECOND)) // HOUR
            removed = max(removed, _delete(base, "rollups", "level = ? and chunk < ?", (level, hour // CHUNKS[level])))
    return removed == MOST_ROWS


def _delete(base: sqlite3.Connection, table: str, where: str, of: tuple[int, int]) -> int:
    """Deletes at most MOST_ROWS rows. Returns their number."""
    rows = f"select rowid from {table} where {where} limit {MOST_ROWS}"
    return base.execute(f"delete from {table} where rowid in ({rows})", of).rowcount


def _limit_now(base: sqlite3.Connection, now: int) -> int:
    """Returns `now`, or the end of the newest hour with readings: a clock that is ahead must not remove everything."""
    (hour,) = base.execute("select max(hour) from parts where hour <= ?", ((now + AHEAD) // HOUR,)).fetchone()
    return now if hour is None else min(now, (hour + 1) * HOUR)


def _record_parts(base: sqlite3.Connection, keys: Sequence[Key]) -> None:
    """Records which batches became parts, as ranges of consecutive sequences."""
    for (node, writer), same in itertools.groupby(keys, lambda of: of[:2]):
        numbers = np.array([number for _, _, number in same], dtype=np.int64)
        for run in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
            first, last = int(run[0]), int(run[-1])
            asked = "select first, last from stored where node = ? and writer = ? and first <= ? order by first desc limit 1"
            while row := base.execute(asked, (node, writer, min(last + 1, NUMBER - 1))).fetchone():
                if row[1] < first - 1:
                    break
                base.execute("delete from stored where node = ? and writer = ? and first = ?", (node, writer, row[0]))
                first, last = min(first, row[0]), max(last, row[1])
            base.execute("insert into stored values (?, ?, ?, ?)", (node, writer, first, last))


def _add_parts(base: sqlite3.Connection, batches: Sequence[Batch], removed: int) -> None:
    if not batches:
        return
    names, found = make_columns(batches)
    hours = found["moment"] // HOUR
    edges = np.flatnonzero((np.diff(found["id"]) != 0) | (np.diff(hours) != 0)) + 1
    told: set[tuple[str, str, int]] = set()  # a reading tells of the time before it, too
    after: set[tuple[str, str, int]] = set()
    for begin, end in itertools.pairwise([0, *edges.tolist(), len(hours)]):
        (node, sensor), at = names[found["id"][begin]], found["moment"][begin:end]
        _insert_readings(base, node, sensor, at, found["value"][begin:end], FAST)
        told |= {(node, sensor, moment // HOUR) for moment in (max(int(at[0]) - MARGIN, 0), int(at[0]))}
        after.add((node, sensor, (int(at[-1]) + MARGIN) // HOUR))
    base.executemany("insert or replace into hours values (?, ?, ?, 1)", [of for of in told if of[2] > removed])
    kept = [of for of in after if of[2] > removed]
    base.executemany("update hours set stale = 1 where node = ? and sensor = ? and hour = ?", kept)


def _insert_readings(base: sqlite3.Connection, node: str, sensor: str, at: Moments, value: Values, level: int) -> None:
    """Adds readings of one hour, in the order of time."""
    for first in range(0, len(at), MOST):
        some, values = at[first : first + MOST], value[first : first + MOST]
        span = (int(some[0]) // HOUR, int(some[0]), int(some[-1]))
        row = (node, sensor, *span, len(some), time.time_ns(), pack([some, values], level))
        base.execute("insert into parts values (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _merge_parts_of_hour(base: sqlite3.Connection, snapshot: Snapshot, node: str, sensor: str, hour: int) -> None:
    """Joins the parts of an hour into one."""
    where = "from parts where node = ? and sensor = ? and hour = ?"
    parts, readings = base.execute(f"select count(*), sum(readings) {where}", (node, sensor, hour)).fetchone()
    if parts <= 1 + (readings or 0) // MOST:
        return
    found = list(snapshot.parts(node, sensor, hour * HOUR, (hour + 1) * HOUR - 1))
    if len(found) < parts:
        return  # a damaged record stays, so that somebody can examine it
    at, value = (np.concatenate([part[column] for part in found]) for column in (0, 1))
    order = np.argsort(at, kind="stable")
    base.execute(f"delete {where}", (node, sensor, hour))
    _insert_readings(base, node, sensor, at[order], value[order], SMALL)


def _keep_rollup(
    base: sqlite3.Connection, snapshot: Snapshot, of: tuple[str, str], level: int, hour: int, made: Rollup
) -> None:
    """Replaces the rollups of an hour in their row."""
    chunk = hour // CHUNKS[level]
    parts = [made]
    if before := snapshot.chunk(level, *of, chunk):
        parts.append(choose(before, np.flatnonzero(before.at // HOUR != hour)))
    whole = join_rollups(parts, level)
    whole = choose(whole, np.argsort(whole.at))
    body = pack([getattr(whole, name) for name in COLUMNS])
    base.execute("insert or replace into rollups values (?, ?, ?, ?, ?)", (level, *of, chunk, body))
