"""NPB LU: verified in every model, its steps beside full blocks and plain loops, and what is refused."""

import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling, Scalar

FOLDER = Path(__file__).parents[1] / "src/steelyard/benchmarks/application/npb_lu"


NAME = "application.npb_lu"
MODELS = ("threads", "mpi")
ONCE = Sampling(width=0.5, seconds=0.1, least=1, most=1)


class Asked:
    """Its programs, compiled, each kept from case to case; threads may be more than processors."""

    def __init__(self, here: Machine, benchmark: Benchmark) -> None:
        toolchain, self.mpi = build.resolve(build.default(here), here), build.default_mpi(here)
        self.programs = build.build([benchmark], toolchain)
        if self.mpi:
            self.programs |= build.build([benchmark], toolchain, self.mpi)
        self.here = here
        self._open: dict[tuple[str, int, str], Program] = {}

    def __call__(self, model: str, workers: int, memory: str = "", **more: str) -> dict[str, Any]:
        """The answer to a case on so many threads or ranks, with `memory` bytes to be had."""
        if model == "mpi" and not self.mpi:
            pytest.skip("There is no MPI with its headers: apt-get install libopenmpi-dev")
        key = (model, workers if model == "mpi" else 0, memory)
        if key not in self._open:
            self._open[key] = self._start(model, workers, memory)
        workers_by = "ranks" if model == "mpi" else "threads"
        words = {"case": 1, "kernel": "lu", "class": "S", "model": model, workers_by: workers, **more}
        return self._open[key].ask(" ".join(f"{k}={v}" for k, v in words.items()) + " least=1 most=1", 120)

    def close(self) -> None:
        for program in self._open.values():
            program.close()

    def _start(self, model: str, workers: int, memory: str) -> Program:
        name = build.mpi_name(self.mpi) if self.mpi else ""
        many: dict[str, Scalar] = {"ranks": workers, "placement": "compact", "mpi": name} if model == "mpi" else {}
        launch = Launch(1, NAME, "any", 1, (Case(NAME, "lu", {"class": "S", "model": model, **many}, ONCE),))
        site = Site({name: self.mpi} if self.mpi else {})
        command, environment = start(site, self.here, launch, self.programs[build.program_name(NAME, model)])
        if memory:
            environment = {**environment, "STEELYARD_MEMORY": memory}
        return Program(command, environment, workers if model == "mpi" else None)


@pytest.fixture(scope="module")
def ask(benchmarks: dict[str, Benchmark], here: Machine) -> Iterator[Asked]:
    asked = Asked(here, benchmarks[NAME])
    yield asked
    asked.close()


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_the_published_norms_and_the_surface_integral_are_found(
    ask: Asked, model: str, workers: int, letter: str
) -> None:
    answer = ask(model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer
    found = answer["surroundings"]["details"]["verification"]
    assert found["tolerance"] == 1e-8
    assert [q["quantity"] for q in found["quantities"]] == [
        *(f"residual {m}" for m in range(1, 6)),
        *(f"error {m}" for m in range(1, 6)),
        "surface integral",
    ]
    assert all(q["error"] < 1e-10 for q in found["quantities"])


@pytest.mark.parametrize(("workers", "columns", "rows"), [(3, 1, 3), (9, 3, 3), (16, 4, 4), (10, 5, 2)])
def test_narrow_blocks_change_nothing(ask: Asked, workers: int, columns: int, rows: int) -> None:
    answer = ask("threads", workers)
    assert answer["check"]["passed"], answer
    blocks = answer["surroundings"]["details"]["blocks"]
    assert blocks["x"] * blocks["y"] == workers
    assert (blocks["x"], blocks["y"]) in {(columns, rows), (rows, columns)}


def test_sixteen_ranks_share_a_dozen_points_a_side(ask: Asked) -> None:
    answer = ask("mpi", 16)
    assert answer["check"]["passed"], answer


def test_the_operations_are_those_that_npb_counts(ask: Asked) -> None:
    work = ask("threads", 1)["work"]
    assert work["operations"] == pytest.approx(50 * (1984.77 * 12**3 - 10923.3 * 12**2 + 27770.9 * 12 - 144010))
    assert 0 < work["flops"] < work["operations"]
    assert work["bytes"] == 50 * 10**3 * 280


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("plant", "passed"), [("skip", False), ("wrong", False), ("work:1", True)])
def test_a_wrong_force_at_one_point_is_found(ask: Asked, model: str, plant: str, passed: bool) -> None:
    answer = ask(model, 2, plant=plant)
    assert answer["check"]["passed"] is passed, answer["check"]


