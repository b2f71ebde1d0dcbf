"""The replay beside SimGrid's (Debian's libsimgrid-dev, installed where it may be): messages a second of a processor, one thread.

Expected: tens of millions a second without contention, millions with queues, at any number of ranks; SimGrid's cost of a
message grows with the ranks. Both predict times: those need not agree here, since SimGrid's own factors apply (tests/
test_whatif_simgrid.py compares them after fitting).
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import simgrid

from steelyard.machine import describe
from steelyard.whatif import engine

MESSAGES = 1 << 20
NETWORK = "across=0,50000000,0,0,0,8000"


def stencil(ranks: int, messages: int) -> list[list[str]]:
    """A torus; each rank computes 100 µs and exchanges 8 KiB with four neighbours."""
    wide = 1 << (ranks.bit_length() - 1) // 2
    high = ranks // wide

    def rank(x: int, y: int) -> int:
        return x % wide + y % high * wide

    found = []
    for r in range(ranks):
        x, y = r % wide, r // wide
        near = [rank(x + 1, y), rank(x - 1, y), rank(x, y + 1), rank(x, y - 1)]
        step = [f"irecv {n} {d ^ 1} 8192" for d, n in enumerate(near)] + [
            f"isend {n} {d} 8192" for d, n in enumerate(near)
        ]
        found.append(["compute 100000", *step, "waitall"] * (messages // 4 // ranks))
    return found


def ring(ranks: int, messages: int) -> list[list[str]]:
    """Each rank sends to the next one and receives from the one before."""
    step = [(f"send {(r + 1) % ranks} 0 8192", f"recv {(r - 1) % ranks} 0 8192") for r in range(ranks)]
    return [[*step[r]] * (messages // ranks) for r in range(ranks)]


def allreduce(ranks: int, messages: int) -> list[list[str]]:
    """Each rank computes 100 µs, and all add 8 bytes."""
    return [["compute 100000", "allreduce 8 0"] * (messages // ranks // (ranks.bit_length() - 1))] * ranks


def incast(ranks: int, _messages: int) -> list[list[str]]:
    """All send to rank 0."""
    return [[f"recv {r} 0 8192" for r in range(1, ranks)], *[["send 0 0 8192"]] * (ranks - 1)]


# SimGrid gets an eighth of the messages: at 1024 ranks a million take it half a minute.
WORKLOADS = (
    ("stencil", stencil, 64, 8),
    ("stencil", stencil, 1024, 8),
    ("ring", ring, 1024, 8),
    ("allreduce", allreduce, 1024, 8),
    ("all to one", incast, 1001, 1),
    ("all to one", incast, 20001, 0),
)


def ours(program: Path, trace: Path) -> tuple[int, int, list[float], float]:
    """Messages, events, seconds of both modes, and MiB."""
    lines = "\n".join(["", *[f"{NETWORK} mode={mode}" for mode in ("dataflow", "event") for _ in range(5)]])
    done = subprocess.run([program, trace, "1e9"], input=lines + "\n", capture_output=True, text=True, check=True)
    about, *answers = [json.loads(line) for line in done.stdout.splitlines()]
    best = [min(a["seconds"] for a in answers[i : i + 5]) for i in (0, 5)]
    return about["messages"], about["events"], best, about["memory"] / (1 << 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    if not simgrid.present() and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "-q", "update"], capture_output=True, check=False)
        subprocess.run(["apt-get", "install", "-y", "-q", "libsimgrid-dev"], capture_output=True, check=False)
    if not simgrid.present():
        print("SimGrid is not installed; for example: apt-get install libsimgrid-dev  (as root)")
    program = engine.program(describe())
    print("Events/s of one core, million; the memory of ours, and how many times as fast as SimGrid both modes are")
    print(f"{'workload':<12}{'ranks':>7}  {'dataflow':>9}{'event':>9}{'SimGrid':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, make, ranks, part in WORKLOADS:
            messages, events, (flow, event), memory = ours(program, simgrid.written(folder, make(ranks, MESSAGES)))
            line = f"{title:<12}{ranks:>7}  {events / flow / 1e6:>9.1f}{events / event / 1e6:>9.1f}"
            if part and simgrid.present():
                other = simgrid.replayed(folder, make(ranks, MESSAGES // part))
                share = messages / part if make is not incast else messages
                rate = share / other.seconds * events / messages
                line += (
                    f"{rate / 1e6:>9.3f}   {memory:.0f} MiB; {events / flow / rate:.0f} and {events / event / rate:.0f}"
                )
            else:
                line += f"{'':>9}   {memory:.0f} MiB; {flow * 1e3:.2g} and {event * 1e3:.2g} ms"
            print(line, flush=True)


if __name__ == "__main__":
    main()
