// The classes of UA: depth of the mesh, number of steps, size of the source, and the published temperature integral.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>

namespace steelyard::npb::ua {

struct Class {
  char letter;
  int finest;  // levels of refinement: the smallest edge is 2^-finest
  int steps;
  double radius;        // of the heat source
  double integral;      // published (NPB 3.4.1)
  std::size_t mortars;  // NPB's bound on the number of mortar points
};

constexpr std::array<Class, 6> classes = {{
    {'S', 4, 50, 0.040, 0.1890013110962e-02, 11600},
    {'W', 5, 100, 0.060, 0.2569794837076e-04, 26700},
    {'A', 6, 200, 0.076, 0.8939996281443e-04, 92700},
    {'B', 7, 200, 0.076, 0.4507561922901e-04, 334600},
    {'C', 8, 200, 0.067, 0.1544736587100e-04, 1262100},
    {'D', 10, 250, 0.046, 0.1577586272355e-05, 19134400},
}};

constexpr double tolerance = 1e-8;
constexpr double diffusion = 0.005;  // ν, the diffusion coefficient
constexpr double velocity = 3;       // of the fluid, in each direction
constexpr int iterations = 10;       // of the conjugate gradients in each time step
constexpr int adapt_every = 5;       // time steps between two adaptations of the mesh

using Point = std::array<double, 3>;

inline Class class_of(char letter) {
  for (const Class& c : classes)
    if (c.letter == letter) return c;
  return classes[0];
}

// Returns the length of a time step.
inline double step_of(const Class& c) { return 0.04 * std::ldexp(1.0, -c.finest); }

// Returns the centre of the source at a time.
inline Point centre_at(double time) {
  return {3.0 / 7 + velocity * time, 2.0 / 7 + velocity * time, 2.0 / 7 + velocity * time};
}

}  // namespace steelyard::npb::ua
