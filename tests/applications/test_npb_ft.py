"""NPB FT: its transforms beside sums by their definition."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from npb_runs import MODELS, WIDTHS, Answer, Asked, compiled, told
from steelyard.model import Machine

Part = Callable[[str], list[float]]


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "ft") as asked:
        yield asked


@pytest.fixture(scope="module", params=WIDTHS)
def part(request: pytest.FixtureRequest, here: Machine) -> Part:
    """Returns the numbers that one part of a program prints. The program is made with the benchmark's headers."""
    program = compiled(here, "npb_ft", PARTS, "-O1", *request.param)
    return lambda name: told(program, name)


def _verification(answer: Answer) -> dict[str, Any]:
    verified: dict[str, Any] = answer["surroundings"]["details"]["verification"]
    return verified


@pytest.mark.parametrize("model", MODELS["ft"])
@pytest.mark.parametrize("scale", [2, *(pytest.param(scale, marks=pytest.mark.long) for scale in (4, 8))])
def test_so_many_times_the_points_are_verified_by_invariants(ask: Asked, model: str, scale: int) -> None:
    first, *others = [ask(model, workers, scale=str(scale)) for workers in (1, 2, 4)]
    assert first["work"]["working_set"] == scale * 2 * 16 * 64**3
    for answer in (first, *others):
        assert answer["check"]["passed"], answer
        verified, same = _verification(answer), _verification(first)
        assert verified["basis"] == "invariants"
        assert [q["quantity"] for q in verified["quantities"]] == [q["quantity"] for q in same["quantities"]]
        for quantity, other in zip(verified["quantities"], same["quantities"], strict=True):
            assert quantity["value"] == pytest.approx(other["value"], rel=1e-11)
    assert len(same["quantities"]) == 2 + 1 + 2 * 3 + 2 * 6


@pytest.mark.long
def test_what_grew_to_a_class_has_its_published_checksums(ask: Asked) -> None:
    """W, 128 x 128 x 32, 16 times as large is A, 256 x 256 x 128."""
    grown, published = (ask("threads", 2, **{"class": c, "scale": s}) for c, s in (("W", "16"), ("A", "1")))
    assert grown["check"]["passed"]
    assert published["check"]["passed"]
    assert _verification(grown) == _verification(published)
    assert _verification(grown)["basis"] == "published"


def test_transforms_side_by_side_agree_with_the_sums_that_define_them(part: Part) -> None:
    """All lengths of all classes, forward and back, and along a row; the largest error of a number of size 1 or so."""
    errors = part("transforms")
    assert len(errors) == 7 + 7 + 6
    assert max(errors) < 1e-12


def test_the_initial_state_is_the_generators_sequence(part: Part) -> None:
    state, expected = 314159265, []
    for _ in range(2 * (5 * 64 + 64)):
        state = state * 5**13 % (1 << 46)
        expected.append(state / (1 << 46))
    assert part("row") == expected[2 * 5 * 64 :]


def test_each_rank_has_its_share_of_the_points_once(part: Part) -> None:
    """Offsets of planes of z, as seen from both sides of the exchange of four ranks."""
    assert part("layout") == [1.0]


PARTS = """
// Prints, by name: errors of transforms, the numbers of a row, or whether each rank has its share of the points once.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "cube.h"
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
void transforms() {
  for (std::size_t n = 32; n <= 2048; n *= 2) {
    std::printf("%g %g ", of_lines(n, false), of_lines(n, true));
    if (n >= 64) std::printf("%g ", of_row(n));
  }
}
void row() {
  std::vector<double> numbers(2 * 64);
  RandomRows().fill(numbers.data(), 64, 5 * 64);
  for (std::size_t i = 0; i < 64; ++i) {
    const double* at = numbers.data() + i / lanes * block + i % lanes;
    std::printf("%.17g %.17g ", at[0], at[lanes]);
  }
}
void layout() {
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
int main(int, char** given) {
  std::string part = given[1];
  part == "transforms" ? transforms() : part == "row" ? row() : layout();
}
"""
