"""NPB CG: verified in every programming model, the matrix against one made from the definition alone, and what is refused."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpis import mpi
from steelyard import build, site
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling
from steelyard.run import line

NAME = "application.npb_cg"
FOLDER = Path(__file__).parents[1] / "src/steelyard/benchmarks/application/npb_cg"
ONCE = Sampling(width=0.5, seconds=0.1, least=1, most=1)
MODELS = ("threads", "mpi", "rma", "shmem")
ESTIMATES = {"S": 8.5971775078648, "W": 10.362595087124}  # published
STORED = {"S": 78148, "W": 508402}  # entries of the matrices


class Asked:
    """Programs of CG, each kept from case to case."""

    def __init__(self, programs: dict[str, Path], here: Machine) -> None:
        self.programs, self.here = programs, here
        self._open: dict[tuple[str, int, str], Program] = {}

    def __call__(self, model: str, workers: int, memory: str = "", **more: str) -> dict[str, Any]:
        """The answer to a case on so many threads or ranks, with `memory` bytes to be had."""
        key = (model, workers if model != "threads" else 0, memory)
        case = self._case(model, workers, **more)
        launch = Launch(1, NAME, "any", 1, (case,))
        if key not in self._open:
            self._open[key] = self._start(model, launch, memory)
        words = line(self.here, launch, 0, case)
        if model == "threads":
            words += f" threads={workers}"  # the last counts: more than processors, too, which no plan allows
        return self._open[key].ask(words, 120)

    def close(self) -> None:
        for program in self._open.values():
            program.close()

    def _case(self, model: str, workers: int, **more: str) -> Case:
        many: dict[str, str | int] = {"threads": 1, "pinning": "none"}
        if model != "threads":
            many = {"ranks": workers, "placement": "compact", "mpi": build.mpi_name(mpi("default", self.here))}
        return Case(NAME, "cg", {"class": "S", "model": model, **many, **more}, ONCE)

    def _start(self, model: str, launch: Launch, memory: str) -> Program:
        program = build.program_name(NAME, model)
        if program not in self.programs:
            pytest.skip(f"The MPI of this machine has no {model}.")
        mpis = {} if model == "threads" else {str(launch.cases[0].parameters["mpi"]): mpi("default", self.here)}
        command, environment = start(Site(mpis), self.here, launch, self.programs[program])
        if memory:
            environment = {**environment, "STEELYARD_MEMORY": memory}
        return Program(command, environment, int(launch.cases[0].parameters.get("ranks", 0)) or None)


@pytest.fixture(scope="module")
def ask(benchmarks: dict[str, Benchmark], here: Machine) -> Iterator[Asked]:
    """CG's own programs: those that the MPI of this machine makes possible."""
    toolchain, tool = build.resolve(build.default(here), here), build.default_mpi(here)
    able = site.possible({NAME: benchmarks[NAME]}, site.site((), None, (), here), ()).values()
    made = build.build(able, toolchain) | (build.build(able, toolchain, tool) if tool else {})
    asked = Asked(made, here)
    yield asked
    asked.close()


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_the_published_eigenvalue_is_found(ask: Asked, model: str, workers: int, letter: str) -> None:
    answer = ask(model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer
    details = answer["surroundings"]["details"]
    [found] = details["verification"]["quantities"]
    assert found["value"] == pytest.approx(ESTIMATES[letter], rel=1e-12)
    assert details["nonzeros"] == STORED[letter]
    assert details["residual"] < 1e-13


def test_the_operations_are_those_that_npb_counts(ask: Asked) -> None:
    order, row = 1400, 7 * 8
    work = ask("threads", 1)["work"]
    assert work["operations"] == 2 * 15 * order * (3 + row + 25 * (5 + row) + 3)
    assert work["flops"] == 15 * (26 * 2 * STORED["S"] + order * (25 * 10 + 10))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("plant", "passed"), [("skip", False), ("wrong", False), ("work:1", True)])
def test_one_wrong_entry_of_the_matrix_is_found(ask: Asked, model: str, plant: str, passed: bool) -> None:
    answer = ask(model, 2, plant=plant)
    assert answer["check"]["passed"] is passed, answer["check"]


