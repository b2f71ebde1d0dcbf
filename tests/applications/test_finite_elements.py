"""Finite elements: second order, an element beside its closed form, the same physics whoever shares the mesh, planted errors."""

import math
from collections.abc import Iterator
from itertools import pairwise

import pytest

from npb_runs import Asked, compiled, details, told
from steelyard.measure.plan import EFFORTS, catalogue
from steelyard.model import Machine

NAME = "application.finite_elements"
# (model, threads or ranks, threads of each rank)
SHARED = (
    ("threads", 1, 1),
    ("threads", 2, 1),
    ("mpi", 1, 1),
    ("mpi", 2, 1),
    ("mpi", 3, 1),
    ("mpi", 4, 1),
    ("mpi", 8, 1),
    ("mpi", 1, 2),
    ("mpi", 2, 2),
    ("mpi", 1, 4),
    ("mpi", 3, 3),
)
FEW = (("threads", 1, 1), ("threads", 2, 1), ("mpi", 1, 2), ("mpi", 2, 2))


def of_each(model: str, threads: int) -> dict[str, str]:
    """The words that give each rank so many threads."""
    return {"threads": str(threads)} if model == "mpi" else {}


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "program", NAME, {}) as asked:
        yield asked


def test_the_error_falls_with_the_square_of_the_width_of_an_element(ask: Asked) -> None:
    errors = [details(ask("threads", 1, elements=str(edge**3)))["error"] for edge in (8, 16, 32)]
    orders = [math.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.05)


def test_the_right_hand_sides_sum_tends_to_the_source_in_the_cube(ask: Asked) -> None:
    far = [24 / math.pi - 1 - details(ask("threads", 1, elements=str(edge**3)))["source"] for edge in (8, 16, 32)]
    assert [math.log2(coarse / fine) for coarse, fine in pairwise(far)] == pytest.approx([2, 2], abs=0.05)


@pytest.mark.parametrize(
    ("elements", "shared"),
    [
        pytest.param(10000, FEW, id="10000"),  # in a box of 22 x 21 x 21
        *(pytest.param(elements, SHARED, id=f"{elements}, all", marks=pytest.mark.long) for elements in (16**3, 10000)),
    ],
)
def test_whoever_shares_the_mesh_finds_the_same(
    ask: Asked, elements: int, shared: tuple[tuple[str, int, int], ...]
) -> None:
    found = [details(ask(m, workers, elements=str(elements), **of_each(m, each))) for m, workers, each in shared]
    first = found[0]
    assert first["iterations"] > 40
    for other in found[1:]:
        assert other["iterations"] == first["iterations"]
        assert other["error"] == pytest.approx(first["error"], rel=1e-10)
        assert other["moment"] == pytest.approx(first["moment"], rel=1e-12)
        assert other["source"] == pytest.approx(first["source"], rel=1e-12)


@pytest.mark.long
def test_eight_ranks_share_all_three_directions(ask: Asked) -> None:
    assert details(ask("mpi", 8, elements="4096"))["parts"] == [2, 2, 2]


