"""NPB UA: its integrals, its meshes beside NPB's own, and its parts beside their definitions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from npb_runs import Asked, compiled, told
from steelyard.model import Machine

INTEGRALS = {"S": 0.1890013110962e-02, "W": 0.2569794837076e-04, "A": 0.8939996281443e-04}  # published
# How many elements NPB 3.4.1 has after the adaptations of every fifth step, from step 0 on.
ELEMENTS = {
    "S": (141, 134, 246, 190, 120, 204, 204, 120, 190, 246),
    "A": (
        *(2003, 1695, 1786, 1912, 1933, 2066, 2066, 2129, 1989, 2052, 2094, 1947, 2115, 2024, 1968, 1765, 1751, 1898),
        *(1786, 2150, 2171, 1996, 2087, 2136, 2122, 2150, 2045, 2066, 1716, 1779, 1856, 1765, 2066, 2094, 2073, 1975),
        *(1961, 2052, 1905, 2038),
    ),
}


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "ua") as asked:
        yield asked


@pytest.mark.parametrize("letter", ["S", pytest.param("W", marks=pytest.mark.long)])
def test_the_published_integral_is_found(ask: Asked, letter: str) -> None:
    [found] = ask("threads", 2, **{"class": letter})["surroundings"]["details"]["verification"]["quantities"]
    assert found["value"] == pytest.approx(INTEGRALS[letter], rel=1e-11)


@pytest.mark.parametrize("letter", ["S", pytest.param("A", marks=pytest.mark.long)])
def test_the_mesh_has_as_many_elements_as_npbs_after_each_adaptation(ask: Asked, letter: str) -> None:
    answer = ask("threads", 2, **{"class": letter})
    assert answer["check"]["passed"], answer
    trace = answer["surroundings"]["details"]["elements"]
    assert trace == [[5 * i, count] for i, count in enumerate(ELEMENTS[letter])]


PRINTED = """
#include <cstdio>
#include <map>
#include "solver.h"
using namespace steelyard;
using namespace steelyard::npb::ua;

Point node_of(const Octree& mesh, int e, int node) {
  const Cell& cell = mesh.leaves()[e];
  int index[3] = {node % side, node / side % side, node / (side * side)};
  Point out;
  for (int d = 0; d < 3; ++d) out[d] = (cell.at[d] + (1 + abscissa[index[d]]) / 2) * std::ldexp(1.0, -cell.level);
  return out;
}
bool on_boundary(const Point& p) {
  for (double x : p)
    if (x < 1e-9 || x > 1 - 1e-9) return true;
  return false;
}
// Of degree 4 in each direction, different in each.
double polynomial(const Point& p) {
  return 1 + p[0] * p[0] * p[0] * p[0] - 2 * p[1] * p[2] * p[2] * p[2] + 3 * p[0] * p[1] * p[1];
}

struct Case {
  Octree mesh;
  Team team;
  Params given{""};
  Bounds most;
  State state;
  std::map<int, Point> mortars;  // where they are, by slot

  Case(int finest, int step, std::size_t threads)
      : mesh(finest), team(threads, {}), most{built(finest, step), threads, 100000}, state(most, MemoryPolicy(given), team) {
    team.each([&](Worker w) {
      state.topology.number(w, mesh);
      SplitLists(state.topology, state.topology.share(w)).make(w);
      SourceLists(state.topology, state.topology.share(w)).make();
    });
    for (int e = 0; e < static_cast<int>(mesh.leaves().size()); ++e)
      for (int n = 0; n < entity_count; ++n)
        for (int p = 0; p < entities[n].points && n != inside; ++p) {
          if (state.topology.slot(e, n) == 0 || state.topology.split(e) >> n & 1) continue;
          mortars[state.topology.slot(e, n) + p * lanes] = node_of(mesh, e, node_at[entities[n].first + p]);
        }
  }
  std::size_t built(int finest, int step) {
    mesh.build(centre_at(step * 0.04 * std::ldexp(1.0, -finest)), 0.06);
    return mesh.leaves().size();
  }
  void projected(double* slots) {
    team.each([&](Worker w) { project_to_mortars(state.topology.share(w), slots); });
  }

