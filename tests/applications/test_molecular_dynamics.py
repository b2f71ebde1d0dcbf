"""Molecular dynamics: closed forms, what is conserved, and the same physics on threads and ranks."""

import json
import math
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from native import linked
from npb_runs import FOLDER, WIDTHS, Answer, Asked, compiled, told
from steelyard.applications.benchmarks.application.molecular_dynamics import blocks
from steelyard.measure.plan import sweep
from steelyard.model import Machine

NAME = "application.molecular_dynamics"
CUTOFF, STEP = 2.5, 0.005
SMALL = {"particles": "4000", "steps": "20"}
EACH = ("energy_kept", "momentum_zero", "forces_right")


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "dynamics", NAME, SMALL) as asked:
        yield asked


def details(answer: Answer) -> dict[str, Any]:
    assert answer["check"]["passed"], answer["check"]["detail"]
    found: dict[str, Any] = answer["surroundings"]["details"]
    return found


def energy(state: dict[str, float]) -> float:
    return state["kinetic"] + state["potential"]


def potential(r2: float) -> float:
    return 4 * (r2**-6 - r2**-3)


def test_the_lattice_has_the_energy_of_a_sum_over_its_sites(ask: Asked) -> None:
    edge = (4 / 0.8442) ** (1 / 3)
    corners = ((0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))
    squares = [
        edge**2 * sum((i + c) ** 2 for i, c in zip(cell, corner, strict=True))
        for cell in product(range(-3, 4), repeat=3)
        for corner in corners
    ]
    near = [r2 for r2 in squares if 0 < r2 < CUTOFF**2]
    expected = sum(potential(r2) - potential(CUTOFF**2) for r2 in near) / 2
    found = details(ask("threads", 1))["before"]
    assert found["potential"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("temperature", [0.72, 1.44])
def test_the_velocities_have_the_temperature_asked_for(ask: Asked, temperature: float) -> None:
    found = details(ask("threads", 1, temperature=str(temperature)))["before"]
    assert found["kinetic"] == pytest.approx(1.5 * temperature * 3999 / 4000, rel=1e-12)


# (model, threads or ranks, threads of each rank)
WAYS = [("threads", 2, 1), ("mpi", 1, 1), ("mpi", 1, 2), ("mpi", 2, 1), ("mpi", 2, 2), ("mpi", 4, 1), ("mpi", 8, 1)]
FEW_WAYS = [("threads", 2, 1), ("mpi", 2, 2)]


@pytest.mark.parametrize(
    ("model", "workers", "threads"),
    [pytest.param(*way, marks=[pytest.mark.long] * (way not in FEW_WAYS)) for way in WAYS],
)
def test_physics_do_not_depend_on_who_computes_them(ask: Asked, model: str, workers: int, threads: int) -> None:
    alone = details(ask("threads", 1))
    more = {"threads": str(threads)} if model == "mpi" else {}
    shared = details(ask(model, workers, **more))
    for when, quantity in product(("before", "after"), ("kinetic", "potential", "correction")):
        # Sums in another order differ by 1e-15; in 20 steps neighbours that collide make ten to a hundred times of it.
        assert shared[when][quantity] == pytest.approx(alone[when][quantity], rel=1e-12)
    assert shared["rebuilds"] == alone["rebuilds"]


@pytest.mark.parametrize(("model", "workers"), [("threads", 2), pytest.param("mpi", 4, marks=pytest.mark.long)])
@pytest.mark.parametrize("steps", [300, pytest.param(1000, marks=pytest.mark.long)])
def test_a_liquid_keeps_its_particles_and_its_energy_while_they_wander(
    ask: Asked, model: str, workers: int, steps: int
) -> None:
    found = details(ask(model, workers, temperature="1.44", steps=str(steps)))
    assert found["rebuilds"] > 10
    assert found["particles"] == 4000
    # Half of 1.44 has become potential energy: the liquid near its triple point, at 0.72.
    assert found["after"]["kinetic"] / 1.5 == pytest.approx(0.72, abs=0.04)
    assert energy(found["after"]) == pytest.approx(energy(found["before"]), abs=3e-3)


def test_the_steps_own_error_of_the_energy_is_known_to_a_tenth(ask: Asked) -> None:
    """What is checked is worth it: without the correction the energy changes by ten times what the check allows at most."""
    found = details(ask("threads", 1, particles="32000", steps="100"))
    before, after = found["before"], found["after"]
    error = energy(after) - energy(before)
    expected = before["correction"] - after["correction"]
    assert abs(expected) > 1e-5
    assert error == pytest.approx(expected, abs=0.1 * abs(expected))


@pytest.mark.parametrize(
    ("particles", "steps", "temperature"), [(108, 2000, 0.72), (108, 100, 5.0), (500, 1000, 0.01), (4000, 200, 5.0)]
)
def test_few_particles_hot_or_cold_pass_as_well(ask: Asked, particles: int, steps: int, temperature: float) -> None:
    details(ask("threads", 1, particles=str(particles), steps=str(steps), temperature=str(temperature)))


@pytest.mark.parametrize(("model", "workers"), [("threads", 1), ("mpi", 2)])
@pytest.mark.parametrize("plant", ["wrong", "skip"])
def test_energy_momentum_and_forces_each_find_what_is_wrong(ask: Asked, model: str, workers: int, plant: str) -> None:
    answer = ask(model, workers, plant=plant)
    assert answer["check"]["passed"] is False
    assert [answer["surroundings"]["details"][name] for name in EACH] == [False, False, False]


def test_work_is_counted_by_what_is_carried_out(ask: Asked) -> None:
    work = ask("threads", 1)["work"]
    assert work["particle_steps"] == 4000 * 20
    # Neighbours within 2.8 of a lattice, or of a liquid, and at most seven that fill a vector.
    assert 74 < work["pairs"] / work["particle_steps"] < 88
    assert work["flops"] == 22 * work["pairs"] + 12 * work["particle_steps"]
    assert ask("mpi", 4)["work"] == pytest.approx(work, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"particles": "4001"}, "multiple of 4"),
        ({"particles": str(4 * 7919)}, "at least 3 cells"),
        ({"steps": "0"}, "steps='0' must be from 1"),
        ({"temperature": "0"}, "temperature='0' must be above 0"),
        ({"particles": "4000000000"}, "not enough memory"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(ask: Asked, words: dict[str, str], expected: str) -> None:
    assert expected in ask("threads", 1, **words)["error"]


def test_a_box_that_ranks_cannot_share_is_refused(ask: Asked) -> None:
    error = ask("mpi", 2, particles="108")["error"]
    assert "ranks='2' cannot share a box of 3 x 3 x 3 cells" in error
    assert not blocks.is_wide_enough(108, 2)
    assert blocks.is_wide_enough(4000, 8)
    assert not blocks.is_wide_enough(4000, 7)
    assert blocks.choose_box(4 * 2 * 20**3) == (20, 25, 32)


def test_it_scales_strongly_and_weakly(here: Machine) -> None:
    assert NAME in sweep.growing(here)


@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS)
def test_the_program_is_right_for_every_width_of_vectors(here: Machine, width: tuple[str, ...]) -> None:
    source = FOLDER / "molecular_dynamics" / "threads.cpp"
    program = linked(here, source, "-O2", *width)
    case = "case=1 kernel=dynamics threads=2 particles=4000 steps=200 temperature=1.44 least=1 most=1"
    done = subprocess.run([program], input=f"{case}\n", capture_output=True, text=True, timeout=120, check=True)
    found = details(json.loads(done.stdout))
    assert found["rebuilds"] > 10


