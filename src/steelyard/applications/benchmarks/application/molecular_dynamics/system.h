// The system: Lennard-Jones particles in a periodic box on a face-centred cubic lattice, in reduced units.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>

#include "../npb/generator.h"
#include "kernel.h"

namespace steelyard::md {

// Units: lengths in sigma, energies in epsilon, masses of a particle, times in sigma * sqrt(mass / epsilon).
constexpr double density = 0.8442;  // near the triple point of the liquid, with the temperature of 0.72
constexpr double cutoff = 2.5;
constexpr double skin = 0.3;  // a neighbour list holds all pairs nearer than cutoff + skin
constexpr double reach = cutoff + skin;
constexpr double time_step = 0.005;
constexpr std::size_t longest = 20;  // steps after which lists are always rebuilt, even if particles moved little

using Triple = std::array<double, 3>;

// The potential 4 (r^-12 - r^-6) of a pair at the squared distance `r2`, minus its value at the cutoff; its derivative
// divided by the distance, for the forces; and its second derivative, for the error of the energy.
struct Pair {
  double energy, slope, curvature;
  explicit Pair(double r2) {
    const double inverse = 1 / r2, s6 = inverse * inverse * inverse;
    energy = 4 * s6 * (s6 - 1) - at_cutoff();
    slope = -inverse * s6 * (48 * s6 - 24);
    curvature = inverse * s6 * (624 * s6 - 168);
  }
  static constexpr double at_cutoff() {
    constexpr double s6 = 1 / (cutoff * cutoff * cutoff * cutoff * cutoff * cutoff);
    return 4 * s6 * (s6 - 1);
  }
};

// The parameters of a case.
struct Problem {
  std::size_t particles, steps;
  double temperature;
  std::string model;

  Problem(Params& p, const std::string& this_model)
      : particles(p.count("particles", 32000)),
        steps(p.count("steps", 100)),
        temperature(p.number("temperature", 0.72)),
        model(p.choice("model", this_model, {this_model})) {
    if (particles % 4 != 0 || particles == 0)
      throw CaseError(join({"particles='", particles,
                            "' must be a multiple of 4, because each cell of "
                            "the lattice has 4 particles: use ",
                            particles / 4 * 4 + 4}));
    if (steps < 1 || steps > 1000000) throw CaseError(join({"steps='", steps, "' must be from 1 to 1000000"}));
    if (!(temperature > 0 && temperature <= 5))
      throw CaseError(join({"temperature='", temperature, "' must be above 0 and at most 5"}));
  }
};

// Returns the three factors of `number` with the least surface for which `fits` holds, in ascending order; zeros if
// there are none.
template <class Fits>
std::array<std::size_t, 3> factors(std::size_t number, Fits fits) {
  std::array<std::size_t, 3> best{};
  double least = 0;
  for (std::size_t a = 1; a * a * a <= number; ++a) {
    if (number % a != 0) continue;
    for (std::size_t b = a; a * b * b <= number; ++b) {
      if (number / a % b != 0) continue;
      const std::size_t c = number / a / b;
      const double surface = static_cast<double>(a) * (b + c) + static_cast<double>(b) * c;
      if (fits(std::array{a, b, c}) && (best[0] == 0 || surface < least)) best = {a, b, c}, least = surface;
    }
  }
  return best;
}

// The periodic box: as near to a cube as this number of lattice cells allows.
struct Box {
  std::array<std::size_t, 3> cells;
  Triple length;

  explicit Box(std::size_t particles) {
    cells = factors(particles / 4, [](auto sides) { return sides[0] * edge() >= 2 * cutoff; });
    if (cells[0] == 0)
      throw CaseError(
          join({"particles='", particles,
                "' do not fill a box of whole cells of 4 particles, at least 3 cells "
                "wide in each direction, as the cutoff needs. Use 4 times a product of three such numbers, as "
                "4000, 32000 or 256000"}));
    for (int d = 0; d < 3; ++d) length[d] = static_cast<double>(cells[d]) * edge();
  }
  static double edge() { return std::cbrt(4 / density); }
};

// One site of the lattice. Its number does not depend on the process that holds it.
struct Site {
  std::size_t number;
  Triple at;

  Site(const Box& box, std::array<std::size_t, 3> cell, std::size_t corner)
      : number(4 * ((cell[2] * box.cells[1] + cell[1]) * box.cells[0] + cell[0]) + corner) {
    // The sites lie a quarter of a cell away from the borders, so that rounding never decides on the side of a border.
    constexpr double of[4][3] = {{0.25, 0.25, 0.25}, {0.75, 0.75, 0.25}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.75}};
    for (int d = 0; d < 3; ++d) at[d] = (static_cast<double>(cell[d]) + of[corner][d]) * Box::edge();
  }
  // Draws from Maxwell's distribution at temperature 1, by the number of the particle.
  Triple velocity() const {
    npb::Generator draw;
    draw.skip(4 * number);
    const double radius = std::sqrt(-2 * std::log(draw.next())), angle = 2 * std::numbers::pi * draw.next();
    const double third = std::sqrt(-2 * std::log(draw.next())) * std::cos(2 * std::numbers::pi * draw.next());
    return {radius * std::cos(angle), radius * std::sin(angle), third};
  }
};

}  // namespace steelyard::md
