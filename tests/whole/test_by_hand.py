"""Plans, limits and figures come from the machine's description alone: machines that are not there can be planned."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from folders import TESTS
from steelyard.measure import build
from steelyard.measure.machine import describe, libraries
from steelyard.measure.plan import EFFORTS, make
from steelyard.model import Benchmark, Library, Machine

OWN = Path(libraries.__file__).parents[1] / "benchmarks" / "node"
LOOKING = TESTS / "helpers" / "looking.py"

NOSY = '''"""A benchmark that looks around

It asks the system by itself.

Reading: None.

Caution: None.

Source: None.
"""
import os
from steelyard.model import Axes, Metric

def axes(machine, effort):
    return (Axes({"kernel": ("nosy",), "threads": (1,) if os.environ.get("LESS") else (1, 2)}),)

metrics = (Metric("time", "s", "lower", "time", lambda seconds, record: seconds),)

def limit(metric, result, machine):
    return None

def figures(results, machine):
    return ()
'''


@pytest.mark.parametrize("presets", ["1", pytest.param("3", marks=pytest.mark.long)])
def test_no_benchmark_asks_the_system_by_itself_and_one_that_does_is_named(presets: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "nosy.py").write_text(NOSY)
    (tmp_path / "mine" / "nosy.cpp").write_text("")
    command = [sys.executable, str(LOOKING), presets, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    *looks, last = answer.stdout.splitlines() or [answer.stderr]
    assert looks, answer.stderr
    assert {look.partition(" on the machine ")[0] for look in looks} == {"mine.nosy"}, answer.stdout
    assert all("asks the system itself: os.environ" in look for look in looks)
    assert "benchmarks were planned, limited and drawn" in last
    assert answer.returncode == 1


# --------------------------------------------------------------------------- numerical libraries


def kernels(benchmark: Benchmark, machine: Machine) -> set[tuple[str, int]]:
    made = make({benchmark.name: benchmark}, machine, EFFORTS["standard"], {}, ["any"])
    return {(c.kernel, int(c.parameters["threads"])) for launch in made.launches for c in launch.cases}


@pytest.mark.parametrize(("name", "own", "kind"), [("node.matmul", "matmul", "blas"), ("node.fft", "fft", "fftw")])
def test_a_library_is_measured_where_the_machine_has_it_with_the_threads_that_it_can_use(
    name: str, own: str, kind: str, benchmarks: dict[str, Benchmark], two_sockets: Machine
) -> None:
    alone = {(own, 1), (own, 2), (own, 4)}
    assert kernels(benchmarks[name], two_sockets) == alone
    for threads, more in ((True, {(kind, 1), (kind, 2), (kind, 4)}), (False, {(kind, 1)})):
        machine = replace(two_sockets, libraries=(Library(kind, "lib.so", threads), Library("other", "lib.so", True)))
        assert kernels(benchmarks[name], machine) == alone | more


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for wanted in libraries.WANTED:
        monkeypatch.delenv(wanted.variable, raising=False)
    return monkeypatch


def compiled(folder: Path, file: str, functions: tuple[str, ...], here: Machine) -> None:
    """A library that has these functions, and does nothing."""
    source = folder / "functions.cpp"
    source.write_text("".join(f'extern "C" void {name}() {{}}\n' for name in functions))
    compiler = build.resolve(build.default(here), here).compiler
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(folder / file)], check=True)


def test_the_loader_is_asked_for_libraries_and_whether_they_have_threads(
    tmp_path: Path, here: Machine, no_variables: pytest.MonkeyPatch
) -> None:
    no_variables.setenv("LD_LIBRARY_PATH", str(tmp_path))
    compiled(
        tmp_path, "libopenblas.so.0", ("something_else",), here
    )  # the first of the names, but without the function
    compiled(tmp_path, "libmkl_rt.so", ("dgemm_", "MKL_Set_Num_Threads"), here)
    compiled(tmp_path, "libfftw3_threads.so.3", ("fftw_plan_dft_1d",), here)
    assert libraries.find_libraries() == (
        Library("blas", "libmkl_rt.so", True),
        Library("fftw", "libfftw3_threads.so.3", False),
    )


def test_what_a_variable_names_is_taken_also_where_it_cannot_be_loaded_so_that_its_case_says_so(
    tmp_path: Path, no_variables: pytest.MonkeyPatch
) -> None:
    missing = str(tmp_path / "libblas.so")
    no_variables.setenv("STEELYARD_BLAS", missing)
    assert Library("blas", missing, True) in libraries.find_libraries()


def test_a_library_that_ends_the_process_that_loads_it_is_none(
    tmp_path: Path, here: Machine, no_variables: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "end.cpp"
    source.write_text("#include <cstdlib>\nstruct End { End() { std::_Exit(3); } } end;\n")
    compiler = build.resolve(build.default(here), here).compiler
    files = [tmp_path / name for name in ("libopenblas.so.0", "libfftw3_threads.so.3")]
    for file in files:
        subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(file)], check=True)
    no_variables.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert libraries.find_libraries() == ()


def test_programs_look_for_the_libraries_that_the_machines_description_looks_for() -> None:
    for wanted, file in zip(libraries.WANTED, ("matmul.cpp", "fft.cpp"), strict=True):
        source = (OWN / file).read_text(encoding="utf-8")
        words = ", ".join(f'"{name}"' for name in wanted.files)
        assert f'"{wanted.variable}"' in source
        assert f"{{{words}}}" in source
        assert f'"{wanted.function}"' in source
        assert all(f'"{name}"' in source for name in wanted.threaded)


def test_recorded_files_of_another_machine_bring_no_library_of_this_one(tmp_path: Path) -> None:
    assert describe(tmp_path).libraries == ()
