"""SimGrid's replay of TI traces (Debian's libsimgrid-dev), and its network's parameters from its own ping-pong."""

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Ranks = Sequence[Sequence[str]]

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="125MBps" lat="25us"/>
</platform>
"""
TRAIN, TRIPS = 17, 20


@dataclass(frozen=True)
class Replayed:
    """What SimGrid predicts, in s, and the seconds of a processor that it took."""

    time: float
    seconds: float


def present() -> bool:
    """Whether SimGrid is installed."""
    return shutil.which("smpirun") is not None


def written(folder: Path, ranks: Ranks) -> Path:
    """The trace, one file a rank, which SimGrid and Steelyard read alike."""
    for rank, actions in enumerate(ranks):
        lines = "".join(f"{rank} {action}\n" for action in ("init", *actions, "finalize"))
        (folder / f"trace.{rank}").write_text(lines, encoding="utf-8")
    path = folder / "trace"
    path.write_text("".join(f"trace.{rank}\n" for rank in range(len(ranks))), encoding="utf-8")
    return path


def replayed(folder: Path, ranks: Ranks, *settings: str) -> Replayed:
    """Its replay, on a switch with 1 Gbit/s; RuntimeError with its words where it fails."""
    trace, count = written(folder, ranks), len(ranks)
    (folder / "platform.xml").write_text(PLATFORM.format(last=count - 1), encoding="utf-8")
    (folder / "hosts").write_text("".join(f"n{rank}\n" for rank in range(count)), encoding="utf-8")
    command = ["smpirun", "-np", str(count), "-platform", "platform.xml", "-hostfile", "hosts", "-replay", trace.name]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, *(f"--cfg={setting}" for setting in settings)],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = done.stdout + done.stderr
    found = re.search(r"Simulation time ([\d.]+)", words)
    if not found:
        raise RuntimeError(f"SimGrid's replay failed: {words[-500:]}")
    return Replayed(float(found[1]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def network(folder: Path, sizes: Sequence[int]) -> str:
    """The words of the engine for SimGrid's network at these sizes: from round trips, and from trains of messages (LogGP)."""
    found = []
    for size in sorted(sizes):
        trip = replayed(folder, _trips(size)).time / 2 / TRIPS
        gap = (replayed(folder, _train(TRAIN, size)).time - replayed(folder, _train(1, size)).time) / (TRAIN - 1)
        per_byte = gap / (size - 1) if size > 1 else 0.0
        latency = trip - per_byte * (size - 1)
        found.append(f"{0 if not found else size},{1e12 * latency!r},0,0,0,{1e12 * per_byte!r}")
    return "across=" + ",".join(found)


def _trips(size: int) -> Ranks:
    return [[f"send 1 0 {size}", f"recv 1 0 {size}"] * TRIPS, [f"recv 0 0 {size}", f"send 0 0 {size}"] * TRIPS]


def _train(count: int, size: int) -> Ranks:
    there = [*[f"isend 1 0 {size}"] * count, "waitall", "recv 1 0 1"]
    return [there, [*[f"irecv 0 0 {size}"] * count, "waitall", "send 0 0 1"]]
