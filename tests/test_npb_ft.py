"""NPB FT: verified in every model, and its transforms beside sums by their definition."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling, Scalar
from steelyard.run import line

NAME, FOLDER, KERNEL = "application.npb_ft", "npb_ft", "ft"
MODELS = ["threads", "mpi"]
ONCE = Sampling(width=0.5, seconds=5.0, least=1, most=1)
PACKAGE = Path(__file__).parent.parent / "src" / "steelyard"
Asked = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def programs_of(here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """Its programs, compiled."""
    toolchain, mpi = build.resolve(build.default(here), here), build.default_mpi(here)
    made = build.build([benchmarks[NAME]], toolchain)
    return made | (build.build([benchmarks[NAME]], toolchain, mpi) if mpi else {})


@pytest.fixture(scope="module")
def ask(programs_of: dict[str, Path], here: Machine) -> Iterator[Asked]:
    """The answer of a program that so many threads or ranks carry out; programs are kept from case to case."""
    kept: dict[tuple[str, int, str], Program] = {}

    def asked(model: str, workers: int, memory: str = "", **more: str) -> dict[str, Any]:
        usual = build.default_mpi(here)
        mpis = {build.mpi_name(usual): usual} if usual else {}
        ways: dict[str, Scalar] = {"threads": 1, "pinning": "none"}
        if model == "mpi":
            if not mpis:
                pytest.skip("There is no MPI with its headers: apt-get install libopenmpi-dev")
            ways = {"ranks": workers, "placement": "compact", "mpi": next(iter(mpis))}
        case = Case(NAME, KERNEL, {"class": "S", "model": model, **ways, **more}, ONCE)
        launch = Launch(1, NAME, "any", 1, (case,))
        if (model, workers, memory) not in kept:
            command, environment = start(Site(mpis), here, launch, programs_of[build.program_name(NAME, model)])
            environment |= {"STEELYARD_MEMORY": memory} if memory else {}
            kept[model, workers, memory] = Program(command, environment, workers if model == "mpi" else None)
        # The tool refuses more threads than processors; the program does not.
        words = line(here, launch, 0, case).replace("threads=1", f"threads={workers}")
        return kept[model, workers, memory].ask(words, 60)

    yield asked
    for program in kept.values():
        program.close()


@pytest.fixture(params=["as wide as can be", "as narrow as can be"])
def told(request: pytest.FixtureRequest, here: Machine, tmp_path: Path) -> Callable[[str], list[float]]:
    """What a C++ program prints that is compiled with the benchmark's headers, for this processor's vectors or for the least."""

    def run(text: str) -> list[float]:
        source, program = tmp_path / "oracle.cpp", tmp_path / "oracle"
        source.write_text(text)
        words = [build.resolve(build.default(here), here).compiler, "-std=c++20", "-O1", "-pthread"]
        words += ["-march=native"] if request.param == "as wide as can be" else []
        words += ["-I", str(PACKAGE / "native"), "-I", str(PACKAGE / "benchmarks" / "application" / FOLDER)]
        subprocess.run([*words, source, "-o", program], check=True)
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        return [float(word) for word in out.split()]

    return run


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_the_published_checksums_are_found(model: str, workers: int, letter: str, ask: Asked) -> None:
    answer = ask(model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer["check"]["detail"]
    assert len(answer["surroundings"]["details"]["verification"]["quantities"]) == 12


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_one_wrong_number_or_no_transform_at_all_is_found(plant: str, model: str, ask: Asked) -> None:
    assert not ask(model, 2, plant=plant)["check"]["passed"]


@pytest.mark.parametrize("model", MODELS)
def test_the_phases_are_timed_on_request(model: str, ask: Asked) -> None:
    answer = ask(model, 2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert set(phases) >= {"tables", "start", "lines", "planes"}
    assert sum(phases.values()) <= 1.001 * answer["samples"][0]


def test_a_number_of_ranks_that_cannot_be_used_is_named(ask: Asked) -> None:
    error = ask("mpi", 3)["error"]
    assert "ranks='3' cannot be used by FT" in error
    assert "1, 2, 4, 8, 16, 32, 64" in error


@pytest.mark.parametrize("model", MODELS)
def test_too_little_memory_is_said_before_it_is_taken(model: str, ask: Asked) -> None:
    error = ask(model, 1, memory="1000000", **{"class": "A"})["error"]
    assert "not enough memory: class A needs" in error


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_does_not_exist_is_refused(model: str, ask: Asked) -> None:
    assert "class='X' must be one of: S, W, A, B, C, D" in ask(model, 1, **{"class": "X"})["error"]


def test_transforms_side_by_side_agree_with_the_sums_that_define_them(told: Callable[[str], list[float]]) -> None:
    """All lengths of all classes, forward and back, and along a row; the largest error of a number of size 1 or so."""
    errors = told(TRANSFORMS)
    assert len(errors) == 7 + 7 + 6
    assert max(errors) < 1e-12


TRANSFORMS = """
#include <complex>
#include <cstdio>
#include <cstdlib>
#include "lines.h"
using namespace steelyard::npb;
using Number = std::complex<double>;
std::vector<Number> by_definition(const std::vector<Number>& x, int sign) {
  std::vector<Number> roots, out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    roots.push_back(std::polar(1.0, sign * 2 * 3.14159265358979323846 * double(i) / double(x.size())));
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j < x.size(); ++j) out[k] += x[j] * roots[j * k % x.size()];
  return out;
}
double difference(const std::vector<Number>& a, const std::vector<Number>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most / std::sqrt(double(a.size()));
}
double* memory(std::size_t doubles) { return static_cast<double*>(std::aligned_alloc(64, doubles * 8)); }
// Lane 5 of eight lines, with one block free between two; back: of imaginary parts that stand first.
double of_lines(std::size_t n, bool back) {
  Lines lines(n);
  lines.compute_roots();
  double *x = memory(2 * n * block), *y = memory(2 * n * block), *work = memory(n * block);
  for (std::size_t i = 0; i < 2 * n * block; ++i) x[i] = std::rand() / (RAND_MAX + 1.0) - 0.5;
  Offsets at(n);
  for (std::size_t i = 0; i < n; ++i) at[i] = 2 * i * block;
  Offsets to = lines.targets(at);
  if (back)
    lines.transform(From{x, at.data()}, work, To<true>{y, to.data()});
  else
    lines.transform(From{x, at.data(), block}, work, To<false, true>{y, to.data()});
  std::vector<Number> in, out;
  for (std::size_t i = 0; i < n; ++i) {
    const double *from = x + at[i] + 5, *result = y + at[i] + 5;
    in.push_back(back ? Number(from[lanes], from[0]) : Number(from[0], from[lanes]));
    out.push_back(back ? Number(result[0], result[lanes]) : Number(result[0], result[lanes]));
  }
  return difference(out, by_definition(in, back ? 1 : -1));
}
double of_row(std::size_t n) {
  Row row(n);
  row.compute_roots();
  double *x = memory(2 * n), *work = memory(2 * n);
  std::vector<Number> in, out;
  for (std::size_t i = 0; i < 2 * n; ++i) x[i] = std::rand() / (RAND_MAX + 1.0) - 0.5;
  auto number = [&](std::size_t i) {
    const double* at = x + i / lanes * block + i % lanes;
    return Number(at[0], at[lanes]);
  };
  for (std::size_t i = 0; i < n; ++i) in.push_back(number(i));
  row.transform(x, 0, work);
  for (std::size_t i = 0; i < n; ++i) out.push_back(number(i));
  return difference(out, by_definition(in, -1));
}
int main() {
  for (std::size_t n = 32; n <= 2048; n *= 2) {
    std::printf("%g %g ", of_lines(n, false), of_lines(n, true));
    if (n >= 64) std::printf("%g ", of_row(n));
  }
}
"""


def test_the_initial_state_is_the_generators_sequence(told: Callable[[str], list[float]]) -> None:
    state, expected = 314159265, []
    for _ in range(2 * (5 * 64 + 64)):
        state = state * 5**13 % (1 << 46)
        expected.append(state / (1 << 46))
    assert told(ROW) == expected[2 * 5 * 64 :]


ROW = """
#include <cstdio>
#include "cube.h"
using namespace steelyard::npb;
int main() {
  std::vector<double> row(2 * 64);
  RandomRows().fill(row.data(), 64, 5 * 64);
  for (std::size_t i = 0; i < 64; ++i) {
    const double* at = row.data() + i / lanes * block + i % lanes;
    std::printf("%.17g %.17g ", at[0], at[lanes]);
  }
}
"""


def test_each_rank_has_its_share_of_the_points_once(told: Callable[[str], list[float]]) -> None:
    """Offsets of planes of z, as seen from both sides of the exchange of four ranks."""
    assert told(LAYOUT) == [1.0]


LAYOUT = """
#include <cstdio>
#include "cube.h"
using namespace steelyard::npb;
int main() {
  bool same = true;
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to) {
      Layout source(ft_class('W'), 4, from), target(ft_class('W'), 4, to);
      // Row y = 3 of the sender's, plane z = 2 of the receiver's: where in the message, and where it is looked for.
      std::size_t sent = source.leaving_z()[to * source.own_z + 2] + 3 * source.row;
      std::size_t looked_for = target.along_y()[from * target.own_y + 3] + 2 * target.plane;
      std::size_t message = from == to ? source.planes : source.packed + to * source.segment;
      std::size_t arrives = from == to ? target.planes : target.planes + from * target.segment;
      same = same && sent - message == looked_for - arrives;
    }
  std::printf("%d", same);
}
"""