  // Mortars that two numbers stand for the same, and the worst error of the elements' nodes from mortars on a polynomial.
  void reproduce() {
    std::map<Point, int> places;
    for (auto [slot, point] : mortars) ++places[point], state.x[slot] = polynomial(point);
    projected(state.x.data());
    double worst = 0;
    int checked = 0, split = 0;
    alignas(64) double u[nodes * lanes];
    for (int e = 0; e < static_cast<int>(mesh.leaves().size()); ++e) {
      load_surface(state.topology, e / lanes, state.x.data(), u);
      split += state.topology.split(e) != 0;
      for (int n = 0; n < nodes; ++n) {
        Point here = node_of(mesh, e, n);
        bool known = place_of[n] < surface;
        for (int corner = 0; corner < nodes; ++corner) known &= !on_boundary(node_of(mesh, e, corner));
        if (!known) continue;
        worst = std::max(worst, std::abs(u[n * lanes + e % lanes] - polynomial(here))), ++checked;
      }
    }
    std::printf("%zu %zu %d %d %g\\n", mortars.size(), places.size(), checked, split, worst);
  }

  // The worst relative difference of the diagonal, of some mortars, from the energy of one of them.
  void diagonal(std::size_t every) {
    DiagonalTables tables;
    BlockMaker maker(state.topology, tables, 0.001);
    team.each([&](Worker w) {
      state.each_block(w, [&](std::size_t b) { state.blocks[b] = maker.make(b, state.parts.data()); });
      maker.split_parts(w, state.topology.share(w), state.parts.data());
      team.barrier().wait();
      each_mortar<Sources::all>(state.topology.share(w), state.parts.data(),
                                [&](int slot, Pack sum, const Batch&) { pack_at(state.r.data() + slot) = sum; });
    });
    double worst = 0;
    std::size_t count = 0;
    for (auto [slot, point] : mortars) {
      if (count++ % every) continue;
      std::fill(state.p.data(), state.p.data() + state.p.size(), 0.0);
      state.p[slot] = 1;
      projected(state.p.data());
      double energy = 0;
      Pack u[nodes] = {};
      for (std::size_t b = 0; b < state.topology.blocks(); ++b) {
        load_surface(state.topology, b, state.p.data(), reinterpret_cast<double*>(u));
        energy += total(apply(state.blocks[b], u, state.part(b)));
      }
      // What the parts of all elements give for this mortar must be the same, gathered through the lists.
      double gathered = 0;
      team.each([&](Worker w) { project_back(state.topology.share(w), state.parts.data()); });
      for (std::size_t w = 0; w < team.size(); ++w)
        each_mortar<Sources::all>(state.topology.share({w, team.size()}), state.parts.data(),
                                  [&](int at, Pack sum, const Batch&) {
                                    if (slot >= at && slot < at + lanes) gathered = sum[slot - at];
                                  });
      worst = std::max({worst, std::abs(state.r[slot] / energy - 1), std::abs(gathered / energy - 1)});
    }
    std::printf("%zu %g\\n", count, worst);
  }

  // Leaves that break a rule: too coarse near the source, unbalanced, or eight that need not be there.
  void rules(int step) {
    Point centre = centre_at(step * 0.04 * std::ldexp(1.0, -mesh.finest()));
    int coarse = 0, unbalanced = 0;
    double volume = 0;
    for (const Cell& a : mesh.leaves()) {
      volume += std::ldexp(1.0, -3 * a.level);
      coarse += a.level < mesh.finest() && near(a, centre);
      for (const Cell& b : mesh.leaves()) unbalanced += a.level > b.level + 1 && share_edge(a, b);
    }
    int needless = 0;
    std::map<std::pair<int, Triple>, int> siblings;
    for (const Cell& a : mesh.leaves()) ++siblings[{a.level - 1, a.parent().at}];
    for (auto [key, count] : siblings) {
      if (count < 8) continue;
      Cell parent{key.first, key.second};
      bool needed = near(parent, centre);
      for (const Cell& b : mesh.leaves()) needed |= b.level > parent.level + 1 && share_edge(b, parent);
      needless += !needed;
    }
    std::printf("%g %d %d %d\\n", volume, coarse, unbalanced, needless);
  }
  static bool near(const Cell& cell, const Point& centre) {
    double square = 0, edge = std::ldexp(1.0, -cell.level);
    for (int d = 0; d < 3; ++d) {
      double gap = std::max({cell.at[d] * edge - centre[d], 0.0, centre[d] - (cell.at[d] + 1) * edge});
      square += gap * gap;
    }
    return square < 0.06 * 0.06;
  }
  static bool share_edge(const Cell& a, const Cell& b) {
    int longer = 0;
    for (int d = 0; d < 3; ++d) {
      double low = std::max(std::ldexp(a.at[d], -a.level), std::ldexp(b.at[d], -b.level));
      double high = std::min(std::ldexp(a.at[d] + 1, -a.level), std::ldexp(b.at[d] + 1, -b.level));
      if (high < low) return false;
      longer += high > low;
    }
    return longer == 1 || longer == 2;
  }

