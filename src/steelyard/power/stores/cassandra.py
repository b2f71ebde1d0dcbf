"""A store in Apache Cassandra, for many collectors and servers: its rows are readings, its partitions an hour of a sensor.

What is written twice is one row: a reading's key is its sensor and its moment. Which hours of a sensor there are stands in a
table of its own, so that nothing is searched for. Rollups are made from the readings when they are asked for. Readings that are
kept for a limited time have that as their time to live, from when this was said.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import READING_BYTES, Batch, Gap
from steelyard.power.rollup import HOUR, MARGIN, join_rollups, roll_up
from steelyard.power.stores import END, Unavailable
from steelyard.power.stores._columns import make_columns, place_readings
from steelyard.power.stores._place import connect, explain

# A partition is an hour: at ten readings a second 36,000 rows.
ROWS = 500  # rows of one statement, all in one partition: Cassandra limits statements on several partitions
AT_ONCE = 64  # statements under way that write
READING = 8  # reading statements at the same time: an answer may be long
MOST_WRITTEN = 500_000  # hours that are remembered
MOST_NAMES = 400  # names of sensors in a row of a gap
TABLES = (
    "readings (node text, sensor text, hour int, moment bigint, value double, primary key ((node, sensor, hour), moment)) "
    "with compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS', 'compaction_window_size': 1}",
    "hours (node text, sensor text, hour int, primary key ((node, sensor), hour))",
    "sensors (node text primary key, described text)",
    "gaps (node text, first bigint, last bigint, why text, sensors text, primary key (node, first, last, why, sensors))",
)


class Cassandra:
    """A keyspace of a cluster (`stores.Store`).

    `place`: cassandra://[USER@]HOST[:PORT][,HOST…][/KEYSPACE][?ca=FILE&password-file=FILE]; the keyspace is "steelyard" where
    none is named. `make` makes it where it is not there, with one copy of each row: make it yourself for more.
    """

    def __init__(self, place: str, make: bool = False) -> None:
        self._place = place
        self.notes: list[str] = []
        self.at_once = 2000
        self._written: set[tuple[str, str, int]] = set()  # hours that stand in their table
        self._described: dict[str, tuple[Sensor, ...]] = {}
        with self._explain_errors("be reached"):
            self._cluster, self._session, keyspace = connect(place, make, TABLES)
            self._tables = {name: f"{keyspace}.{name}" for name in ("readings", "hours", "sensors", "gaps")}
            statements = {
                "reading": "insert into {readings} (node, sensor, hour, moment, value) values (?, ?, ?, ?, ?)",
                "hour": "insert into {hours} (node, sensor, hour) values (?, ?, ?)",
                "gap": "insert into {gaps} (node, first, last, why, sensors) values (?, ?, ?, ?, ?)",
                "trace": "select moment, value from {readings} where node = ? and sensor = ? and hour = ? "
                "and moment >= ? and moment <= ?",
                "newest": "select moment, value from {readings} where node = ? and sensor = ? and hour = ? "
                "and moment >= ? and moment <= ? order by moment desc limit 1",
                "count": "select count(*) from {readings} where node = ? and sensor = ? and hour = ?",
                "hours": "select hour from {hours} where node = ? and sensor = ? and hour >= ? and hour <= ?",
            }
            self._prepared = {
                name: self._session.prepare(text.format_map(self._tables)) for name, text in statements.items()
            }
            for statement in self._prepared.values():
                statement.is_idempotent = True  # the driver may then ask another server if one does not answer

    # ------------------------------------------------------------------ writing

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        with self._explain_errors("be written"):
            described = msgspec.json.encode(tuple(sensors)).decode()
            self._session.execute(
                f"insert into {self._tables['sensors']} (node, described) values (%s, %s)", (node, described)
            )

    def write(self, batches: Sequence[Batch]) -> None:
        """Returns when a server (as many as the keyspace's replication asks, by quorum) has the batches in its log."""
        with self._explain_errors("be written"):
            hours = sorted({place for batch in batches for place in place_readings(batch)[0]} - self._written)
            self._answer_all(self._group("hour", hours, 2), AT_ONCE)
            self._answer_all(self._group("reading", _list_readings(batches), 3), AT_ONCE)
            gaps = [(batch.node, *row) for batch in batches for gap in batch.gaps for row in _split_gap(gap)]
            self._answer_all([(self._prepared["gap"], row) for row in gaps], AT_ONCE)
            if len(self._written) > MOST_WRITTEN:
                self._written.clear()
            self._written.update(hours)

    def probe(self, size: int) -> None:
        with self._explain_errors("be written"):
            rows = (("", "", 0, at, 0.0) for at in range(size // READING_BYTES + 1))
            self._answer_all(self._group("reading", rows, 3), AT_ONCE)
            self._session.execute(
                f"delete from {self._tables['readings']} where node = '' and sensor = '' and hour = 0"
            )

    def tidy(self, now: int, longest: float = float("inf")) -> None:
        """Does nothing: Cassandra itself merges its files and removes expired rows."""

    def keep(self, keeping: Mapping[str, float]) -> None:
        """Sets how long readings are kept. UsageError for rollups: this store has none."""
        if others := keeping.keys() - {"readings"}:
            raise UsageError(
                f"A store in Cassandra keeps only readings, so it cannot keep '{min(others)}'. It computes rollups from the "
                "readings at each query."
            )
        with self._explain_errors("be changed"):
            for name in ("readings", "hours"):
                # 20 years are the most that it knows; 0: for ever
                seconds = int(keeping["readings"]) if keeping["readings"] < 20 * 365 * 86400 else 0
                self._session.execute(f"alter table {self._tables[name]} with default_time_to_live = {seconds}")

    def close(self) -> None:
        self._cluster.shutdown()

    def _group(self, name: str, rows: Iterable[tuple[Any, ...]], columns: int) -> Iterator[tuple[Any, None]]:
        """Yields statements with the rows of one partition each, which is the first `columns` columns.

        A statement for each row costs ten times as much.
        """
        from cassandra.query import BatchStatement, BatchType

        for _, same in itertools.groupby(rows, lambda row: row[:columns]):
            while some := [*itertools.islice(same, ROWS)]:
                group = BatchStatement(BatchType.UNLOGGED)
                for row in some:
                    group.add(self._prepared[name], row)
                group.is_idempotent = True
                yield group, None

    def _answer_all(self, statements: Any, at_once: int = READING) -> list[Any]:
        """Returns the answers. It raises the first exception."""
        from cassandra.concurrent import execute_concurrent

        return [found for _, found in execute_concurrent(self._session, statements, at_once, raise_on_first_error=True)]

    # ------------------------------------------------------------------ reading

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        with self._explain_errors("be read"):
            rows = self._session.execute(f"select node, described from {self._tables['sensors']}")
            self._described = {node: msgspec.json.decode(text, type=tuple[Sensor, ...]) for node, text in rows}
        return dict(self._described)

    def trace(self, node: str, sensor: str, start: int = 0, end: int = END) -> Trace:
        described = self._sensor(node, sensor)
        with self._explain_errors("be read"):
            hours = [
                (node, sensor, hour, start, end)
                for (hour,) in self._session.execute(self._prepared["hours"], (node, sensor, _hour(start), _hour(end)))
            ]
            parts = [_read_pairs(row) for row in self._answer_all([(self._prepared["trace"], hour) for hour in hours])]
        at = np.concatenate([np.empty(0, dtype=np.int64), *(at for at, _ in parts)])
        return Trace(described, at, np.concatenate([np.empty(0), *(value for _, value in parts)]))

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        places = [
            (node, sensor.name, hour)
            for node, sensors in self.sensors().items()
            for sensor in sensors
            for hour in range(_hour(start), _hour(end) + 1)
        ]
        with self._explain_errors("be read"):
            answers = self._answer_all([(self._prepared["newest"], (*place, start, end)) for place in places], AT_ONCE)
        return {  # the later of two hours comes last
            (node, sensor): Reading(sensor, at, value)
            for (node, sensor, _), rows in zip(places, answers, strict=True)
            for at, value in rows
        }

    def rollup(self, sensors: Sequence[tuple[str, str]], level: int, start: int, end: int) -> Rollup:
        parts = [
            roll_up(node, self.trace(node, sensor, max(start - MARGIN, 0), end + MARGIN), level, start, end)
            for node, sensor in sensors
        ]
        return join_rollups(parts, level)

    def gaps(self, node: str, start: int = 0, end: int = END) -> list[Gap]:
        with self._explain_errors("be read"):
            asked = f"select first, last, why, sensors from {self._tables['gaps']} where node = %s and first <= %s"
            rows = list(self._session.execute(asked, (node, end)))
        found = {Gap(tuple(s for s in names.split("\n") if s), a, b, why) for a, b, why, names in rows if b >= start}
        return sorted(found, key=lambda gap: (gap.start, gap.end))

    def count(self) -> int:
        places = [(node, s.name) for node, sensors in self.sensors().items() for s in sensors]
        with self._explain_errors("be read"):
            asked = [(self._prepared["hours"], (*place, 0, _hour(END))) for place in places]
            hours = [
                (self._prepared["count"], (*place, hour))
                for place, found in zip(places, self._answer_all(asked), strict=True)
                for (hour,) in found
            ]
            return sum(number for found in self._answer_all(hours) for (number,) in found)

    def _sensor(self, node: str, sensor: str) -> Sensor:
        for known in (self._described, None):
            for each in (self.sensors() if known is None else known).get(node, ()):
                if each.name == sensor:
                    return each
        raise UsageError(f"The store '{self._place}' has no sensor '{sensor}' of the node '{node}'.")

    @contextlib.contextmanager
    def _explain_errors(self, what: str) -> Iterator[None]:
        import cassandra
        from cassandra.cluster import NoHostAvailable

        try:
            yield
        except cassandra.UnresolvableContactPoints as error:
            raise MachineFailed(f"The store '{self._place}' cannot {what}: its hosts have no address.") from error
        except NoHostAvailable as error:
            why = "; ".join(dict.fromkeys(map(explain, error.errors.values()))) or "no server answers"
            raise Unavailable(f"The store '{self._place}' cannot {what}: {why}.") from error
        except (cassandra.Timeout, cassandra.Unavailable, cassandra.OperationTimedOut, OSError) as error:
            raise Unavailable(f"The store '{self._place}' cannot {what}: {explain(error)}.") from error
        except cassandra.DriverException as error:
            raise MachineFailed(f"The store '{self._place}' cannot {what}: {error}.") from error


def _list_readings(batches: Sequence[Batch]) -> Iterator[tuple[str, str, int, int, float]]:
    names, found = make_columns(batches)
    for number, at, value in zip(*(found[name].tolist() for name in ("id", "moment", "value")), strict=True):
        yield *names[number], at // HOUR, at, value


def _split_gap(gap: Gap) -> Iterator[tuple[int, int, str, str]]:
    """The sensors are part of the key, which has less than 64 KiB: those of a large gap are several rows."""
    for first in range(0, max(len(gap.sensors), 1), MOST_NAMES):
        yield gap.start, gap.end, gap.why, "\n".join(gap.sensors[first : first + MOST_NAMES])


def _hour(moment: int) -> int:
    return min(moment // HOUR, 2**31 - 1)


def _read_pairs(found: Any) -> tuple[Any, Any]:
    both = np.array(list(found), dtype=[("at", np.int64), ("value", np.float64)])
    return both["at"], both["value"]
