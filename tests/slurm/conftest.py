"""What the tests under a real Slurm share: the rig itself, and a small program for each flavour of MPI."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig import MissingError, Rig, install

import mpis
from steelyard.measure.machine.tools import find_tools
from steelyard.model import Machine, Tool

# Each rank says where it is; the sum is right only when all have met, and the lines are what it read.
HELLO = r"""
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, lines = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long own = rank, sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (std::string line; rank == 0 && std::getline(std::cin, line);) ++lines;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const char* cpus = std::getenv("STEELYARD_CPUS");
  std::printf("%d %d %s %ld %d %s\n", rank, size, host, sum, lines, cpus ? cpus : "-");
  MPI_Finalize();
}
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Open MPI is tried again where Open MPI or Slurm failed; the summary names each such test (RERUN).

    Under srun a rank of Open MPI 4.1 now and then takes a message by TCP before it can: MPI_Init ends with a jump to
    address 0. Here 1 start of 100 did, 5 on a busy machine, whatever the settings of PMIx.

    If a rank asks for another's address before all have met, Slurm 22.05 sends the question to a node by its number in
    the step, taken as a number in the allocation. Where the step has other nodes than the first, nobody answers, and
    after 32 seconds Slurm says so, but the step hangs. On a busy machine 4 starts of 100 did.
    """
    faults = ["Segmentation fault", r"Cannot send message to .*stepd\.slurm\.pmix"]
    for item in items:
        if {"openmpi", "installed"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.flaky(reruns=3, only_rerun=faults))


@dataclass(frozen=True)
class Installed:
    """An MPI, and the program above compiled with it."""

    mpi: Tool
    hello: Path


@pytest.fixture
def slurm(one_slurm: Rig) -> Iterator[Rig]:
    """Four idle nodes and a login node."""
    yield one_slurm
    one_slurm.tidy()


@pytest.fixture(scope="session")
def one_slurm() -> Iterator[Rig]:
    """The one that all tests share."""
    try:
        with Rig() as rig:
            yield rig
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def openmpi(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Debian's Open MPI."""
    try:
        install(("libopenmpi-dev", "openmpi-bin"), lambda: _debian() is not None)
    except MissingError as missing:
        pytest.fail(str(missing), pytrace=False)
    return _compiled(_debian(), tmp_path_factory.mktemp("openmpi"))


@pytest.fixture(scope="session")
def mpich(here: Machine, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """MPICH as the Python package."""
    return _compiled(mpis.mpi("mpich", here), tmp_path_factory.mktemp("mpich"))


def _debian() -> Tool | None:
    return next((tool for tool in find_tools("/usr/bin")[1] if tool.name == "openmpi"), None)


def _compiled(mpi: Tool | None, folder: Path) -> Installed:
    assert mpi, "it is installed by now"
    source = folder / "hello.cpp"
    source.write_text(HELLO, encoding="utf-8")
    subprocess.run([mpi.path, str(source), "-o", str(folder / "hello")], check=True)
    return Installed(mpi, folder / "hello")
