"""SimGrid reads the same TI files, and agrees once its network's parameters are taken from its own ping-pong."""

import subprocess
import sys
from pathlib import Path

import pytest

from folders import DATA, ROOT
from mpis import mpi
from replays import asked, stencil, ti
from steelyard.model import Machine
from steelyard.whatif import exporting, tracing
from traces import mpiexec

sys.path.insert(0, str(ROOT / "bench"))

import simgrid

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not simgrid.present(), reason="SimGrid is not installed (Debian: libsimgrid-dev)"),
]

SIZES = (1, 8, 1000, 6250, 8192, 10_000, 50_000, 65_000)
PROGRAMS = {
    "stencil": (stencil(8, 20, 100_000, 8192), ()),
    "small stencil": (stencil(8, 20, 100_000, 1000), ()),
    "ring": ([[f"send {(r + 1) % 16} 0 8192", f"recv {(r - 1) % 16} 0 8192"] * 20 for r in range(16)], ()),
    "allreduce": ([["compute 100000", "allreduce 8 0"] * 20] * 64, ("smpi/allreduce:rdb",)),
    "long allreduce": ([["allreduce 100000 0"] * 5] * 16, ("smpi/allreduce:rab_rdb",)),
    "alltoall": ([["alltoall 10000 10000"]] * 16, ("smpi/alltoall:basic_linear",)),
    "barrier": ([["barrier"] * 5] * 16, ("smpi/barrier:ompi_bruck",)),
    "reduce": ([["reduce 1000 0 0"]] * 16, ("smpi/reduce:binomial",)),
}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    return simgrid.network(tmp_path_factory.mktemp("pingpong"), SIZES) + " eager=100000000"


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_simulators_predict_the_same_within_five_per_cent(tmp_path: Path, network: str, name: str) -> None:
    ranks, settings = PROGRAMS[name]
    theirs = simgrid.replayed(tmp_path, ranks, *settings).time
    ours = [answer["time"][0] / 1e12 for answer in asked(ti(tmp_path, ranks), network, network + " mode=event")[1:]]
    assert ours == [pytest.approx(theirs, rel=0.05)] * 2


def test_simgrid_reads_what_was_traced_and_exported(
    tmp_path: Path, network: str, here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SimGrid's ranks of a node talk as those of others; our own stay on one network, too."""
    own = mpi("default", here)
    source = DATA / "traced" / "endings.c"
    subprocess.run([own.path.replace("mpicxx", "mpicc"), source, "-o", tmp_path / "endings"], check=True)
    tracing.record([*mpiexec(tmp_path / "endings", 4, own, monkeypatch), "known"], tmp_path / "traced", here, own)
    exporting.export(tmp_path / "traced", "ti", tmp_path / "ti", here)
    lines = [(tmp_path / "ti" / f"trace.{rank}").read_text().splitlines()[1:-1] for rank in range(4)]
    theirs = simgrid.replayed(tmp_path, [[line.split(" ", 1)[1] for line in rank] for rank in lines]).time
    ours = asked(tmp_path / "traced", network)[1]["time"][0] / 1e12
    assert ours == pytest.approx(theirs, rel=0.05)


# One of each kind: pairs of datatypes (38 to 50) have the gaps of a C structure.
@pytest.mark.parametrize("kind", [0, 1, 2, 3, 14, 27, 38, 41, 50, 54])
def test_a_datatype_has_as_many_bytes_as_simgrid_says(tmp_path: Path, kind: int) -> None:
    def exchange(words: str) -> list[list[str]]:
        return [[f"send 1 0 {words}"], [f"recv 0 0 {words}"]]

    (about,) = asked(ti(tmp_path, exchange(f"1000 {kind}")))
    of_kind, of_bytes = (simgrid.replayed(tmp_path, exchange(x)).time for x in (f"1000 {kind}", f"{about['bytes']}"))
    assert of_kind == of_bytes