PRINTED = """
#include <cstdio>
#include <cstdlib>
#include "forces.h"
using namespace steelyard::md;
// One particle at rest at a distance: its force by the loop that is measured; energy, slope, curvature of the pair.
void pair(double r) {
  Point points[3]{{{0.3, 0.2, 0.1, 0}}, {{0.3 + r * 2 / 3, 0.2 - r * 2 / 3, 0.1 + r / 3, 0}}, {{1e15, 1e15, 1e15, 0}}};
  const std::uint32_t list[8] = {1, 2, 2, 2, 2, 2, 2, 2};
  Point force;
  add_pair_forces(points[0], force, list, lanes, points);
  Pair of(r * r);
  for (int d = 0; d < 3; ++d) std::printf("%.17g ", force.c[d]);
  std::printf("%.17g %.17g %.17g\\n", of.energy, of.slope * r, of.curvature);
}
// Two particles around each other in a circle: their distance after so many steps, and the least and greatest before.
void orbit(double r, int steps) {
  Point at[3]{{{r / 2, 0, 0, 0}}, {{-r / 2, 0, 0, 0}}, {{1e15, 1e15, 1e15, 0}}}, force[2];
  const std::uint32_t list[2][8] = {{1, 2, 2, 2, 2, 2, 2, 2}, {0, 2, 2, 2, 2, 2, 2, 2}};
  auto pulled = [&] { for (int i : {0, 1}) add_pair_forces(at[i], force[i], list[i], lanes, at); };
  pulled();
  const double speed = std::sqrt(-force[0].c[0] * r / 2);
  Point v[2]{{{0, speed, 0, 0}}, {{0, -speed, 0, 0}}};
  double least = r, most = r;
  for (int s = 0; s < steps; ++s) {
    for (int i : {0, 1}) four(v[i]) += time_step / 2 * four(force[i]), four(at[i]) += time_step * four(v[i]);
    pulled();
    for (int i : {0, 1}) four(v[i]) += time_step / 2 * four(force[i]);
    const double now = std::hypot(at[0].c[0] - at[1].c[0], at[0].c[1] - at[1].c[1]);
    least = std::min(least, now), most = std::max(most, now);
  }
  std::printf("%.17g %.17g %.17g\\n", least, most, std::atan2(at[0].c[1], at[0].c[0]));
}
int main(int, char** given) {
  if (std::atoi(given[2]) == 0) pair(std::atof(given[1]));
  else orbit(std::atof(given[1]), std::atoi(given[2]));
}
"""


