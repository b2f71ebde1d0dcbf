"""A Cassandra that the tests of this folder share, each with a keyspace of its own; a broker and a BMC of their own."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from cassandra_server import Server, missing
from test_power_broker import mosquitto  # noqa: F401 - a fixture
from test_sensors_programs import bmc  # noqa: F401 - a fixture

NUMBERS = count(1)


@pytest.fixture(scope="session")
def cassandra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if lacks := missing():
        pytest.skip(f"needs Java 17 and Maven (Debian: openjdk-17-jre-headless, maven); there is no {lacks}")
    server = Server(tmp_path_factory.mktemp("cassandra"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def keyspace(cassandra: Server) -> str:
    """A place of a store that nobody has written to yet."""
    return f"cassandra://127.0.0.1:{cassandra.port}/test{next(NUMBERS)}"


@pytest.fixture(params=["embedded", "cassandra"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made, of each kind."""
    return str(tmp_path / "store") if request.param == "embedded" else request.getfixturevalue("keyspace")
