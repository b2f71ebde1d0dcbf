"""Whole commands of the replay beside SimGrid's (Debian's libsimgrid-dev, installed where it may be), and LogGOPSim's where
its folder is given: seconds of a processor from the trace as a file to the predicted time. Beside them the engine alone.

Expected: whole commands take a second or two at any number of ranks, mostly to start and to read; the engine alone replays tens
of millions of events a second without contention, millions with queues. SimGrid's cost of a message grows with the ranks.
Both predict times: those need not agree here, since SimGrid's own factors apply (tests/
test_whatif_simgrid.py compares them after fitting).
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import simgrid

from steelyard.measure.machine import describe
from steelyard.whatif.program import compile_program

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


def seconds(*words: str | Path) -> float:
    """Of a processor, that a command and what it starts take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole(trace: Path, mode: str) -> float:
    """Seconds of the command as a user gives it; the cache keeps nothing of the trace, which is new each time."""
    steelyard = (sys.executable, "-m", "steelyard", "whatif")
    return seconds(*steelyard, trace, "--set", "network=L=50us,G=8ns/B", "--set", f"mode={mode}", "--set", "flops=1e9")


def loggopsim(programs: Path, trace: Path, folder: Path) -> tuple[float, float]:
    """Seconds of its txt2bin and of its replay, of the same operations as GOAL."""
    text, binary = folder / "trace.goal", folder / "trace.bin"
    text.unlink(missing_ok=True)
    seconds(sys.executable, "-m", "steelyard", "export", trace, "--format", "goal", "-o", text)
    made = seconds(programs / "txt2bin", "-i", text, "-o", binary)
    words = ("-L", "50000", "-o", "0", "-g", "0", "-G", "8", "-O", "0", "-S", "65535", "--batchmode")
    return made, seconds(programs / "LogGOPSim", "-f", binary, *words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loggopsim", type=Path, metavar="FOLDER", help="where its programs LogGOPSim and txt2bin are")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of each workload")
    asked = parser.parse_args()
    if not simgrid.present() and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "-q", "update"], capture_output=True, check=False)
        subprocess.run(["apt-get", "install", "-y", "-q", "libsimgrid-dev"], capture_output=True, check=False)
    if not simgrid.present():
        print("SimGrid is not installed; for example: apt-get install libsimgrid-dev  (as root)")
    program = compile_program("replay", describe())
    print("Seconds of a processor for whole commands on the same trace; then the engine alone")
    print(
        f"{'workload':<12}{'ranks':>7}{'dataflow':>10}{'event':>8}{'SimGrid':>9}{'LogGOPSim':>14}   million events/s, MiB"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, make, ranks, part in WORKLOADS:
            beside = part and simgrid.present()
            actions = make(ranks, asked.messages // part if beside else asked.messages)
            trace = simgrid.written(folder, actions)
            _, events, (flow, event), memory = ours(program, trace)
            line = f"{title:<12}{ranks:>7}{whole(trace, 'dataflow'):>10.2f}{whole(trace, 'event'):>8.2f}"
            goal = (
                "" if asked.loggopsim is None else "{:.2f} + {:.2f}".format(*loggopsim(asked.loggopsim, trace, folder))
            )
            other = f"{simgrid.replayed(folder, actions).seconds:.2f}" if beside else ""
            alone = f"{events / flow / 1e6:.1f} and {events / event / 1e6:.1f}, {memory:.0f} MiB"
            print(f"{line}{other:>9}{goal:>14}   {alone}", flush=True)


if __name__ == "__main__":
    main()