@pytest.mark.parametrize("kernel", ["program", "assembly", "solver"])
@pytest.mark.parametrize(
    ("model", "workers", "threads"),
    [
        ("threads", 2, 1),
        ("mpi", 2, 1),
        ("mpi", 2, 2),
        pytest.param("threads", 1, 1, marks=pytest.mark.long),
        pytest.param("mpi", 1, 1, marks=pytest.mark.long),
        pytest.param("mpi", 1, 2, marks=pytest.mark.long),
        pytest.param("mpi", 1, 4, marks=pytest.mark.long),
        pytest.param("mpi", 4, 1, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_a_planted_error_fails(ask: Asked, kernel: str, model: str, workers: int, threads: int, plant: str) -> None:
    answer = ask(model, workers, kernel=kernel, elements="1000", plant=plant, **of_each(model, threads))
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"] is False


@pytest.mark.parametrize("kernel", ["assembly", "solver"])
def test_a_ranks_threads_do_the_same_work(ask: Asked, kernel: str) -> None:
    alone, shared = (ask("mpi", 2, kernel=kernel, elements="4096", threads=threads) for threads in ("1", "3"))
    assert details(shared)["parts"] == details(alone)["parts"]
    assert shared["work"] == alone["work"]


def test_the_phases_of_the_program_are_timed_apart(ask: Asked) -> None:
    phases = details(ask("threads", 1, elements="32768"))["phases"]
    assert list(phases) == ["structure", "assembly", "boundary conditions", "solve"]
    assert all(seconds > 0 for seconds in phases.values())


def test_the_solver_counts_the_iterations_that_it_made(ask: Asked) -> None:
    answer = ask("threads", 1, kernel="solver", elements="4096", iterations="20")
    assert answer["work"]["operations"] == 20 * 15**3
    assert answer["work"]["flops"] == 20 * 17**3 * (2 * 27 + 10)
    assert details(answer)["iterations"] == 20


@pytest.mark.parametrize(
    ("model", "workers", "asked", "words"),
    [
        ("threads", 1, {"elements": "10"}, "elements='10' are too few: expected 64 or more"),
        ("threads", 1, {"iterations": "0", "kernel": "solver"}, "iterations='0' cannot be used: expected 1 to 100000"),
        ("mpi", 2, {"threads": "0"}, "threads='0' of each rank must be from 1 to 1024"),
        ("mpi", 3, {"elements": "64"}, "ranks='3' cannot share a mesh of 4 x 4 x 4 elements"),
    ],
)
def test_what_cannot_be_shared_or_solved_is_a_sentence(
    ask: Asked, model: str, workers: int, asked: dict[str, str], words: str
) -> None:
    assert words in ask(model, workers, **asked)["error"]


@pytest.mark.long
def test_boxes_two_elements_wide_are_enough(ask: Asked) -> None:
    assert details(ask("mpi", 8, elements="64"))["parts"] == [2, 2, 2]


def test_too_large_a_mesh_is_refused_before_anything_is_allocated(ask: Asked) -> None:
    answer = ask("threads", 1, memory="100000000", elements="2097152")
    assert "128 x 128 x 128 elements needs" in answer["error"]


def test_only_what_grows_with_the_elements_can_be_scaled_weakly(here: Machine) -> None:
    blocks = catalogue.find()[NAME].axes(here, EFFORTS["standard"])
    assert {b.values["kernel"][0]: b.weak for b in blocks} == {
        "program": None,
        "assembly": "elements",
        "solver": "elements",
    }


def test_the_element_agrees_with_its_closed_form(here: Machine) -> None:
    """Of a box; of a bent hexahedron that a constant is multiplied to zero, and that x against x gives the volume."""
    stiffness, load, constant, volume = told(compiled(here, "finite_elements", ELEMENT, "-O1", "-march=native"))
    assert stiffness < 1e-14
    assert load < 1e-14
    assert constant < 1e-14
    assert volume < 1e-14


ELEMENT = """
// The largest differences of an element's stiffness, load, products and volume from what they must be.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "element.h"
using namespace steelyard;
using namespace steelyard::finite_elements;

int main() {
  double h[] = {0.3, 0.5, 0.7}, stiffness = 0, load = 0;
  Corners<double> box;
  std::array<double, 8> one;
  one.fill(1);
  for (int c = 0; c < 8; ++c)
    for (int d = 0; d < 3; ++d) box[d][c] = 2 + (c >> d & 1) * h[d];
  Element<double> e(box, one);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      // Of a box each integral is a product: of slopes +-1/h, of functions h/3 or h/6.
      double sum = 0;
      for (int d = 0; d < 3; ++d) {
        double part = 1;
        for (int k = 0; k < 3; ++k) {
          bool same = (i >> k & 1) == (j >> k & 1);
          part *= k == d ? (same ? 1 : -1) / h[k] : h[k] / (same ? 3 : 6);
        }
        sum += part;
      }
      stiffness = std::max(stiffness, std::fabs(e.stiffness[pair_of(i, j)] - sum));
    }
  for (double x : e.load) load = std::max(load, std::fabs(x - h[0] * h[1] * h[2] / 8));

  Corners<double> bent = box;
  bent[0][3] += 0.05, bent[1][6] -= 0.04, bent[2][0] += 0.03, bent[0][5] -= 0.02;
  Element<double> b(bent, one);
  double constant = 0, volume = 0;
  for (int i = 0; i < 8; ++i) {
    double sum = 0;
    for (int j = 0; j < 8; ++j) sum += b.stiffness[pair_of(i, j)];
    constant = std::max(constant, std::fabs(sum));
  }
  // And x against x is the volume: its gradient is 1.
  double energy = 0;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) energy += bent[0][i] * b.stiffness[pair_of(i, j)] * bent[0][j];
  for (double x : b.load) volume += x;
  std::printf("%g %g %g %g\\n", stiffness, load, constant, std::fabs(energy - volume));
}
"""
