"""NPB CG: its estimates and counts, and its matrix beside one made from the definition alone."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from npb_runs import Asked, cases_of, compiled, told
from steelyard.model import Machine

ESTIMATES = {"S": 8.5971775078648, "W": 10.362595087124}  # published
STORED = {"S": 78148, "W": 508402}  # entries of the matrices


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "cg") as asked:
        yield asked


@pytest.mark.parametrize(
    ("workers", "letter"),
    [(2, "S"), pytest.param(4, "S", marks=pytest.mark.long), pytest.param(2, "W", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("model", cases_of("cg"))
def test_the_eigenvalue_of_the_whole_matrix_is_found(ask: Asked, model: str, workers: int, letter: str) -> None:
    details = ask(model, workers, **{"class": letter})["surroundings"]["details"]
    [found] = details["verification"]["quantities"]
    assert found["value"] == pytest.approx(ESTIMATES[letter], rel=1e-12)
    assert details["nonzeros"] == STORED[letter]
    assert details["residual"] < 1e-13


@pytest.mark.parametrize("scale", [3, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("model", cases_of("cg"))
def test_a_matrix_so_many_times_as_large_is_verified_by_invariants(ask: Asked, model: str, scale: int) -> None:
    """The same in all models, and however it is cut."""
    alone = ask("threads", 1, scale=str(scale))
    assert alone["work"]["operations"] == scale * ask("threads", 1)["work"]["operations"]
    for workers in (2, 4):
        answer = ask(model, workers, scale=str(scale))
        assert answer["check"]["passed"], answer
        verified, expected = (a["surroundings"]["details"]["verification"] for a in (answer, alone))
        assert verified["basis"] == "invariants"
        for found, same in zip(verified["quantities"], expected["quantities"], strict=True):
            assert found["value"] == pytest.approx(same["value"], rel=1e-11, abs=1e-12)


def test_the_operations_are_those_that_npb_counts(ask: Asked) -> None:
    order, row = 1400, 7 * 8
    work = ask("threads", 1)["work"]
    assert work["operations"] == 2 * 15 * order * (3 + row + 25 * (5 + row) + 3)
    assert work["flops"] == 15 * (26 * 2 * STORED["S"] + order * (25 * 10 + 10))


def test_the_bytes_are_those_of_a_matrix_larger_than_caches(ask: Asked) -> None:
    assert ask("threads", 1)["work"]["bytes"] / (15 * 26 * 10) == pytest.approx(STORED["S"], rel=0.02)


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


@cache
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
def printed(here: Machine) -> Path:
    """A program that multiplies with the matrix as so many ranks would hold it."""
    return compiled(here, "npb_cg", PRINTED, "-O1", "-march=native")


@pytest.mark.parametrize(("ranks", "widest"), [(1, 65536), (1, 40), (2, 64), (8, 65536), (16, 24), (64, 65536)])
def test_the_blocks_of_all_ranks_together_are_the_matrix(printed: Path, ranks: int, widest: int) -> None:
    assert told(printed, ranks, widest) == pytest.approx(by_definition(300, 5, 10.0), rel=1e-12, abs=1e-14)
