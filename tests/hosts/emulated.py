"""A network between the hosts of a cluster whose delay, rate and losses are imposed, frame by frame, by a program of ours."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster import Cluster
from inhabitants import dismiss, done, keep

NETWORK = "10.78.0"
SOURCE = Path(__file__).with_name("emulator.cpp")
RTO = 0.2  # s: the least time-out of Linux' TCP


@dataclass(frozen=True)
class Conditions:
    """One way takes `delay` s longer; `rate` bit/s each way of each host, 0: no bound; `loss` of TCP's packets; `rto` s."""

    delay: float = 0.0
    rate: float = 0.0
    loss: float = 0.0
    rto: float = RTO


UNDISTURBED = Conditions()


@dataclass(frozen=True)
class Passed:
    """Frames of TCP that came since the conditions were set, those of them without data, and those lost; s by which frames left
    late: mean, greatest.
    """

    frames: int
    empty: int
    dropped: int
    late: float
    latest: float


class Emulator:
    """The network 10.78.0.0/24 of a cluster's hosts, each with the device link0."""

    def __init__(self, cluster: Cluster, process: subprocess.Popen[str]) -> None:
        self._cluster, self._process = cluster, process
        self._rto = RTO

    def route(self, rto: float) -> None:
        """Sets the least time-out. What a step of the programs sends fits into the first window: no slow start."""
        for number, host in enumerate(self._cluster.hosts, 1):
            words = (
                f"{NETWORK}.0/24 dev link0 proto kernel scope link src {NETWORK}.{number} initcwnd 64 rto_min {rto:g}s"
            )
            done([*self._cluster.enter(host), "ip", "route", "replace", *words.split()])
        self._rto = rto

    def impose(self, conditions: Conditions, seed: int = 1) -> Passed:
        """From now on; says what has passed before."""
        if conditions.rto != self._rto:
            self.route(conditions.rto)
        assert self._process.stdin
        assert self._process.stdout
        words = f"delay={conditions.delay * 1e9:.0f} rate={conditions.rate:g} loss={conditions.loss:g} seed={seed}\n"
        self._process.stdin.write(words)
        self._process.stdin.flush()
        said = dict(word.split("=") for word in self._process.stdout.readline().split())
        counts = (int(said[name]) for name in ("frames", "empty", "dropped"))
        return Passed(*counts, *(float(said[name]) / 1e9 for name in ("late", "latest")))


@contextlib.contextmanager
def emulator(cluster: Cluster, folder: Path) -> Iterator[Emulator]:
    """Compiles it into the folder and joins the cluster's hosts by it."""
    program = folder / "emulator"
    done(["g++", "-O2", "-std=c++20", "-o", str(program), str(SOURCE)], seconds=120.0)
    processes = [(cluster.folder / f"{host}.pid").read_text().strip() for host in cluster.hosts]
    running = keep([str(program), *processes], "no network can be emulated here")
    try:
        for number, host in enumerate(cluster.hosts, 1):
            for words in (f"address add {NETWORK}.{number}/24 dev link0", "link set link0 up"):
                done([*cluster.enter(host), "ip", *words.split()])
            # What a run learns of a route is not for the next one.
            done([*cluster.enter(host), "sysctl", "-q", "-w", "net.ipv4.tcp_no_metrics_save=1"])
        link = Emulator(cluster, running)
        link.route(RTO)
        yield link
    finally:
        dismiss(running)
