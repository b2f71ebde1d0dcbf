"""NPB EP: its counts and sums, and its parts beside the C library and a step-by-step generator."""

from collections.abc import Iterator

import pytest

from npb_runs import MODELS, Asked, compiled, told
from steelyard.model import Machine


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "ep") as asked:
        yield asked


@pytest.mark.parametrize("model", MODELS["ep"])
def test_the_counts_are_exact_and_add_up_to_the_published_number_of_pairs(ask: Asked, model: str) -> None:
    counts = ask(model, 3)["surroundings"]["details"]["counts"]
    assert counts == [6140517, 5865300, 1100361, 68546, 1648, 17, 0, 0, 0, 0]
    assert sum(counts) == 13176389


def test_the_sums_do_not_depend_on_who_adds_them_up(ask: Asked) -> None:
    found = [ask(model, n) for model, n in (("threads", 1), ("threads", 2), ("mpi", 1), ("mpi", 3))]
    sums = [[q["value"] for q in a["surroundings"]["details"]["verification"]["quantities"]] for a in found]
    assert all(s == sums[0] for s in sums)


@pytest.mark.parametrize("model", MODELS["ep"])
def test_so_many_times_the_pairs_are_verified_by_invariants(ask: Asked, model: str) -> None:
    alone = ask("threads", 1, scale="3")
    assert alone["work"]["operations"] == 3 * 2**25
    for workers in (2, 3):
        answer = ask(model, workers, scale="3")
        assert answer["check"]["passed"], answer
        verified, same = (a["surroundings"]["details"]["verification"] for a in (answer, alone))
        assert verified["basis"] == "invariants"
        assert [q["value"] for q in verified["quantities"]] == [q["value"] for q in same["quantities"]]
    names = [q["quantity"] for q in same["quantities"]]
    assert {"sum of x of batch 1 by plain loops", "sum of y of batch 1024 by plain loops", "pairs in bin 4"} <= {*names}


# Without fused multiply-add it is coarser.
@pytest.mark.parametrize(
    ("width", "units"),
    [
        pytest.param(("-march=native",), 2, id="as wide as can be"),
        pytest.param((), 40, id="as narrow as can be", marks=pytest.mark.long),
    ],
)
def test_the_parts_agree_with_plain_ones(here: Machine, width: tuple[str, ...], units: int) -> None:
    """Random numbers one by one, the logarithm by the C library's long double, the root, and what is kept."""
    wrong, logarithm, root = told(compiled(here, "npb_ep", PARTS, "-O2", *width))
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
    std::size_t kept = gather_inside(x, y, xs, ys), expected = 0;
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
    Pack found = logarithm(t), root = take_root_of_ratio(magnitude(y), t);
    for (std::size_t i = 0; i < lanes; ++i) {
      worst_logarithm = std::fmax(worst_logarithm, off(found[i], std::log(static_cast<long double>(t[i]))));
      worst_root = std::fmax(worst_root, off(root[i], std::sqrt(std::fabs(static_cast<long double>(y[i])) / t[i])));
    }
  }
  Pack zero = take_root_of_ratio(logarithm(pack_of(1.0)), pack_of(1.0));
  for (std::size_t i = 0; i < lanes; ++i) wrong += zero[i] != 0;
  std::printf("%d %g %g\\n", wrong, worst_logarithm, worst_root);
}
"""