  // The worst error of a polynomial carried over to the mesh of another step.
  void carry(int step) {
    std::vector<double> former(Topology::padded(mesh.leaves().size()) * nodes);
    for (int e = 0; e < static_cast<int>(mesh.leaves().size()); ++e)
      for (int n = 0; n < nodes; ++n)
        former[(e / lanes * nodes + n) * lanes + e % lanes] = polynomial(node_of(mesh, e, n));
    Octree next(mesh.finest());
    next.build(centre_at(step * 0.04 * std::ldexp(1.0, -mesh.finest())), 0.06);
    FormerSolution solution(mesh, former.data());
    double worst = 0;
    int other = 0;
    for (int e = 0; e < static_cast<int>(next.leaves().size()); ++e) {
      Values values = solution.values(next.leaves()[e]);
      other += mesh.find_leaf(next.leaves()[e]) < 0;
      for (int n = 0; n < nodes; ++n) worst = std::max(worst, std::abs(values[n] - polynomial(node_of(next, e, n))));
    }
    std::printf("%d %g\\n", other, worst);
  }
};

int main(int, char** given) {
  Case test(5, std::atoi(given[1]), static_cast<std::size_t>(std::atoi(given[2])));
  test.reproduce();
  test.diagonal(static_cast<std::size_t>(std::atoi(given[3])));
  test.rules(std::atoi(given[1]));
  test.carry(std::atoi(given[1]) + 40);
}
"""


@pytest.fixture(scope="module")
def printed(here: Machine) -> Path:
    """A program that holds parts of UA against their definitions."""
    return compiled(here, "npb_ua", PRINTED, "-O1", "-march=native")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((15, 2, 29), id="step 15, 2 threads"),
        *(
            pytest.param((step, threads, 7), id=f"step {step}, {threads} threads, more mortars", marks=pytest.mark.long)
            for step, threads in ((0, 1), (15, 2), (60, 3))
        ),
    ],
)
def facts(request: pytest.FixtureRequest, printed: Path) -> list[list[float]]:
    """What it prints of the mesh at a step, numbered by some threads, and of every so many mortars.

    Five, two, four and two numbers.
    """
    found = told(printed, *request.param)
    return [found[:5], found[5:7], found[7:11], found[11:]]


def test_each_point_is_one_mortar_and_polynomials_pass_through_them(facts: list[list[float]]) -> None:
    mortars, places, checked, split, worst = facts[0]
    assert mortars == places > 10000
    assert checked > 1000
    assert split > 10
    assert worst < 1e-13


def test_the_diagonal_and_the_sums_are_those_of_the_assembled_operator(facts: list[list[float]]) -> None:
    mortars, worst = facts[1]
    assert mortars > 10000
    assert worst < 1e-12


def test_the_mesh_is_fine_where_it_must_be_balanced_and_no_larger(facts: list[list[float]]) -> None:
    assert facts[2] == [1, 0, 0, 0]


def test_a_polynomial_is_carried_over_unchanged_to_finer_and_coarser_elements(facts: list[list[float]]) -> None:
    other, worst = facts[3]
    assert other > 20
    assert worst < 1e-13
