"""Who takes part in the comparison, how each is run on given processors, and how its output is read.

Rates are bytes per second as STREAM counts Triad: 24 bytes an element. What each reports differs: HPCC the
best and the mean of N - 1 repetitions, likwid-bench the mean over its run; Steelyard keeps all samples, and
says either.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcc import MissingError
from hpcc import run as run_tool

from steelyard.errors import ProgramFailed
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.machine.placement import place
from steelyard.model import Machine

OURS = "steelyard"
BYTES = 24  # that Triad counts for an element
REPETITIONS = 10  # N of STREAM, the first of which does not count
LIKWID_ITERATIONS = 20  # a second or two at the sizes of the cache rule; likwid's own choice takes up to five
LIMIT = 300.0  # seconds after which a contender hangs
HPCC_MOST = (1 << 31) - 1  # elements: HPCC counts them in an int
# The instructions in a likwid kernel's name, and the word of /proc/cpuinfo for a processor that has them.
INSTRUCTIONS = {
    "sse": "sse2",
    "avx": "avx",
    "avx512": "avx512f",
    "fma": "fma",
    "neon": "asimd",
    "sve": "sve",
}


@dataclass(frozen=True)
class Rates:
    """Bytes per second by the statistics that a contender reports; None: it does not report this one."""

    best: float | None = None
    mean: float | None = None
    median: float | None = None


@dataclass(frozen=True)
class Contender:
    """A program at a number of threads. `measure` runs it once, on these processors (wherever it likes where none are given)."""

    name: str
    stores: str  # "ordinary" or "streaming"
    threads: int
    measure: Callable[[], Rates]
    cpus: tuple[int, ...] = ()


def ours(program: Path, machine: Machine, stores: str, threads: int, elements: int) -> Contender:
    """Our own native program, asked through the harness's protocol for one case."""
    cpus = place(machine, threads, "compact") or ()
    words = {"case": 0, "kernel": "triad", "threads": threads, "pinning": "compact", "stores": stores}
    words |= {"elements": elements, "cpus": ",".join(map(str, cpus))}
    words |= {"least": REPETITIONS, "most": 25, "seconds": 3}
    line = " ".join(f"{name}={value}" for name, value in words.items())

    def measure() -> Rates:
        conversation = Program([str(program)], local.environment(machine))
        try:
            return our_rates(conversation.ask(line, LIMIT))
        finally:
            conversation.close()

    return Contender(OURS, stores, threads, measure, cpus)


def our_rates(answer: Mapping[str, Any]) -> Rates:
    """From the record: STREAM's best (of the first 10 without the first), mean and median of all samples."""
    check = answer.get("check", {})
    if answer.get("error") or not check.get("passed"):
        raise ValueError(f"{OURS}: {answer.get('error') or check.get('detail') or 'the check failed'}")
    samples, counted = [float(s) for s in answer["samples"]], float(answer["work"]["bytes"])
    return Rates(
        best=counted / min(samples[1:REPETITIONS]),
        mean=counted / statistics.mean(samples),
        median=counted / statistics.median(samples),
    )


def hpcc(program: Path, machine: Machine, threads: int, elements: int) -> Contender:
    """HPCC's STREAM; its loops are the compiler's, which writes ordinary stores."""
    if elements > HPCC_MOST:
        raise MissingError(f"HPCC's STREAM takes at most {HPCC_MOST} elements, and {elements} are asked for")
    cpus = place(machine, threads, "compact") or ()
    places = ",".join(f"{{{cpu}}}" for cpu in cpus)
    openmp = {"OMP_NUM_THREADS": str(threads), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}
    environment = {**os.environ, **openmp}

    def measure() -> Rates:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.txt"
            pinned([str(program), str(elements), str(report)], cpus, environment)
            return hpcc_rates(report.read_text(), elements)

    return Contender("hpcc", "ordinary", threads, measure, cpus)


