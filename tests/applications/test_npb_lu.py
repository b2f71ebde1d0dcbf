"""NPB LU: its values by name, narrow blocks, its counts, and its steps beside the same point by point."""

from collections.abc import Callable, Iterator

import pytest

from lu_by_points import Plain
from npb_runs import MODELS, Asked, compiled, told
from steelyard.model import Machine


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "lu") as asked:
        yield asked


def test_residuals_errors_and_the_surface_integral_are_verified(ask: Asked) -> None:
    found = ask("threads", 2)["surroundings"]["details"]["verification"]["quantities"]
    norms = [f"{kind} {m}" for kind in ("residual", "error") for m in range(1, 6)]
    assert [q["quantity"] for q in found] == [*norms, "surface integral"]


@pytest.mark.parametrize(
    ("workers", "columns", "rows"),
    [
        (3, 1, 3),
        pytest.param(9, 3, 3, marks=pytest.mark.long),
        pytest.param(16, 4, 4, marks=pytest.mark.long),
        (10, 5, 2),
    ],
)
def test_narrow_blocks_change_nothing(ask: Asked, workers: int, columns: int, rows: int) -> None:
    answer = ask("threads", workers)
    assert answer["check"]["passed"], answer
    blocks = answer["surroundings"]["details"]["blocks"]
    assert blocks["x"] * blocks["y"] == workers
    assert (blocks["x"], blocks["y"]) in {(columns, rows), (rows, columns)}


def test_the_operations_are_those_that_npb_counts(ask: Asked) -> None:
    work = ask("threads", 1)["work"]
    assert work["operations"] == pytest.approx(50 * (1984.77 * 12**3 - 10923.3 * 12**2 + 27770.9 * 12 - 144010))
    # Counted by hand in the loops: 311 in the residual, 192 forward, 211 backward.
    assert work["flops"] == 50 * 10**3 * (311 + 192 + 211) < work["operations"]
    assert work["bytes"] == 50 * 10**3 * 280


@pytest.mark.parametrize("model", MODELS["lu"])
@pytest.mark.parametrize("scale", [2, pytest.param(9, marks=pytest.mark.long)])
def test_so_many_times_the_points_are_verified_by_the_equations(ask: Asked, model: str, scale: int) -> None:
    inner = round(10 * scale ** (1 / 3))
    alone = ask("threads", 1, scale=str(scale))
    assert alone["work"]["bytes"] == 50 * inner**3 * 280
    for workers in (1, 2, 6):
        answer = ask(model, workers, scale=str(scale))
        assert answer["check"]["passed"], answer
        verified, same = (a["surroundings"]["details"]["verification"] for a in (answer, alone))
        assert verified["basis"] == "invariants"
        residuals, others = ([q["value"] for q in v["quantities"][:5]] for v in (verified, same))
        assert residuals == pytest.approx(others, rel=1e-9)
        assert [q["quantity"] for q in verified["quantities"][5:]] == ["what is left of a step's equations"]


PRINTED = """
// Norms of the residual and of the error, and the surface integral, after some steps on one block of a small grid.
#include <cstdio>
#include "kernel.h"
#include "solver.h"
using namespace steelyard;
using namespace steelyard::npb::lu;
struct Alone {
  void expect(Side, std::size_t) {}
  const double* receive(Side) { return nullptr; }
  void release(Side) {}
  double* reserve(Side) { return nullptr; }
  void send(Side, std::size_t) {}
  void publish_border() {}
  void fetch_border(int) {}
  State sum(const State& mine) { return mine; }
};
void print_measures(char** given) {
  int n = std::atoi(given[1]);
  Class problem{'-', n, std::atof(given[2]), std::atoi(given[3]), {}, {}, 0};
  Params params("");
  Team team(1, {});
  Layout layout(Decomposition(n, 1), n, 0);
  layout.groups = std::atoi(given[4]);
  Arrays arrays(layout, MemoryPolicy(params), team, 0);
  Alone alone;
  Solver<Alone> solver(problem, layout, arrays, alone, false);
  Solution solution(n);
  solver.fill_memory(solution);
  solver.set_initial_state(solution);
  solver.compute_first_residual();
  solver.run_steps(problem.steps);
  for (double x : solver.compute_norms()) std::printf("%.17g\\n", x);
  for (double x : solver.take_root_means(solver.squared_errors(solution))) std::printf("%.17g\\n", x);
  std::printf("%.17g\\n", solver.integrate_pressure());
}
// What is left of a step's equations: as it is, with one component of one point a millionth off, and for another time step.
void print_step() {
  const int n = 20;
  Class problem{'-', n, 0.5, 3, {}, {}, 0};
  Params params("");
  Team team(1, {});
  Layout layout(Decomposition(n, 1), n, 0);
  Arrays arrays(layout, MemoryPolicy(params), team, 0);
  Alone alone;
  Solver<Alone> solver(problem, layout, arrays, alone, false);
  Solution solution(n);
  solver.fill_memory(solution), solver.set_initial_state(solution), solver.compute_first_residual(), solver.run_steps(3);
  auto at = [&](int i, int j, int k) -> State {
    auto [vector, lane] = layout.point(i, j, k);
    State out;
    for (std::size_t m = 0; m < 5; ++m) out[m] = arrays.u[static_cast<std::size_t>(vector)].c[m][lane];
    return out;
  };
  auto forcing = [&](int i, int j, int k) {
    return apply_operator(n, {i, j, k}, [&](int a, int b, int c) { return solution.at(a, b, c); });
  };
  StepProof right(layout, 0.5, at), other(layout, 0.5005, at);
  solver.run_steps(1);
  auto off = [&](int i, int j, int k) {
    State out = at(i, j, k);
    if (i == 7 && j == 8 && k == 10) out[3] *= 1 + 1e-6;
    return out;
  };
  auto ratio = [](std::array<double, 2> squares) { return std::sqrt(squares[0] / squares[1]); };
  std::printf("%g %g %g", ratio(right.sum_squares(at, forcing)), ratio(right.sum_squares(off, forcing)),
              ratio(other.sum_squares(at, forcing)));
}
int main(int words, char** given) { words > 1 ? print_measures(given) : print_step(); }
"""


@pytest.fixture(scope="module")
def printed(here: Machine) -> Callable[..., list[float]]:
    """Returns the solver's values on a grid of `n` points a side after some steps of a length, its strips in some groups.

    Without any words: what is left of a step's equations.
    """
    program = compiled(here, "npb_lu", PRINTED, "-O0", "-march=native")
    return lambda *words: told(program, *words)


@pytest.mark.parametrize(("n", "step", "steps"), [(6, 0.5, 3), (8, 0.1, 2), (12, 0.5, 1)])
def test_steps_are_those_with_full_blocks_point_by_point(
    printed: Callable[..., list[float]], n: int, step: float, steps: int
) -> None:
    plain = Plain(n, step)
    for _ in range(steps):
        plain.advance()
    assert printed(n, step, steps, 1) == pytest.approx(plain.measures(), rel=1e-10)


@pytest.mark.parametrize("groups", [2, 3])
def test_strips_may_be_swept_in_groups(printed: Callable[..., list[float]], groups: int) -> None:
    assert printed(30, 1e-3, 3, groups) == printed(30, 1e-3, 3, 1)


def test_a_step_fulfils_its_equations_and_nothing_near_it_does(printed: Callable[..., list[float]]) -> None:
    exact, off, other = printed()
    assert exact < 1e-11
    assert min(off, other) > 1e-7
