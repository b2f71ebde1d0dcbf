// A trilinear hexahedron: its stiffness matrix and its share of the right-hand side, by 2 x 2 x 2 Gauss points. For one
// element (double) or for as many as a register holds (Pack).
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "simd.h"

namespace steelyard::finite_elements {

constexpr std::size_t corners = 8, pairs = 36;  // corner c lies at x = c & 1, y = c >> 1 & 1, z = c >> 2
constexpr std::size_t pair_of(std::size_t i, std::size_t j) { return i <= j ? j * (j + 1) / 2 + i : pair_of(j, i); }

// The functions of the corners and their derivatives at the Gauss points (1 ± 1/sqrt 3) / 2 along each axis of the unit
// cube. Each point has the weight 1/8.
struct Shapes {
  double value[corners][corners], slope[corners][corners][3];  // by point, then by corner

  constexpr Shapes() : value(), slope() {
    constexpr double near = (1 + 0.57735026918962576451) / 2, far = 1 - near;
    for (std::size_t point = 0; point < corners; ++point)
      for (std::size_t c = 0; c < corners; ++c) {
        double along[3]{}, down[3]{};
        for (std::size_t d = 0; d < 3; ++d) {
          along[d] = (point >> d & 1) == (c >> d & 1) ? near : far;
          down[d] = (c >> d & 1) != 0 ? 1 : -1;
        }
        value[point][c] = along[0] * along[1] * along[2];
        for (std::size_t d = 0; d < 3; ++d) slope[point][c][d] = down[d] * along[(d + 1) % 3] * along[(d + 2) % 3];
      }
  }
};
inline constexpr Shapes shapes;
constexpr double weight = 1.0 / 8;

template <class T>
using Corners = std::array<std::array<T, corners>, 3>;  // coordinates of the corners: x, y, z

// The map from the unit cube to the element at a Gauss point: its determinant, and its cofactors (determinant times
// inverse).
template <class T>
struct Map {
  T cofactor[3][3];  // [direction in space][direction in the unit cube]
  T determinant;

  [[gnu::always_inline]] Map(const Corners<T>& at, std::size_t point) {
    T j[3][3];
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t k = 0; k < 3; ++k) {
        T sum = at[d][0] * shapes.slope[point][0][k];
        for (std::size_t c = 1; c < corners; ++c) sum += at[d][c] * shapes.slope[point][c][k];
        j[d][k] = sum;
      }
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t k = 0; k < 3; ++k) {
        std::size_t d1 = (d + 1) % 3, d2 = (d + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
        cofactor[d][k] = j[d1][k1] * j[d2][k2] - j[d1][k2] * j[d2][k1];
      }
    determinant = j[0][0] * cofactor[0][0] + j[0][1] * cofactor[0][1] + j[0][2] * cofactor[0][2];
  }
  // Returns the gradient of a corner's function, times the determinant.
  [[gnu::always_inline]] T slope(std::size_t point, std::size_t c, std::size_t d) const {
    const double* s = shapes.slope[point][c];
    return cofactor[d][0] * s[0] + cofactor[d][1] * s[1] + cofactor[d][2] * s[2];
  }
};

template <class T>
struct Element {
  T stiffness[pairs], load[corners];

  // The right-hand side is interpolated between the values of `source` at the corners, which keeps the second order.
  [[gnu::always_inline]] Element(const Corners<T>& at, const std::array<T, corners>& source) {
    for (T& x : stiffness) x = T{};
    for (T& x : load) x = T{};
    for (std::size_t point = 0; point < corners; ++point) {
      Map<T> map(at, point);
      T slopes[3][corners], given = T{};
      for (std::size_t c = 0; c < corners; ++c) {
        for (std::size_t d = 0; d < 3; ++d) slopes[d][c] = map.slope(point, c, d);
        given += source[c] * shapes.value[point][c];
      }
      T factor = weight / map.determinant, part = weight * map.determinant * given;
#pragma GCC unroll 8
      for (std::size_t j = 0; j < corners; ++j) {
        load[j] += part * shapes.value[point][j];
        T x = factor * slopes[0][j], y = factor * slopes[1][j], z = factor * slopes[2][j];
        for (std::size_t i = 0; i <= j; ++i)
          stiffness[pair_of(i, j)] += x * slopes[0][i] + y * slopes[1][i] + z * slopes[2][i];
      }
    }
  }
};

// Floating-point operations of the loops above for one element. Each Gauss point has the map (135 for the Jacobian
// matrix, 27 for cofactors, 5), slopes and source (8 corners: 15 and 2), the factors (3), and the sums (8 corners: 2
// for the load, 3 for the slopes; 36 pairs: 6).
constexpr double flops_an_element = 8.0 * (135 + 27 + 5 + 8 * 17 + 3 + 8 * 5 + 36 * 6);

}  // namespace steelyard::finite_elements
