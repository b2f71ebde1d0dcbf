"""Imports the outputs of other tools that ran on this machine, and sets them beside our benchmarks of the same meaning.

    python bench/imported.py            runs HPCC, IMB and likwid-bench where they exist, then ours; prints the ratios
    python bench/imported.py --keep DIR keeps the outputs and the runs in DIR

HPCC and likwid-bench are Debian packages. IMB comes with Intel MPI's wheel and runs on MPICH's, as our programs beside it do. A
tool that is missing is left out with its reason. The runs of both sides follow each other within minutes. On a shared machine
the ratios change from hour to hour.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import imb
from hpcc import MissingError

from steelyard.measure.machine import describe

NETWORK = ("network.pingpong", "network.sendrecv", "network.collectives")
PROBLEM = 8000  # n of HPCC's linear system: its vectors of STREAM have 27 MB each on two ranks
PATIENCE = 600.0  # seconds for one tool
HPCC_LINES = """HPLinpack benchmark input file
made by bench/imported.py
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{problem}         Ns
1            # of NBs
128           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """Runs a tool in the folder and returns its output. MissingError if it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"{command[0]}: {error}") from error
    return done.stdout


def hpcc(folder: Path) -> str:
    """The summary of HPCC on two ranks."""
    if not shutil.which("hpcc"):
        raise MissingError("HPCC is missing: apt-get install hpcc")
    (folder / "hpccinf.txt").write_text(HPCC_LINES.format(problem=PROBLEM))
    words = ["mpirun", "--allow-run-as-root", "-n", "2", "hpcc"]
    run(words, folder, {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    output = (folder / "hpccoutf.txt").read_text()
    for name in ("hpccinf.txt", "hpccoutf.txt", "HPL.out"):
        (folder / name).unlink(missing_ok=True)
    return output


def messages(folder: Path) -> str:
    """IMB's ping-pong, Sendrecv and Allreduce on two ranks of MPICH."""
    ground = imb.on_mpich(describe(), lambda _: {}, install=True)
    words = ground.theirs.command("PingPong", "Sendrecv", "Allreduce", "-msglog", "3:20")
    return run(words, folder, dict(ground.theirs.environment))


def likwid(folder: Path) -> str:
    """likwid-bench: Triad by two threads, and one load after the other."""
    if not shutil.which("likwid-bench"):
        raise MissingError("likwid-bench is missing: apt-get install likwid")
    return "".join(
        run(["likwid-bench", "-t", kernel, "-w", f"S0:400MB:{threads}"], folder)
        for kernel, threads in (("stream", 1), ("stream", 2), ("copy", 2))
    )


TOOLS = {"hpcc": hpcc, "imb": messages, "likwid": likwid}
# Our benchmarks of the same meaning; "mpich": with the MPI that IMB runs on.
BESIDE = {
    "hpcc": ("ours", ("memory.stream", "network.pingpong")),
    "imb": ("ours-mpich", NETWORK),
    "likwid": ("ours", ("memory.stream",)),
}


def outputs(folder: Path, names: list[str]) -> Iterator[str]:
    """Writes the output of each tool into the folder; yields the reasons for those that are missing."""
    for name in names:
        tool = TOOLS[name]
        print(f"running {name} …", file=sys.stderr, flush=True)
        try:
            (folder / f"{name}.txt").write_text(tool(folder))
        except MissingError as error:
            yield f"{name} is left out: {error}"


def steelyard(*words: str) -> str:
    """Runs Steelyard and returns what it prints. Its exit code 1 only says that a finding is serious."""
    done = subprocess.run([sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    return done.stdout


def measure(name: str, benchmarks: set[str], runs: str) -> None:
    """Runs our benchmarks under this name."""
    only = [word for benchmark in sorted(benchmarks) for word in ("--only", benchmark)]
    mpi = ["--mpi", str(imb.environment("mpich", install=True) / "bin/mpicxx")] if name == "ours-mpich" else []
    steelyard("run", *only, *mpi, "--budget", "90s", "--name", name, "--runs", runs, "--quiet")


def show(name: str, runs: str) -> None:
    """Imports the output of a tool and prints its ratios to our run beside it."""
    compared = json.loads(steelyard("compare", BESIDE[name][0], name, "--json", "--runs", runs))
    (other,) = compared["others"]
    for whole in other["benchmarks"]:
        print(f"{name:10}{whole['name']:22}{whole['cases']:7}{whole['ratio']:24.2f}")
    for condition in other["conditions"]:
        print(f"{'':10}{condition}")


def main() -> int:
    """Runs the tools and Steelyard, and prints for each pair of the same meaning the ratio of their times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="DIR", type=Path, help="folder for the outputs and the runs (default: none)")
    parser.add_argument("--only", choices=TOOLS, action="append", help="only this tool (default: all)")
    asked = parser.parse_args()
    names = asked.only or list(TOOLS)
    with tempfile.TemporaryDirectory(prefix="steelyard-imported-") as temporary:
        folder = asked.keep or Path(temporary)
        logs, runs = folder / "logs", str(folder / "runs")
        logs.mkdir(parents=True, exist_ok=True)
        for reason in outputs(logs, names):
            print(reason)
        read = [name for name in names if (logs / f"{name}.txt").exists()]
        for beside in dict.fromkeys(BESIDE[name][0] for name in read):
            measure(beside, {b for name in read if BESIDE[name][0] == beside for b in BESIDE[name][1]}, runs)
        print(f"{'tool':10}{'benchmark':22}{'cases':>7}{'time of theirs / ours':>24}")
        for name in read:
            steelyard("import", str(logs / f"{name}.txt"), "--name", name, "--runs", runs)
            show(name, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
