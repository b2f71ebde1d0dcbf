"""The hosts that the tests of this folder share, without limits and without processes at each test's beginning."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cluster import Cluster, prepare
from inhabitants import MissingError


@pytest.fixture(scope="session")
def four_hosts() -> Iterator[Cluster]:
    """Four hosts, host1 to host4, for all tests together."""
    with ExitStack() as stack:
        try:
            prepare()
            cluster = stack.enter_context(Cluster(4))
        except MissingError as missing:
            pytest.skip(str(missing))
        yield cluster


@pytest.fixture(autouse=True)
def calm_hosts(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test did to the hosts ends with it: limits, delays, losses, processes."""
    yield
    if "four_hosts" in request.fixturenames:
        cluster: Cluster = request.getfixturevalue("four_hosts")
        cluster.end_processes()
        cluster.clear()


@pytest.fixture(scope="session")
def open_mpi() -> Path:
    """Debian's C++ compiler of Open MPI."""
    found = shutil.which("mpicxx.openmpi")
    if not found:
        pytest.skip("There is no mpicxx.openmpi. As root, on Debian: apt-get install libopenmpi-dev")
    return Path(found)
