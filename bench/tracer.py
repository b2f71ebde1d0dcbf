"""What the tracer costs: programs traced and not traced, in turn, on every MPI that can be had.

`make bench` calls it. Expected: 50 ns at most for a call beyond the bare one, 5 % for 8 bytes to and fro, 10 bytes an event. It
asserts nothing: each figure is the median of all samples, with the quartiles of the ratio's rounds. Two ranks need two
processors for themselves: a round waits until the machine is quiet, and the table says how many found it so.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import imb

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch import scheduler
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.mpi import Job
from steelyard.model import Machine, Tool
from steelyard.whatif import tracing

SOURCE = Path(__file__).with_name("calls.cpp")
Samples = Mapping[str, Sequence[float]]  # s of one repetition, by the series' name
Round = tuple[Samples, Samples]  # not traced, traced


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="both once in each (default 10)")
    parser.add_argument("--samples", type=int, default=20, help="of each series in a round (default 20)")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for quiet (default 30)")
    parser.add_argument("--no-install", action="store_true", help="install nothing from PyPI")
    asked = parser.parse_args()
    machine = describe()
    try:
        mpis = imb.mpis(machine, not asked.no_install)
    except imb.MissingError:
        mpis = list(machine.mpis)
    for mpi in mpis:
        try:
            measure(machine, mpi, asked.rounds, asked.samples, asked.patience)
        except SteelyardError as error:
            print(f"{build.mpi_name(mpi)}: {error}", file=sys.stderr)
    return 0


def measure(machine: Machine, mpi: Tool, rounds: int, samples: int, patience: float) -> None:
    """Both in turn on that MPI, and its table."""
    library = tracing.compile_tracer(machine, mpi)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "calls"
        subprocess.run([mpi.path, "-std=c++20", "-O2", str(SOURCE), "-o", str(program)], check=True)
        found: list[Round] = []
        events = size = quiet = 0
        for number in range(rounds):
            quiet += wait_until_quiet(patience)
            trace = folder / f"trace-{number}"
            trace.mkdir()
            traced = {"LD_PRELOAD": str(library), tracing.FOLDER: str(trace)}
            sides = [
                ran(machine, mpi, program, samples, more) for more in (({}, traced) if number % 2 else (traced, {}))
            ]
            found.append((sides[0], sides[1]) if number % 2 else (sides[1], sides[0]))
            size += sum(path.stat().st_size for path in trace.glob("*.trace"))
            events += calls(samples)
            shutil.rmtree(trace)
    print(f"{build.mpi_name(mpi)}: {size / events:.1f} B an event; {quiet} of {rounds} rounds began on a quiet machine")
    show(found)


def calls(samples: int) -> int:
    """Of both ranks in one start."""
    return (samples + 1) * (2 * 2 * 5000 + 10000 + 10000 + 3 * 5000)


def ran(machine: Machine, mpi: Tool, program: Path, samples: int, more: Mapping[str, str]) -> Samples:
    """The program once on the first two processors."""
    job = Job(program, 2, mpi, environment=more)
    starter = scheduler.launcher("mpiexec")
    cpus = [str(cpu) for cpu in (*machine.cpus, *machine.cpus)[:2]]
    words = [*starter.argv(job), str(samples), *cpus]
    done = subprocess.run(
        words, env=starter.environment(job, os.environ), check=True, capture_output=True, text=True, timeout=120
    )
    found: dict[str, list[float]] = defaultdict(list)
    for line in done.stdout.splitlines():
        name, count, seconds = line.split()
        found[f"{name} {count}"].append(float(seconds))
    return found


def show(found: Sequence[Round]) -> None:
    """A line for each series."""
    print(f"  {'':<12}{'bare':>9}{'traced':>9}   {'beyond it, a call':<18}ratio by round: median [quartiles]")
    for series in found[0][0]:
        title, count = series.split()
        bare, traced = (statistics.median(x for round_ in found for x in round_[side][series]) for side in (0, 1))
        ratios = [statistics.median(t[series]) / statistics.median(b[series]) for b, t in found]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
        beyond = f"{(traced - bare) / int(count) * 1e9:.1f} ns"
        print(
            f"  {title:<12}{bare * 1e9:>6.0f} ns{traced * 1e9:>6.0f} ns   {beyond:<18}{middle:.3f} [{low:.3f}, {high:.3f}]"
        )


if __name__ == "__main__":
    sys.exit(main())
