"""The cause of differences, for real: two runs of this machine differ in one condition, and it is named."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.measure.machine import describe
from steelyard.measure.records import all_runs

pytestmark = pytest.mark.long
STEELYARD = str(Path(sys.executable).with_name("steelyard"))
TRIAD = ["--only", "memory.stream", "--set", "kernel=triad", "--set", "elements=524288", "--set", "threads=1"]
TRIAD += ["--set", "stores=ordinary", "--set", "pinning=compact"]
MESSAGES = ["--only", "network.pingpong", "--set", "message_bytes=8", "--set", "buffers=reused"]


def run(folder: Path, *words: str, processors: set[int] | None = None) -> str:
    """Measures once for two seconds, on these processors only; returns the name of the run."""
    done = subprocess.run(
        [STEELYARD, "run", *words, "--budget", "2s", "--quiet", "--runs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=(lambda: os.sched_setaffinity(0, processors)) if processors else None,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: others disturb the measurement
    return all_runs(folder)[-1].name


def cause(folder: Path, a: str, b: str) -> dict[str, Any]:
    done = subprocess.run(
        [STEELYARD, "compare", a, b, "--runs", str(folder), "--json"], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["rows"], "the runs have cases in common"
    named: dict[str, Any] = answer["cause"]
    return named


def named(folder: Path, first: list[str], second: list[str]) -> str:
    told = cause(folder, run(folder, *first), run(folder, *second))
    assert told["kind"] == "one", told
    return str(told["sentence"])


@pytest.mark.skipif(not shutil.which("clang++"), reason="Clang is not installed (Debian: clang)")
def test_of_two_compilers_the_compiler_is_the_cause(tmp_path: Path) -> None:
    sentence = named(tmp_path, [*TRIAD, "--toolchain", "gcc"], [*TRIAD, "--toolchain", "clang"])
    assert sentence.startswith("The compiler is the only condition that differs: gcc-")
    assert " (a), clang-" in sentence


def test_of_two_flags_the_compiler_is_the_cause(tmp_path: Path) -> None:
    sentence = named(tmp_path, TRIAD, [*TRIAD, "--toolchain", "gcc -O1"])
    assert sentence.endswith("+-O1 (b).")


def test_of_two_sizes_of_pages_the_page_size_is_the_cause(tmp_path: Path) -> None:
    sentence = named(tmp_path, [*TRIAD, "--set", "page_size=4k"], [*TRIAD, "--set", "page_size=transparent"])
    assert sentence == "The page size is the only condition that differs: 4 KiB pages (a), transparent huge pages (b)."


def test_with_one_processor_the_number_of_processors_is_the_cause(tmp_path: Path) -> None:
    every = os.sched_getaffinity(0)
    if len(every) < 2:
        pytest.skip("There is one processor only")
    a, b = run(tmp_path, *TRIAD), run(tmp_path, *TRIAD, processors={min(every)})
    told = cause(tmp_path, a, b)
    assert told["sentence"] == (
        f"The number of usable processors is the only condition that differs: {len(every)} (a), 1 of {len(every)} (b)."
    )


def test_of_two_mpis_the_mpi_is_the_cause(tmp_path: Path) -> None:
    from mpis import mpi

    machine = describe()
    site, mpich = mpi("default", machine), mpi("mpich", machine)
    if site.name == mpich.name:
        pytest.skip("The MPI of the site is MPICH, too")
    sentence = named(tmp_path, MESSAGES, [*MESSAGES, "--mpi", mpich.path])
    assert sentence == (
        f"The MPI is the only condition that differs: {site.name}-{site.version} (a), mpich-{mpich.version} (b)."
    )
