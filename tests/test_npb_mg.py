"""NPB MG: verified in every model, and its parts beside plain loops."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling, Scalar

NAME = "application.npb_mg"
ONCE = Sampling(width=0.5, seconds=5.0, least=1, most=1)
FOLDER = Path(__file__).parent.parent / "src" / "steelyard"


@pytest.fixture(scope="module")
def mg(here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """Its programs, compiled."""
    toolchain, mpi = build.resolve(build.default(here), here), build.default_mpi(here)
    made = build.build([benchmarks[NAME]], toolchain)
    return made | (build.build([benchmarks[NAME]], toolchain, mpi) if mpi else {})


def ask(
    mg: dict[str, Path], machine: Machine, model: str, workers: int, memory: int | None = None, **more: str
) -> dict[str, Any]:
    """The answer of a program of its own; `memory`: the bytes that it may take."""
    usual = build.default_mpi(machine)
    mpis = {build.mpi_name(usual): usual} if usual else {}
    ways: dict[str, Scalar] = {"threads": workers}
    if model != "threads":
        if not mpis:
            pytest.skip("There is no MPI with its headers: apt-get install libopenmpi-dev")
        ways = {"ranks": workers, "placement": "compact", "mpi": next(iter(mpis))}
    parameters = {"class": "S", "model": model, **ways, **more}
    launch = Launch(1, NAME, "any", 1, (Case(NAME, "mg", parameters, ONCE),))
    command, environment = start(Site(mpis), machine, launch, mg[build.program_name(NAME, model)])
    if memory is not None:
        environment["STEELYARD_MEMORY"] = str(memory)
    program = Program(command, environment, workers if model != "threads" else None)
    words = {"case": 1, "kernel": "mg", "seconds": 5, "least": 1, "most": 1, **parameters}
    try:
        return program.ask(" ".join(f"{k}={v}" for k, v in words.items()), 60)
    finally:
        program.close()


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_the_published_norm_is_found(model: str, workers: int, letter: str, mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer["check"]["detail"]
    found = answer["surroundings"]["details"]["verification"]
    assert found["tolerance"] == 1e-8
    assert found["quantities"][0]["error"] < 1e-11


def test_eight_ranks_share_all_three_directions(mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, "mpi", 8)
    assert answer["check"]["passed"], answer["check"]["detail"]


def test_each_level_of_the_cycle_is_timed_on_request(mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, "threads", 2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert set(phases) == {"first residual", "grid 2", "grid 4", "grid 8", "grid 16", "grid 32", "exchanges"}
    assert phases["grid 32"] > 0
    assert sum(phases.values()) <= 1.001 * answer["samples"][0]


def test_ranks_that_are_no_power_of_two_are_told_which_can_be_used(mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, "mpi", 3)
    assert "ranks='3' cannot be used by MG of class S" in answer["error"]
    assert "1, 2, 4, 8, 16, 32, 64" in answer["error"]


@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_too_little_memory_is_said_with_the_need_and_the_limit(model: str, mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, model, 1, memory=1_000_000, **{"class": "A"})
    assert "not enough memory: class A needs" in answer["error"]
    assert "0 MiB may be used" in answer["error"]


@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_a_class_that_does_not_exist_is_refused(model: str, mg: dict[str, Path], here: Machine) -> None:
    answer = ask(mg, here, model, 1, **{"class": "X"})
    assert "class='X' must be one of: S, W, A, B, C, D" in answer["error"]


def test_the_operators_on_lines_agree_with_plain_loops(tmp_path: Path, here: Machine) -> None:
    """Stencils, restriction and prolongation of random points, each point by its 27 neighbours one after another."""
    source = tmp_path / "operators.cpp"
    source.write_text(OPERATORS)
    program = tmp_path / "operators"
    include = ["-I", FOLDER / "native", "-I", FOLDER / "benchmarks" / "application" / "npb_mg"]
    compiler = build.resolve(build.default(here), here).compiler
    subprocess.run([compiler, "-std=c++20", "-O2", "-march=native", *include, source, "-o", program], check=True)
    assert float(subprocess.run([program], capture_output=True, text=True, check=True).stdout) < 1e-14


OPERATORS = """
// The largest difference between MG's operators on lines and plain loops over all neighbours of a point.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "sweep.h"
using namespace steelyard;
using namespace steelyard::npb;

struct Cube : Grid {
  std::vector<double> memory;
  explicit Cube(int n) : Grid({{n, n, n}, {false, false, false}}), memory(size() + 8) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    place(memory.data() + (64 - at % 64) % 64 / 8);
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) line(y, z)[x] = std::rand() / (RAND_MAX + 1.0);
        close(line(y, z));
      }
  }
  double at(int x, int y, int z) const { return line(y, z)[x & (extent.points[0] - 1)]; }
};
double plain(const Cube& c, int x, int y, int z, Weights k) {
  double sum = 0, by[] = {k.centre, k.face, k.edge, k.corner};
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        sum += by[std::abs(dx) + std::abs(dy) + std::abs(dz)] * c.at(x + dx, y + dy, z + dz);
  return sum;
}
double linear(const Cube& coarse, int x, int y, int z) {
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    // Fine 2j + 1 is coarse j; fine 2j the mean of j - 1 and j.
    auto from = [&](int fine, int side) { return fine % 2 ? fine / 2 : fine / 2 - side; };
    sum += coarse.at(from(x, corner & 1), from(y, corner >> 1 & 1), from(z, corner >> 2 & 1)) / 8;
  }
  return sum;
}
int main() {
  double worst = 0;
  auto compare = [&](double a, double b) { worst = std::fmax(worst, std::fabs(a - b)); };
  for (int n : {2, 4, 8, 16, 32}) {
    Cube fine(n), coarse(n / 2), out(n), small(n / 2);
    Weights s{-0.3, 0.2, -0.1, 0}, full{0.5, 0.25, 0.125, 0.0625};
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y) {
        apply<true, false>(about(fine, y, z), fine.line(y, z), out.line(y, z), 0, n, s, fine.line(y, z));
        for (int x = 0; x < n; ++x) compare(out.at(x, y, z), fine.at(x, y, z) + plain(fine, x, y, z, s));
        apply<false, true>(about(fine, y, z), fine.line(y, z), out.line(y, z), 0, n, negative_laplacian,
                           fine.line(y, z));
        for (int x = 0; x < n; ++x)
          compare(out.at(x, y, z), fine.at(x, y, z) + plain(fine, x, y, z, negative_laplacian));
        prolong<true>(coarse, y, z, 0, fine.line(y, z), out.line(y, z), 0, n);
        for (int x = 0; x < n; ++x) compare(out.at(x, y, z), fine.at(x, y, z) + linear(coarse, x, y, z));
      }
    restrict_box(fine, small, {0, n / 2, 0, n / 2});
    for (int z = 0; z < n / 2; ++z)
      for (int y = 0; y < n / 2; ++y)
        for (int x = 0; x < n / 2; ++x)
          compare(small.at(x, y, z), plain(fine, 2 * x + 1, 2 * y + 1, 2 * z + 1, full));
  }
  std::printf("%g\\n", worst);
}
"""