@pytest.fixture(scope="module", params=WIDTHS)
def printed(here: Machine, request: pytest.FixtureRequest) -> Path:
    """A program that prints forces and orbits of two particles, by the loop that is measured."""
    return compiled(here, "molecular_dynamics", PRINTED, "-O2", *request.param)


@pytest.mark.parametrize("r", [0.9, 1.0, 2 ** (1 / 6), 1.5, 2.4999])
def test_a_pair_pulls_by_the_potentials_derivatives(printed: Path, r: float) -> None:
    *force, found, slope, curvature = told(printed, r, 0)
    derivative = 4 * (-12 * r**-13 + 6 * r**-7)
    along = [2 / 3, -2 / 3, 1 / 3]  # towards the other one
    assert force == pytest.approx([derivative * a for a in along], rel=1e-9, abs=1e-12)
    assert found == pytest.approx(potential(r * r) - potential(CUTOFF**2), rel=1e-12, abs=1e-14)
    assert slope == pytest.approx(derivative, rel=1e-12, abs=1e-13)
    assert curvature == pytest.approx(4 * (156 * r**-14 - 42 * r**-8), rel=1e-12)


def test_beyond_the_cutoff_there_is_no_force(printed: Path) -> None:
    assert told(printed, 2.5001, 0)[:3] == [0, 0, 0]


def test_two_particles_circle_each_other_for_ever(printed: Path) -> None:
    r = 1.2  # a circle there is stable: the second derivative and three times the slope are above 0
    slope = 4 * (-12 * r**-13 + 6 * r**-7) / r
    turn = 2 * math.pi / math.sqrt(2 * slope)
    least, most, angle = told(printed, r, round(10 * turn / STEP))
    assert least == pytest.approx(r, abs=2e-5)
    assert most == pytest.approx(r, abs=2e-5)
    assert abs(angle) < 0.01  # half a step