@pytest.mark.parametrize("model", MODELS)
def test_phases_are_told_when_they_are_asked_for(ask: Asked, model: str) -> None:
    answer = ask(model, 2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert list(phases) == ["SpMV", "exchange of vectors", "sums over all", "vector updates"]
    assert all(seconds > 0 for seconds in phases.values())
    assert sum(phases.values()) <= answer["samples"][-1] * 1.001
    assert "phases" not in ask(model, 2)["surroundings"]["details"]


@pytest.mark.parametrize("model", MODELS[1:])
def test_a_number_of_ranks_that_makes_no_grid_is_named(ask: Asked, model: str) -> None:
    assert "ranks='3' cannot be used by CG, which needs a power of two: 1, 2, 4" in ask(model, 3)["error"]


@pytest.mark.parametrize("model", MODELS)
def test_too_little_memory_is_said_before_it_is_taken(ask: Asked, model: str) -> None:
    assert "not enough memory: class S needs" in ask(model, 2, memory="1000000")["error"]


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_does_not_exist_is_refused_with_those_that_do(ask: Asked, model: str) -> None:
    assert "class='X' must be one of: S, W, A, B, C, D" in ask(model, 2, **{"class": "X"})["error"]


# --------------------------------------------------------------------------- the matrix from its definition alone

PRINTED = """
#include <cstdio>
#include "grid.h"
#include "sliced.h"
using namespace steelyard::npb::cg;
// Adds to q what a block of the matrix, cut into blocks of columns, gives for the vector p(i) = 1 / (1 + i).
void add(const Class& c, const Part& rows, const Part& columns, unsigned widest, std::vector<double>& q) {
  Contributions source(c, rows, columns);
  alignas(64) static double values[1 << 19], p[4096], part[4096];
  alignas(64) static std::uint16_t numbers[1 << 19];
  for (unsigned i = 0; i < columns.size(); ++i) p[i] = 1.0 / (1 + columns.global(i));
  unsigned middle = rows.size() / 16 * 8;
  for (auto [first, last] : {std::pair{0u, middle}, std::pair{middle, rows.size()}}) {
    Sliced slices(source, first, last, widest);
    slices.fill(source, values, numbers);
    slices.multiply(p, part, p);
  }
  for (unsigned i = 0; i < rows.size(); ++i)
    if (rows.global(i) < c.order) q[rows.global(i)] += part[i];
}
int main(int, char** given) {
  int ranks = std::atoi(given[1]);
  Class c{'-', 300, 5, 1, 10, 0, 0};
  std::vector<double> q(c.order);
  for (int rank = 0; rank < ranks; ++rank) {
    Grid grid(ranks, rank);
    add(c, grid.rows(c.order), grid.columns(c.order), static_cast<unsigned>(std::atoi(given[2])), q);
  }
  for (double x : q) std::printf("%.17g\\n", x);
}
"""


def by_definition(order: int, entries: int, shift: float) -> list[float]:
    """A p for p(i) = 1 / (1 + i), where A is the sum of weighted products of the random vectors: a matrix in full."""
    state, modulus = 314159265, 1 << 46

    def drawn() -> float:
        nonlocal state
        state = state * 5**13 % modulus
        return state / modulus

    drawn()
    matrix = [[0.0] * order for _ in range(order)]
    for k in range(order):
        vector: dict[int, float] = {}
        while len(vector) < entries:
            value, place = drawn(), int(512 * drawn())
            if place < order and place not in vector:
                vector[place] = value
        vector[k] = 0.5
        for i, left in vector.items():
            for j, right in vector.items():
                matrix[i][j] += 0.1 ** (k / order) * left * right
        matrix[k][k] += 0.1 - shift
    return [sum(a / (1 + j) for j, a in enumerate(row)) for row in matrix]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that multiplies with the matrix as so many ranks would hold it."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no compiler")
    source = tmp_path_factory.mktemp("cg") / "printed.cpp"
    source.write_text(PRINTED)
    program = source.with_suffix("")
    command = [compiler, "-std=c++20", "-O1", "-march=native", f"-I{build.NATIVE}", f"-I{FOLDER}", "-pthread"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize(("ranks", "widest"), [(1, 65536), (1, 40), (2, 64), (8, 65536), (16, 24), (64, 65536)])
def test_the_blocks_of_all_ranks_together_are_the_matrix(printed: Path, ranks: int, widest: int) -> None:
    told = subprocess.run([printed, str(ranks), str(widest)], capture_output=True, text=True, check=True).stdout
    assert [float(x) for x in told.split()] == pytest.approx(by_definition(300, 5, 10.0), rel=1e-12, abs=1e-14)


def test_the_bytes_are_those_of_a_matrix_larger_than_caches(benchmarks: dict[str, Benchmark], ask: Asked) -> None:
    work = ask("threads", 1)["work"]
    assert work["bytes"] / (15 * 26 * 10) == pytest.approx(STORED["S"], rel=0.02)
    assert benchmarks[NAME].sources
