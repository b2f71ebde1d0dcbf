"""The stores of readings: `embedded`, a folder that needs no server, or `cassandra`, a database of many servers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.errors import MachineFailed
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import LATEST, Batch, Gap
from steelyard.system.installation import install_extra

END = LATEST
AHEAD = 86_400 * 10**9  # ns: the clock of a reading that is further ahead of the clock of this machine is wrong


class Unavailable(MachineFailed):
    """Nothing can be written now: the disk is full, another process has the lock for too long, or no server answers."""


class Store(Protocol):
    """The interface of every store. MachineFailed if it cannot be written or read, UsageError for unknown names.

    `notes` says what it could not read; the rest is answered all the same.
    """

    notes: list[str]
    at_once: int  # readings that one write stores in about a second, of any nodes and times

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        """Sets the sensors of the node (\"SYSTEM/NODE\") from now on."""

    def write(self, batches: Sequence[Batch]) -> None:
        """Returns when the batches are on the disk. A repeated batch is stored once."""

    def probe(self, size: int) -> None:
        """Writes so many bytes and removes them. MachineFailed if this store cannot be written now."""

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        """Returns the sensors of each node."""

    def trace(self, node: str, sensor: str, start: int = 0, end: int = END) -> Trace:
        """Returns the readings of a sensor from `start` to `end` (ns since 1970). UsageError for an unknown sensor."""

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        """Returns the newest reading of each (node, sensor) that has one from `start` to `end` (ns since 1970).

        It is meant for minutes: a store may ask for every hour between them.
        """

    def rollup(self, sensors: Sequence[tuple[str, str]], level: int, start: int, end: int) -> Rollup:
        """Returns the intervals (`level` s) of each (node, sensor) that begin from `start` up to `end` (ns since 1970)."""

    def gaps(self, node: str, start: int = 0, end: int = END) -> list[Gap]:
        """Returns the gaps in the readings of a node and their reasons, in the order of time."""

    def count(self) -> int:
        """Returns the number of readings."""

    def tidy(self, now: int, longest: float = float("inf")) -> None:
        """Makes the rollups of complete hours, and removes data that are too old. `now`: ns since 1970.

        It ends after about `longest` seconds; a note says if there is more to do.
        """

    def keep(self, keeping: Mapping[str, float]) -> None:
        """Sets for how many seconds "readings" and the rollups "1s", "1min", "1h" are kept; the others stay unchanged."""

    def close(self) -> None:
        """Closes the store. It must not be used afterwards."""


def open_store(place: str, make: bool = False) -> Store:
    """Opens the store at a place: a folder, or cassandra://HOST[:PORT][,HOST…][/KEYSPACE]. UsageError if it does not exist."""
    from pathlib import Path

    if place.startswith("cassandra://"):
        try:
            from steelyard.power.stores.cassandra import Cassandra

            return Cassandra(place, make)
        except ModuleNotFoundError:
            raise MachineFailed(
                "Cassandra needs the Python package cassandra-driver, which is not installed. "
                f"Do: {install_extra('cassandra')}"
            ) from None
    from steelyard.power.stores.embedded import Embedded

    return Embedded(Path(place), make)