def hpcc_rates(report: str, elements: int) -> Rates:
    """From HPCC's report: its best rate (GB/s, 10^9), and the mean from its average time."""
    row = re.search(r"^Triad:\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", report, re.MULTILINE)
    size = re.search(r"^Array size = (\d+)", report, re.MULTILINE)
    if not row or not size or "Solution Validates" not in report:
        raise ValueError("HPCC's report has no Triad, no size, or did not validate")
    if int(size[1]) != elements:
        raise ValueError(f"HPCC measured {size[1]} elements, and {elements} were asked for")
    best, average = float(row[1]) * 1e9, float(row[2])
    return Rates(best=best, mean=BYTES * elements / average if average > 0 else None)


def likwid(kernel: str, machine: Machine, threads: int, elements: int) -> Contender:
    """One of likwid-bench's triads. It sees only the processors that it may use: domain N is just these."""
    cpus = place(machine, threads, "compact") or ()
    # -W: every thread places its own part, as first touch does for the others.
    workgroup = f"N:{BYTES * elements}B:{threads}"
    command = ["likwid-bench", "-t", kernel, "-i", str(LIKWID_ITERATIONS), "-W", workgroup]

    def measure() -> Rates:
        return likwid_rates(pinned(command, cpus, os.environ), cpus)

    return Contender(f"likwid {kernel}", likwid_stores(kernel), threads, measure, cpus)


def likwid_rates(output: str, cpus: Iterable[int]) -> Rates:
    """From likwid-bench's output: the mean rate (MByte/s, 10^6). It must have run on `cpus` and no others."""
    used = {int(cpu) for cpu in re.findall(r"running on hwthread (\d+) - Vector length", output)}
    rate = re.search(r"^MByte/s:\s+([\d.]+)", output, re.MULTILINE)
    if not rate:
        raise ValueError("likwid-bench's output has no MByte/s")
    if used != set(cpus):
        raise ValueError(f"likwid-bench ran on the processors {sorted(used)}, and was given {sorted(cpus)}")
    return Rates(mean=float(rate[1]) * 1e6)


def likwid_stores(kernel: str) -> str:
    """Its `_mem` kernels go past the caches."""
    return "streaming" if "mem" in kernel.split("_") else "ordinary"


def likwid_kernels(listing: str, flags: Iterable[str]) -> list[str]:
    """The double-precision triads in `likwid-bench -a` whose instructions the processor has."""
    names = re.findall(r"^(stream(?:_\w+)?) - ", listing, re.MULTILINE)
    have = set(flags)
    needed = {name: [w for w in name.split("_")[1:] if w != "mem"] for name in names}
    return [n for n, words in needed.items() if all(INSTRUCTIONS.get(w) in have for w in words)]


def processor_flags(cpuinfo: str) -> set[str]:
    """The instruction sets that /proc/cpuinfo names."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)", cpuinfo, re.MULTILINE)
    return set(found[1].split()) if found else set()


def find_likwid(install: bool) -> list[str]:
    """likwid-bench's kernels for this processor; installed first where that is wished and possible."""
    if not shutil.which("likwid-bench") and install and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-q", "update"], capture_output=True, check=False)
        run_tool(["apt-get", "install", "-y", "-q", "likwid"], "install likwid", environment)
    if not shutil.which("likwid-bench"):
        raise MissingError("likwid-bench is not installed; for example: apt-get install likwid  (as root)")
    listing = run_tool(["likwid-bench", "-a"], "ask likwid-bench for its kernels")
    return likwid_kernels(listing, processor_flags(Path("/proc/cpuinfo").read_text()))


def pinned(command: list[str], cpus: Sequence[int], environment: Mapping[str, str]) -> str:
    """Runs the command on these processors only; its standard output. ProgramFailed shows it whole."""
    text = f"taskset -c {','.join(map(str, cpus))} {' '.join(command)}"
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
    except subprocess.TimeoutExpired as late:
        raise ProgramFailed(f"Running {Path(command[0]).name}", text, None, str(late.stdout or "")) from late
    if done.returncode != 0:
        raise ProgramFailed(f"Running {Path(command[0]).name}", text, done.returncode, done.stdout + done.stderr)
    return done.stdout


def figure(rates: Rates) -> tuple[float | None, str]:
    """The rate that a contender is known by: its best where it tells one, otherwise its mean."""
    value, name = (rates.best, "best") if rates.best is not None else (rates.mean, "mean")
    return (value, name) if value is not None and math.isfinite(value) else (None, name)
