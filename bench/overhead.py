"""What the tool costs besides measuring: the share of a run outside sampling, and the time of --help."""

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, ProgramFailed
from steelyard.measure import records

STEELYARD = Path(sys.executable).with_name("steelyard")
QUICK_LIMIT = 900.0  # seconds: a quick run takes 3 to 5 minutes
HELP_RUNS = 10
FINE = (0, 1)  # exit codes; 1 is a serious finding about the machine, after a run that was carried out


@dataclass(frozen=True)
class Overhead:
    """Seconds of a run: from its folder's first file to its last, of the whole command, and of sampling.

    `sampling` goes from the reading before a record's first sample to that after its last, `timed` is the
    samples alone. Allocation, first touch, warm-up and checks count as outside: the records do not tell them.
    """

    run: str
    measuring: float
    command: float | None  # None: the run was not started here
    sampling: float
    timed: float
    cases: int
    unknown: int  # records without times: cases that failed

    @property
    def outside(self) -> float | None:
        """The share of the wall time (of the command where known) outside sampling."""
        whole = self.command if self.command is not None else self.measuring
        return 1 - self.sampling / whole if whole > 0 else None


def of_run(folder: Path, command: float | None = None) -> Overhead:
    """From a finished run's folder; run.json is written when measuring begins, finished.json when it ends."""
    run = records.read(folder)
    if not run.finished:
        raise MachineFailed(f"The run {folder} was not finished; its wall time says nothing.")
    if run.notes:
        raise MachineFailed(f"The run {folder} has damaged records: {run.notes[0]}.")
    measuring = (folder / "finished.json").stat().st_mtime - (folder / "run.json").stat().st_mtime
    elapsed = [r.surroundings.processor_seconds.elapsed for r in run.records]
    known = [float(e) for e in elapsed if e is not None]
    timed = sum(sum(r.samples) * r.operations for r in run.records)
    count = len(run.records)
    return Overhead(run.id, measuring, command, sum(known), timed, count, count - len(known))


def quick_run(runs: Path) -> Overhead:
    """A quick run of everything, timed as a user's command; the programs are compiled before it."""
    _command([str(STEELYARD), "build"])
    began = time.perf_counter()
    _command([str(STEELYARD), "run", "--preset", "quick", "--quiet", "--runs", str(runs)])
    took = time.perf_counter() - began
    return of_run(records.find(runs, None), took)


def _command(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUICK_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFailed(f"The command '{' '.join(command)}' did not end well: {error}") from error
    if done.returncode not in FINE:
        purpose = "Measuring the overhead of a run"
        raise ProgramFailed(purpose, " ".join(command), done.returncode, done.stdout + done.stderr)


def help_seconds(runs: int = HELP_RUNS) -> float:
    """The median time of `steelyard --help`, after one that fills the caches."""
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        _command([str(STEELYARD), "--help"])
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def describe(found: Overhead) -> str:
    """In two sentences."""
    share = "unknown" if found.outside is None else f"{found.outside * 100:.1f} %"
    whole = found.command if found.command is not None else found.measuring
    what = "the whole command" if found.command is not None else "from the first file to the last"
    text = f"run {found.run}: {whole:.1f} s ({what}), {found.sampling:.1f} s of them sampling"
    text += f" in {found.cases} records ({found.timed:.1f} s the samples alone); outside sampling: {share}"
    if found.unknown:
        text += f"; {found.unknown} records failed and tell no times, so that it is less"
    return text + ".\nAllocation, first touch, warm-up and checks count as outside."