@pytest.mark.parametrize("model", MODELS)
def test_sweeps_residual_and_exchanges_are_timed_on_request(ask: Asked, model: str) -> None:
    answer = ask(model, 2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert list(phases) == ["residual", "forward sweep", "backward sweep", "exchanges"]
    assert all(seconds > 0 for seconds in phases.values())
    assert sum(phases.values()) <= answer["samples"][-1] * 1.001
    assert "phases" not in ask(model, 2)["surroundings"]["details"]


@pytest.mark.parametrize("model", MODELS)
def test_a_number_of_blocks_that_the_grid_does_not_have_is_refused_with_those_it_has(ask: Asked, model: str) -> None:
    error = ask(model, 7)["error"]
    assert f"{'threads' if model == 'threads' else 'ranks'}='7' cannot be used by LU on a grid of 12 points" in error
    assert "1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 20, 25" in error


@pytest.mark.parametrize("model", MODELS)
def test_too_little_memory_is_said_before_it_is_taken(ask: Asked, model: str) -> None:
    assert "not enough memory: class S needs" in ask(model, 2, memory="1000000")["error"]


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_does_not_exist_is_refused_with_those_that_do(ask: Asked, model: str) -> None:
    assert "class='X' must be one of: S, W, A, B, C, D" in ask(model, 2, **{"class": "X"})["error"]


# ------------------------------------------------------------ the steps beside the same with full blocks, point by point

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
  void share() {}
  void fetch(int) {}
  State sum(const State& mine) { return mine; }
};
int main(int, char** given) {
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
  solver.clear(solution);
  solver.start(solution);
  solver.first_residual();
  solver.steps(problem.steps);
  for (double x : solver.norms()) std::printf("%.17g\\n", x);
  for (double x : solver.roots(solver.squared_errors(solution))) std::printf("%.17g\\n", x);
  std::printf("%.17g\\n", solver.surface());
}
"""

Vector = list[float]
Matrix = list[Vector]
Place = tuple[int, int, int]
Field = dict[Place, Vector]
C = (1.4, 0.4, 0.1, 1.0, 1.4)
OMEGA = 1.2
DIFFUSION = (0.75, 0.75, 1.0)
EXACT = (
    (2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3),
    (1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5),
    (2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4),
    (2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3),
    (5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2),
)


def moved(at: Place, direction: int, by: int) -> Place:
    place = list(at)
    place[direction] += by
    return place[0], place[1], place[2]


class Plain:
    """One grid of n points a side, point by point and with full 5 x 5 blocks, as the definition is written."""

    def __init__(self, n: int, step: float) -> None:
        self.n, self.step, self.delta = n, step, 1 / (n - 1)
        self.inner = [(i, j, k) for k in range(1, n - 1) for j in range(1, n - 1) for i in range(1, n - 1)]
        self.exact: Field = {(i, j, k): self._exact((i, j, k)) for i in range(n) for j in range(n) for k in range(n)}
        self.forcing: Field = {at: self._operator(self.exact, at) for at in self.inner}
        self.u: Field = {at: list(u) for at, u in self.exact.items()}
        for at in self.inner:
            self.u[at] = [self._initial(at, m) for m in range(5)]
        self.residual()

    def _exact(self, at: Place) -> Vector:
        out = []
        for c in EXACT:
            value = float(c[0])
            for d in range(3):
                x = at[d] * self.delta
                value += x * (c[1 + d] + x * (c[4 + d] + x * (c[7 + d] + x * c[10 + d])))
            out.append(value)
        return out

    def _initial(self, at: Place, m: int) -> float:
        p = []
        for d in range(3):
            x = at[d] * self.delta
            low, high = moved(at, d, -at[d]), moved(at, d, self.n - 1 - at[d])
            p.append((1 - x) * self.exact[low][m] + x * self.exact[high][m])
        return p[0] + p[1] + p[2] - p[0] * p[1] - p[1] * p[2] - p[2] * p[0] + p[0] * p[1] * p[2]

    def _flux(self, u: Vector, d: int) -> Vector:
        v, q = u[1 + d] / u[0], 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
        out = [u[1 + d], u[1] * v, u[2] * v, u[3] * v, (C[0] * u[4] - C[1] * q) * v]
        out[1 + d] += C[1] * (u[4] - q)
        return out

    def _viscous(self, low: Vector, high: Vector, d: int) -> Vector:
        def difference(of: Callable[[Vector], float]) -> float:
            return (of(high) - of(low)) / self.delta

        out = [0.0]
        for m in range(1, 4):
            out.append((4 / 3 if m == d + 1 else 1) * difference(lambda u, m=m: u[m] / u[0]))
        square = difference(lambda u: (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0] ** 2)
        own = difference(lambda u: (u[1 + d] / u[0]) ** 2)
        heat = difference(lambda u: u[4] / u[0])
        out.append(0.5 * (1 - C[0] * C[4]) * square + own / 6 + C[0] * C[4] * heat)
        return out

    def _fourth(self, place: int) -> dict[int, int]:
        """Offsets and weights of the fourth difference, one-sided at the ends; places are counted from 0."""
        if place == 1:
            return {0: 5, 1: -4, 2: 1}
        if place == 2:
            return {-1: -4, 0: 6, 1: -4, 2: 1}
        if place == self.n - 3:
            return {-2: 1, -1: -4, 0: 6, 1: -4}
        if place == self.n - 2:
            return {-2: 1, -1: -4, 0: 5}
        return {-2: 1, -1: -4, 0: 6, 1: -4, 2: 1}

    def _operator(self, field: Field, at: Place) -> Vector:
        out, t1, t2, t3 = [0.0] * 5, 1 / self.delta**2, 0.5 / self.delta, 1 / self.delta
        for d in range(3):
            low, own, high = (field[moved(at, d, by)] for by in (-1, 0, 1))
            before, after = self._flux(low, d), self._flux(high, d)
            below, above = self._viscous(low, own, d), self._viscous(own, high, d)
            weights = self._fourth(at[d])
            for m in range(5):
                out[m] += -t2 * (after[m] - before[m]) + t3 * C[2] * C[3] * (above[m] - below[m])
                out[m] += DIFFUSION[d] * t1 * (low[m] - 2 * own[m] + high[m])
                out[m] -= 0.25 * sum(weight * field[moved(at, d, by)][m] for by, weight in weights.items())
        return out

    def residual(self) -> None:
        self.r = {
            at: [k - f for k, f in zip(self._operator(self.u, at), self.forcing[at], strict=True)] for at in self.inner
        }

    def _inviscid(self, u: Vector, d: int) -> Matrix:
        v, q = [u[m] / u[0] for m in range(1, 4)], 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
        out = [[0.0] * 5 for _ in range(5)]
        out[0][1 + d] = 1
        for m in range(3):
            if m == d:
                out[1 + m][0] = -(v[d] ** 2) + C[1] * q / u[0]
                for other in range(3):
                    out[1 + m][1 + other] = (2 - C[1]) * v[d] if other == d else -C[1] * v[other]
                out[1 + m][4] = C[1]
            else:
                out[1 + m][0], out[1 + m][1 + m], out[1 + m][1 + d] = -v[m] * v[d], v[d], v[m]
            out[4][1 + m] = -C[1] * v[m] * v[d]
        out[4][0] = (2 * C[1] * q - C[0] * u[4]) * v[d] / u[0]
        out[4][1 + d] = C[0] * u[4] / u[0] - C[1] * (v[d] ** 2 + q / u[0])
        out[4][4] = C[0] * v[d]
        return out

    def _drag(self, u: Vector, d: int) -> Matrix:
        c34 = C[2] * C[3]
        c1345, out = C[0] * c34 * C[4], [[0.0] * 5 for _ in range(5)]
        out[4][0], out[4][4] = -c1345 * u[4] / u[0] ** 2, c1345 / u[0]
        for m in range(1, 4):
            kappa = 4 / 3 * c34 if m == d + 1 else c34
            out[m][0], out[m][m] = -kappa * u[m] / u[0] ** 2, kappa / u[0]
            out[4][0] -= (kappa - c1345) * u[m] ** 2 / u[0] ** 3
            out[4][m] = (kappa - c1345) * u[m] / u[0] ** 2
        return out

    def _spread(self, u: Vector, d: int) -> Matrix:
        out = self._drag(u, d)
        for m in range(5):
            out[m][m] += DIFFUSION[d]
        return out

    def _neighbours(self, v: Field, at: Place, side: int) -> Vector:
        """The products of the lower (side -1) or upper (1) blocks with the neighbours' values, added up."""
        total, t1, t2 = [0.0] * 5, 1 / self.delta**2, 0.5 / self.delta
        for d in range(3):
            other = moved(at, d, side)
            if other not in v:
                continue
            inviscid, spread = self._inviscid(self.u[other], d), self._spread(self.u[other], d)
            for m in range(5):
                row = [side * t2 * j - t1 * n for j, n in zip(inviscid[m], spread[m], strict=True)]
                total[m] += self.step * sum(a * x for a, x in zip(row, v[other], strict=True))
        return total

    def _solved(self, at: Place, right: Vector) -> Vector:
        """With the diagonal block, by elimination."""
        rows = [[float(m == n) for n in range(5)] + [right[m]] for m in range(5)]
        for d in range(3):
            spread = self._spread(self.u[at], d)
            for m in range(5):
                for n in range(5):
                    rows[m][n] += 2 * self.step / self.delta**2 * spread[m][n]
        for m in range(5):
            rows[m] = [x / rows[m][m] for x in rows[m]]
            for n in range(5):
                if n != m:
                    rows[n] = [x - rows[n][m] * y for x, y in zip(rows[n], rows[m], strict=True)]
        return [row[5] for row in rows]

    def advance(self) -> None:
        v = {at: [self.step * x for x in r] for at, r in self.r.items()}
        for at in self.inner:
            shares = self._neighbours(v, at, -1)
            v[at] = self._solved(at, [x - OMEGA * s for x, s in zip(v[at], shares, strict=True)])
        for at in reversed(self.inner):
            change = self._solved(at, [OMEGA * s for s in self._neighbours(v, at, 1)])
            v[at] = [x - c for x, c in zip(v[at], change, strict=True)]
        for at in self.inner:
            self.u[at] = [u + x / (OMEGA * (2 - OMEGA)) for u, x in zip(self.u[at], v[at], strict=True)]
        self.residual()

    def measures(self) -> Vector:
        """Five norms of the residual, five of the error, and the surface integral, face by face and cell by cell."""

        def norm(values: Vector) -> float:
            return math.sqrt(math.fsum(x * x for x in values) / len(self.inner))

        out = [norm([self.r[at][m] for at in self.inner]) for m in range(5)]
        out += [norm([self.exact[at][m] - self.u[at][m] for at in self.inner]) for m in range(5)]
        low, high = (1, 1, 2), (self.n - 2, self.n - 3, self.n - 2)
        surface = 0.0
        for d in range(3):
            first, second = (other for other in range(3) if other != d)
            for end in (low[d], high[d]):
                for a in range(low[first], high[first]):
                    for b in range(low[second], high[second]):
                        for corner in ((a, b), (a + 1, b), (a, b + 1), (a + 1, b + 1)):
                            place = [end] * 3
                            place[first], place[second] = corner
                            u = self.u[place[0], place[1], place[2]]
                            surface += C[1] * (u[4] - 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0])
        return [*out, 0.25 * self.delta**2 * surface]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Vector]:
    """What the solver finds on a grid of `n` points a side after so many steps, its strips in so many groups."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no compiler")
    source = tmp_path_factory.mktemp("lu") / "printed.cpp"
    source.write_text(PRINTED)
    program = source.with_suffix("")
    command = [compiler, "-std=c++20", "-O1", "-march=native", f"-I{build.NATIVE}", f"-I{FOLDER}", "-pthread"]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)

    def run(n: int, step: float, steps: int, groups: int = 1) -> Vector:
        words = [str(program), str(n), str(step), str(steps), str(groups)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return [float(x) for x in told.split()]

    return run


@pytest.mark.parametrize(("n", "step", "steps"), [(6, 0.5, 3), (8, 0.1, 2), (12, 0.5, 1)])
def test_steps_are_those_with_full_blocks_point_by_point(
    printed: Callable[..., Vector], n: int, step: float, steps: int
) -> None:
    plain = Plain(n, step)
    for _ in range(steps):
        plain.advance()
    assert printed(n, step, steps) == pytest.approx(plain.measures(), rel=1e-10)


@pytest.mark.parametrize("groups", [2, 3])
def test_strips_may_be_swept_in_groups(printed: Callable[..., Vector], groups: int) -> None:
    assert printed(30, 1e-3, 3, groups) == printed(30, 1e-3, 3)
