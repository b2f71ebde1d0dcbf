"""NPB EP: verified in every model, and its parts beside the C library and a step-by-step generator."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling, Scalar

NAME = "application.npb_ep"
ONCE = Sampling(width=0.5, seconds=5.0, least=1, most=1)
FOLDER = Path(__file__).parent.parent / "src" / "steelyard"


@pytest.fixture(scope="module")
def ep(here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """Its programs, compiled."""
    toolchain, mpi = build.resolve(build.default(here), here), build.default_mpi(here)
    made = build.build([benchmarks[NAME]], toolchain)
    return made | (build.build([benchmarks[NAME]], toolchain, mpi) if mpi else {})


def ask(
    ep: dict[str, Path], machine: Machine, model: str, workers: int, memory: int | None = None, **more: str
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
    launch = Launch(1, NAME, "any", 1, (Case(NAME, "ep", parameters, ONCE),))
    command, environment = start(Site(mpis), machine, launch, ep[build.program_name(NAME, model)])
    if memory is not None:
        environment["STEELYARD_MEMORY"] = str(memory)
    program = Program(command, environment, workers if model != "threads" else None)
    words = {"case": 1, "kernel": "ep", "seconds": 5, "least": 1, "most": 1, **parameters}
    try:
        return program.ask(" ".join(f"{k}={v}" for k, v in words.items()), 60)
    finally:
        program.close()


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_the_published_sums_are_found(
    model: str, workers: int, letter: str, ep: dict[str, Path], here: Machine
) -> None:
    answer = ask(ep, here, model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer["check"]["detail"]
    found = answer["surroundings"]["details"]["verification"]
    assert found["tolerance"] == 1e-8
    assert all(q["error"] < 1e-12 for q in found["quantities"])


def test_the_counts_are_exact_and_add_up_to_the_published_number_of_pairs(ep: dict[str, Path], here: Machine) -> None:
    answer = ask(ep, here, "threads", 2)
    counts = answer["surroundings"]["details"]["counts"]
    assert counts == [6140517, 5865300, 1100361, 68546, 1648, 17, 0, 0, 0, 0]
    assert sum(counts) == 13176389


def test_the_sums_do_not_depend_on_who_adds_them_up(ep: dict[str, Path], here: Machine) -> None:
    found = [ask(ep, here, model, n) for model, n in (("threads", 1), ("threads", 2), ("mpi", 1), ("mpi", 3))]
    sums = [[q["value"] for q in a["surroundings"]["details"]["verification"]["quantities"]] for a in found]
    assert all(s == sums[0] for s in sums)


def test_pairs_and_sums_are_timed_on_request(ep: dict[str, Path], here: Machine) -> None:
    phases = ask(ep, here, "threads", 2, phases="on")["surroundings"]["details"]["phases"]
    assert set(phases) == {"pairs", "sums"}
    assert phases["pairs"] > phases["sums"] > 0


@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_too_little_memory_is_said_with_the_need_and_the_limit(model: str, ep: dict[str, Path], here: Machine) -> None:
    answer = ask(ep, here, model, 1, memory=1000)
    assert "not enough memory: class S needs" in answer["error"]


@pytest.mark.parametrize("model", ["threads", "mpi"])
def test_a_class_that_does_not_exist_is_refused(model: str, ep: dict[str, Path], here: Machine) -> None:
    answer = ask(ep, here, model, 1, **{"class": "X"})
    assert "class='X' must be one of: S, W, A, B, C, D" in answer["error"]


def test_the_parts_agree_with_plain_ones(tmp_path: Path, here: Machine) -> None:
    """Random numbers one by one, the logarithm by the C library's long double, the root, and what is kept."""
    source = tmp_path / "parts.cpp"
    source.write_text(PARTS)
    program = tmp_path / "parts"
    include = ["-I", FOLDER / "native", "-I", FOLDER / "benchmarks" / "application" / "npb_ep"]
    toolchain = build.resolve(build.default(here), here)
    for flags, units in (["-O2", "-march=native"], 2), (["-O2"], 40):  # without fused multiply-add it is coarser
        subprocess.run([toolchain.compiler, "-std=c++20", *flags, *include, source, "-o", program], check=True)
        told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        wrong, logarithm, root = (float(word) for word in told.split())
        assert wrong == 0
        assert logarithm < units, "units in the last place"
        assert root < 3, "units in the last place"


PARTS = """
// How many random numbers or pairs kept are wrong; the largest errors of logarithm and root, in units of the last place.
#include <cmath>
#include <cstdio>
#include "pairs.h"
using namespace steelyard;
using namespace steelyard::npb;

double off(double value, long double exact) {
  double near = std::fabs(static_cast<double>(exact));
  if (near == 0) return value == 0 ? 0 : 1e9;
  return static_cast<double>(std::fabs(value - exact)) / (std::nextafter(near, HUGE_VAL) - near);
}
int main() {
  int wrong = 0;
  std::array<std::uint64_t, lanes> first;
  Generator one(271828183), all(271828183);
  for (auto& state : first) one.next(), state = one.state();
  Streams streams(Generator::power(lanes), first);
  double worst_logarithm = 0, worst_root = 0;
  Logarithm logarithm;
  double xs[3 * lanes], ys[2 * lanes];
  for (int round = 0; round < 200000; ++round) {
    Pack x = streams.next(), y = streams.next();
    for (Pack pack : {x, y})
      for (std::size_t i = 0; i < lanes; ++i) wrong += pack[i] != 2 * all.next() - 1;
    std::size_t kept = keep_inside(x, y, xs, ys), expected = 0;
    for (std::size_t i = 0; i < lanes; ++i)
      if (x[i] * x[i] + y[i] * y[i] <= 1) {
        wrong += xs[expected] != x[i] || ys[expected] != y[i];
        ++expected;
      }
    wrong += kept != expected;
    // All of (0, 1), near 1, near 0, and beyond.
    Pack t = magnitude(x);
    if (round % 4 == 1) t = 1.0 - 0.01 * t;
    if (round % 4 == 2) t = t * t * t * t * 1e-12;
    if (round % 4 == 3) t = 1.0 + 1000.0 * t;
    Pack found = logarithm(t), root = root_of_ratio(magnitude(y), t);
    for (std::size_t i = 0; i < lanes; ++i) {
      worst_logarithm = std::fmax(worst_logarithm, off(found[i], std::log(static_cast<long double>(t[i]))));
      worst_root = std::fmax(worst_root, off(root[i], std::sqrt(std::fabs(static_cast<long double>(y[i])) / t[i])));
    }
  }
  Pack zero = root_of_ratio(logarithm(pack_of(1.0)), pack_of(1.0));
  for (std::size_t i = 0; i < lanes; ++i) wrong += zero[i] != 0;
  std::printf("%d %g %g\\n", wrong, worst_logarithm, worst_root);
}
"""
