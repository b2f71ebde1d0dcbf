"""Plans, limits and figures of benchmarks while no look at the system is allowed.

python tests/helpers/looking.py PRESETS [FOLDER …]: PRESETS is the number of the presets that are planned. Run as a program of its
own, so that no answer is remembered from before. Names what looks, and ends with 1.
"""

import builtins
import ctypes
import ctypes.util
import importlib
import io
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import steelyard
from steelyard.errors import UsageError
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.model import Benchmark, Case, Check, Device, Host, Library, Limit, Machine, Record, Verdict
from steelyard.statistics.results.result import results

LOOKS = (
    (builtins, ("open",)),
    (io, ("open",)),
    (os, ("open", "stat", "lstat", "access", "listdir", "scandir", "readlink", "popen", "system", "getenv", "sysconf")),
    (os, ("cpu_count", "sched_getaffinity", "uname", "getloadavg")),
    (subprocess, ("Popen",)),
    (shutil, ("which",)),
    (socket, ("gethostname", "socket")),
    (platform, ("uname", "machine", "node", "processor", "system", "release")),
    (ctypes, ("CDLL",)),
    (ctypes.util, ("find_library",)),
)

# Each part of SciPy asks for settings of its own when it is first used: now, before anything is refused.
for part in ("fft", "special", "stats"):
    importlib.import_module(f"scipy.{part}")

OWN = str(Path(steelyard.__file__).parent) + os.sep  # the package's own data says nothing of the machine


MOST_CASES = 12  # of each preset: evenly chosen from all


class Looked(Exception):
    """A declaration asked the system."""


class NoEnvironment(dict[str, str]):
    """Refuses every question."""

    def _refuse(self, *_: object) -> Any:
        raise Looked("os.environ")

    __getitem__ = __contains__ = __iter__ = get = keys = items = values = _refuse  # type: ignore[assignment]


class Work(dict[str, float]):
    """Some of everything: bytes, flops, messages …"""

    def __missing__(self, name: str) -> float:
        return 1e6

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


def machines() -> dict[str, Machine]:
    """With and without libraries, devices and hosts."""
    usual = builders.machine()
    ceilings = {"memory_bandwidth": Limit(1e11, "B/s", "by hand"), "flops": Limit(1e12, "flop/s", "by hand")}
    return {
        "two nodes": builders.machine(nodes=2, cores=16, limits=ceilings),
        "everything": replace(
            usual,
            limits=ceilings,
            libraries=(Library("blas", "libblas.so.3", False), Library("fftw", "libfftw3.so.3", True)),
            devices=(Device(0, "by hand", "GPU", 8 << 30, False),),
            hosts=(Host("a", 4), Host("b", 4)),
        ),
    }


def record(case: Case, launch: int) -> Record:
    around: Mapping[str, Any] = {"core_clock": {"before": [builders.CLOCK], "after": [builders.CLOCK]}}
    times = builders.samples(1e-3, seed=launch, count=10)
    parameters = {**case.parameters, "toolchain": "any"}
    if "ranks" in parameters:
        count = int(parameters["ranks"])
        around = {**around, "ranks": {"hosts": ["a", "b"] * count, "seconds": [list(times)] * count}}
    return Record(
        benchmark=case.benchmark, kernel=case.kernel, parameters=parameters, launch=launch, case=0, attempt=1,
        samples=times, operations=1, work=Work(),
        check=Check(True), verdict=Verdict("CLEAN"), surroundings=builders.seen(around),
    )  # fmt: skip


def judge(benchmark: Benchmark, machine: Machine, presets: int) -> None:
    """All that a declaration is asked: its axes through a plan, its limits and its figures."""
    for effort in list(EFFORTS.values())[:presets]:
        try:
            made = make({benchmark.name: benchmark}, machine, effort, {}, ["any"], mpis=["any"])
        except UsageError:  # some need two cores, or a network
            continue
        every = list({str(c): c for launch in made.launches for c in launch.cases}.values())
        cases = every[:: len(every) // MOST_CASES + 1]
        found = results((record(c, n) for c in cases for n in (1, 2)), {benchmark.name: benchmark})
        for result in found:
            for metric in benchmark.metrics if benchmark.limit else ():
                benchmark.limit(metric.name, result, machine)
        benchmark.figures(found, machine)


def forbid() -> None:
    """From now on a look at the system ends with its name."""

    def refused(name: str, usual: Any) -> Any:
        def refuse(*words: Any, **more: Any) -> Any:
            if words and str(words[0]).startswith(OWN):
                return usual(*words, **more)
            raise Looked(f"{name}({', '.join(map(repr, words))})")

        return refuse

    for module, names in LOOKS:
        for name in names:
            setattr(module, name, refused(f"{module.__name__}.{name}", getattr(module, name)))
    setattr(os, "environ", NoEnvironment())  # noqa: B010  # the variables stay: only the questions are refused


def main(words: list[str]) -> int:
    """0 where no benchmark looks at the system by itself."""
    known, places, presets = catalogue.find(map(Path, words[1:])), machines(), int(words[0])
    out, looked = sys.stdout, False
    forbid()
    for name, benchmark in known.items():
        for place, machine in places.items():
            try:
                judge(benchmark, machine, presets)
            except Looked as look:
                looked = True
                out.write(f"{name} on the machine '{place}' asks the system itself: {look}\n")
    out.write(f"{len(known)} benchmarks were planned, limited and drawn.\n")
    return int(looked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
