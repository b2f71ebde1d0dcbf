"""NPB MG: all directions shared, its levels timed, and its operators beside plain loops."""

from collections.abc import Iterator

import pytest

from npb_runs import MODELS, Asked, compiled, told
from steelyard.model import Machine


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "mg") as asked:
        yield asked


def test_eight_ranks_share_all_three_directions(ask: Asked) -> None:
    answer = ask("mpi", 8)
    assert answer["check"]["passed"], answer


GROWN = [(1, 1), (2, 1), (2, 2), (4, 8), (16, 2)]


@pytest.mark.parametrize("model", MODELS["mg"])
@pytest.mark.parametrize(("scale", "workers"), GROWN)
def test_a_problem_so_many_times_as_large_is_verified_by_invariants(
    ask: Asked, model: str, scale: int, workers: int
) -> None:
    answer = ask(model, workers, scale=str(scale))
    assert answer["check"]["passed"], answer
    verified = answer["surroundings"]["details"]["verification"]
    assert verified["basis"] == ("published" if scale == 1 else "invariants")
    assert len(verified["quantities"]) == (1 if scale == 1 else 4)
    assert answer["work"]["operations"] == scale * 58 * 4 * 32**3
    assert answer["surroundings"]["details"]["size"] == {
        1: "32 x 32 x 32", 2: "32 x 32 x 64", 4: "32 x 64 x 64", 16: "64 x 64 x 128"
    }[scale]  # fmt: skip


def test_what_it_needs_of_memory_grows_with_it(ask: Asked) -> None:
    answer = ask("threads", 2, memory=str(64 << 20), **{"class": "B", "scale": "8"})
    assert "not enough memory: class B, 8 times as large, needs" in answer["error"]


def test_the_operators_on_lines_agree_with_plain_loops(here: Machine) -> None:
    """Stencils, restriction and prolongation of random points, each point by its 27 neighbours one after another."""
    [worst] = told(compiled(here, "npb_mg", OPERATORS, "-O1", "-march=native"))
    assert worst < 1e-14


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
        close_line(line(y, z));
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
        apply<true, false>(lines_around(fine, y, z), fine.line(y, z), out.line(y, z), 0, n, s, fine.line(y, z));
        for (int x = 0; x < n; ++x) compare(out.at(x, y, z), fine.at(x, y, z) + plain(fine, x, y, z, s));
        apply<false, true>(lines_around(fine, y, z), fine.line(y, z), out.line(y, z), 0, n, negative_laplacian,
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
