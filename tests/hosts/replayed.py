"""The stencil over an emulated network: measured, and predicted from a trace made while nothing was imposed."""

import functools
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from cluster import Cluster
from emulated import NETWORK, Conditions
from scipy.optimize import brentq

from steelyard.measure import build
from steelyard.measure.build.toolchain import compiler_flags
from steelyard.measure.machine.tools import mpi_flags
from steelyard.model import Machine, Tool
from steelyard.whatif import question, tracing
from steelyard.whatif.engine import Engine, Part, start
from steelyard.whatif.network import Network, Protocol
from steelyard.whatif.perturbation import MSS, Loss
from steelyard.whatif.question import PS, Point, Question

HERE = Path(__file__).parent
SOURCE, PARAMETERS, STEPS = HERE / "stencil.cpp", "edge=128", "400"
LIMIT = 300.0  # s after which a program hangs
# B on the wire of each packet: 38 of Ethernet with gap and preamble, 20 of IP, 32 of TCP with time stamps; of each message MPI's.
PACKET, OPEN_MPI = 90, 22
TICK = 0.004  # s: Linux' timers here (CONFIG_HZ 250)
REPEATS = 64  # replays of a lossy network
REGION = Part(regions=(1, 1))  # what once.cpp marks


@dataclass(frozen=True)
class Built:
    """The stencil, compiled for an MPI."""

    path: Path
    mpi: Tool


def built(mpi: Tool, machine: Machine, folder: Path) -> Built:
    """Compiled with the harness, as the benchmarks are."""
    toolchain = build.resolve(build.default(machine), machine)
    compiling, linking = mpi_flags(mpi)
    path = folder / SOURCE.stem
    words = [toolchain.compiler, *compiler_flags(toolchain), "-w", *compiling, f"-I{build.NATIVE}"]
    words += [f'-DKERNEL="{SOURCE}"', str(HERE / "once.cpp"), *map(str, build.harness(toolchain, mpi))]
    subprocess.run([*words, "-o", str(path), *linking, "-pthread", "-ldl"], check=True)
    return Built(path, mpi)


def command(cluster: Cluster, of: Built) -> list[str]:
    """mpiexec on host1, a rank on each host."""
    settings = {
        "btl": "tcp,self",
        "btl_tcp_if_include": f"{NETWORK}.0/24",
        "oob_tcp_if_include": "10.77.0.0/24",
        "plm_rsh_agent": str(cluster.agent),
        "mpi_yield_when_idle": "1",
    }
    starter = shutil.which("mpiexec.openmpi") or "mpiexec"
    hosts = ",".join(f"{host}:1" for host in cluster.hosts)
    words = [*cluster.enter(cluster.hosts[0]), starter, "--allow-run-as-root", "--host", hosts, "--bind-to", "none"]
    for name, value in settings.items():
        words += ["--mca", name, value]
    passed = [word for name in ("LD_PRELOAD", tracing.FOLDER) for word in ("-x", name)]
    return [*words, *passed, str(of.path), PARAMETERS, STEPS]


def measured(cluster: Cluster, of: Built) -> float:
    """Seconds of the slowest rank. RuntimeError where the result is wrong or there is none."""
    environment = {**os.environ, "LD_PRELOAD": "", tracing.FOLDER: ""}
    done = subprocess.run(
        command(cluster, of),
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    words = done.stdout.split()
    if done.returncode or len(words) != 2 or words[1] != "right":
        raise RuntimeError(f"The stencil ended with {done.returncode}: {done.stdout}{done.stderr}")
    return float(words[0])


def traced(cluster: Cluster, of: Built, folder: Path, machine: Machine) -> Path:
    """A trace of the program in `folder`."""
    made = tracing.record(command(cluster, of), folder, machine, of.mpi)
    if made.code or made.ranks != len(cluster.hosts):
        raise RuntimeError(f"The stencil under the tracer ended with {made.code}, {made.ranks} ranks wrote.")
    return folder


def calibrated(asked: Engine, time: float) -> Network:
    """The network whose latency lets the undisturbed replay take as long as was measured; no other parameter is fitted."""

    def beyond(latency: float) -> float:
        return _mean(asked, Point(network=_network(latency)), 1) - time

    if beyond(0.0) >= 0:
        return _network(0.0)
    return _network(float(brentq(beyond, 0.0, time, xtol=1e-9, rtol=1e-6)))


def added(network: Network, conditions: Conditions) -> Network:
    """The same with a delay, and with links that are occupied by each message's bytes and by what is sent around them."""
    (before,) = network.across
    per_byte = 8 / conditions.rate if conditions.rate else 0.0
    around = (PACKET + OPEN_MPI) * per_byte
    per_byte *= 1 + PACKET / MSS
    return replace(network, across=(replace(before, L=before.L + conditions.delay + around, g=around, G=per_byte),))


def predicted(asked: Engine, network: Network, conditions: Conditions) -> float:
    """The mean time in s that the replay states for the program under these conditions."""
    loss = (
        Loss(probability=conditions.loss, rto=conditions.rto, probe=True, sack=True, tick=TICK)
        if conditions.loss
        else Loss()
    )
    return _mean(asked, Point(network=added(network, conditions), loss=loss), REPEATS if conditions.loss else 1)


def _network(latency: float) -> Network:
    return Network(across=(Protocol(L=latency),), eager=1 << 50)


def _mean(asked: Engine, point: Point, repeats: int) -> float:
    ((_, line),) = question.group_points(Question((point,), repeats, mode="event"))
    return statistics.fmean(time / PS for time in asked.ask(line)["time"])


replay = functools.partial(start, flops=1e9, part=REGION)
