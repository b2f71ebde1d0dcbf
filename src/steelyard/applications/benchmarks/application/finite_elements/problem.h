// The problem: -Laplace u = f in the unit cube, with u given on its faces, and the mesh of bent hexahedra for its
// solution.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "kernel.h"

namespace steelyard::finite_elements {

using Triple = std::array<int, 3>;    // along x, y, z
using Point = std::array<double, 3>;  // in the unit cube
constexpr double reduction = 1e-10;   // of the residual's norm: the solver's goal without fixed iterations
constexpr std::size_t most_steps = 100000;

// The solution. The sines are zero on the faces and the polynomial is not. Their sum has no symmetry.
inline double exact_solution(const Point& at) {
  auto [x, y, z] = at;
  return std::sin(M_PI * x) * std::sin(M_PI * y) * std::sin(M_PI * z) + x * x * y + y * z + 2 * z;
}
// The negative Laplacian of the solution, and its integral over the cube.
inline double source(const Point& at) {
  auto [x, y, z] = at;
  return 3 * M_PI * M_PI * std::sin(M_PI * x) * std::sin(M_PI * y) * std::sin(M_PI * z) - 2 * y;
}
constexpr double whole_source = 24 / M_PI - 1;

// Moves a node of the even mesh to its place in the bent mesh, in which no two elements are alike. The faces stay
// even.
inline Point bend_mesh(const Point& even) {
  double bend = 0.05;
  for (double x : even) bend *= std::sin(M_PI * x);
  return {even[0] + bend, even[1] - 0.6 * bend, even[2] + 0.4 * bend};
}

// Returns the number of elements along each axis: nearly equal, with a product of at most `wanted`.
inline Triple choose_edges(std::size_t wanted) {
  if (wanted < 64) throw CaseError(join({"elements='", wanted, "' are too few: expected 64 or more"}));
  if (wanted > std::size_t{1} << 40)
    throw CaseError(join({"elements='", wanted, "' are too many: expected 2^40 or fewer"}));
  auto whole = [](double x) { return static_cast<int>(x + 1e-9); };
  auto all = static_cast<double>(wanted);
  int z = whole(std::cbrt(all)), y = whole(std::sqrt(all / z));
  return {whole(all / z / y), y, z};
}

// Returns the width of the widest element: second-order errors are proportional to its square.
inline double width(const Triple& elements) { return 1.0 / elements[2]; }

inline double count_of(const Triple& edge) { return 1.0 * edge[0] * edge[1] * edge[2]; }
inline double unknowns(const Triple& elements) { return count_of({elements[0] - 1, elements[1] - 1, elements[2] - 1}); }
inline double nodes(const Triple& elements) { return count_of({elements[0] + 1, elements[1] + 1, elements[2] + 1}); }

}  // namespace steelyard::finite_elements
