"""A real network as the judge of the replay: delay and rate imposed on four hosts, a program measured and predicted."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster import Cluster
from emulated import UNDISTURBED, Conditions, Emulator, emulator
from replayed import Built, built, calibrated, measured, predicted, replay, traced

from steelyard.measure import build
from steelyard.measure.machine import describe
from steelyard.model import Machine
from steelyard.whatif.network import Network

pytestmark = [pytest.mark.hosts, pytest.mark.alone]
NEAR = 0.25  # of what was measured: other work on the machine is in both, and moves them


@dataclass(frozen=True)
class Judge:
    """The stencil over the emulated network, and its trace."""

    cluster: Cluster
    link: Emulator
    program: Built
    trace: Path
    machine: Machine
    undisturbed: float  # s


@pytest.fixture(scope="module")
def judge(four_hosts: Cluster, open_mpi: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    folder, machine = tmp_path_factory.mktemp("judge"), describe()
    with emulator(four_hosts, folder) as link:
        program = built(build.resolve_mpi(str(open_mpi), machine), machine, folder)
        time = statistics.median(measured(four_hosts, program) for _ in range(3))
        trace = traced(four_hosts, program, folder / "trace", machine)
        yield Judge(four_hosts, link, program, trace, machine, time)


def compared(judge: Judge, conditions: Conditions, runs: int = 1) -> tuple[float, float]:
    """Seconds measured under the conditions, and predicted."""
    try:
        judge.link.impose(conditions)
        times = [measured(judge.cluster, judge.program) for _ in range(runs)]
    finally:
        judge.link.impose(UNDISTURBED)
    with replay(judge.trace, judge.machine) as asked:
        network: Network = calibrated(asked, judge.undisturbed)
        return statistics.fmean(times), predicted(asked, network, conditions)


@pytest.mark.parametrize("conditions", [Conditions(delay=10e-3), Conditions(rate=10e6)], ids=["delay", "rate"])
def test_a_slower_network_takes_as_long_as_the_replay_of_a_quick_one_says(judge: Judge, conditions: Conditions) -> None:
    real, said = compared(judge, conditions)
    assert real > 3 * judge.undisturbed, "what was imposed is not felt"
    assert said == pytest.approx(real, rel=NEAR)


def test_the_emulator_drops_the_share_of_packets_that_it_is_asked_for(judge: Judge) -> None:
    judge.link.impose(Conditions(loss=0.01, rto=5e-3))
    measured(judge.cluster, judge.program)
    passed = judge.link.impose(UNDISTURBED)
    assert passed.frames > 3000
    assert passed.dropped == pytest.approx(0.01 * passed.frames, rel=0.6)


def test_a_shorter_least_time_out_is_a_gain_that_the_replay_predicts(judge: Judge) -> None:
    (slow, said_slow), (quick, said_quick) = (
        compared(judge, Conditions(loss=0.02, rto=rto), runs=3) for rto in (200e-3, 5e-3)
    )
    assert said_quick < 0.8 * said_slow
    assert quick < slow
