"""Where readings are kept: `embedded`, a folder that needs no server, or `cassandra`, a database of many servers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.errors import MachineFailed
from steelyard.installation import install_extra
from steelyard.model.sensor import Reading, Rollup, Sensor, Trace
from steelyard.power.message import Batch, Gap

END = 1 << 62  # ns: later than any moment
AHEAD = 86_400 * 10**9  # ns: a reading that is further ahead of this machine's clock is of a clock that is wrong


class Store(Protocol):
    """What every store does. MachineFailed where it cannot be written or read, UsageError for what it does not know.

    `notes` says what it could not read; the rest is answered all the same.
    """

    notes: list[str]

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        """What the sensors of the node (\"SYSTEM/NODE\") are from now on."""

    def write(self, batches: Sequence[Batch]) -> None:
        """Returns when the batches are on the disk, each once, however often it came."""

    def sensors(self) -> dict[str, tuple[Sensor, ...]]:
        """Of each node what its sensors are."""

    def trace(self, node: str, sensor: str, start: int = 0, end: int = END) -> Trace:
        """The readings of a sensor from `start` to `end` (ns since 1970). UsageError for one that no node has described."""

    def newest(self, start: int, end: int) -> dict[tuple[str, str], Reading]:
        """Returns the newest reading of each (node, sensor) that has one from `start` to `end` (ns since 1970).

        It is meant for minutes: a store may ask for every hour between them.
        """

    def rollup(self, sensors: Sequence[tuple[str, str]], level: int, start: int, end: int) -> Rollup:
        """Of these (node, sensor) the stretches of `level` seconds that begin from `start` up to `end` (ns since 1970)."""

    def gaps(self, node: str, start: int = 0, end: int = END) -> list[Gap]:
        """When nothing is known of a node's sensors, and why, in the order of time."""

    def count(self) -> int:
        """How many readings there are."""

    def tidy(self, now: int) -> None:
        """Makes the rollups of hours that are over, and removes what is older than it is to be kept. `now`: ns since 1970."""

    def keep(self, keeping: Mapping[str, float]) -> None:
        """For how many seconds to keep "readings" and the rollups "1s", "1min", "1h" from now on; the others as before."""

    def close(self) -> None:
        """Nothing is asked of it afterwards."""


def opened(place: str, make: bool = False) -> Store:
    """The store at a place: a folder, or cassandra://HOST[:PORT][,HOST…][/KEYSPACE]. UsageError for one that is not there."""
    from pathlib import Path

    if place.startswith("cassandra://"):
        try:
            from steelyard.power.stores.cassandra import Cassandra

            return Cassandra(place, make)
        except ModuleNotFoundError:
            raise MachineFailed(
                "Cassandra is reached by the Python package cassandra-driver, which is not installed. "
                f"Do: {install_extra('cassandra')}"
            ) from None
    from steelyard.power.stores.embedded import Embedded

    return Embedded(Path(place), make)
