// The reference element of polynomial order 4: its nodes, derivative, stiffness, interpolation and mortar projection.
#pragma once
#include <array>

#include "entities.h"

namespace steelyard::npb::ua {

template <std::size_t rows, std::size_t columns = rows>
using Matrix = std::array<std::array<double, columns>, rows>;

// The Gauss-Lobatto-Legendre nodes and weights. Two nodes lie at sqrt(3/7) between the middle and the ends.
constexpr double inner_abscissa = 0.65465367070797714380;
constexpr std::array<double, side> abscissa = {-1, -inner_abscissa, 0, inner_abscissa, 1};
constexpr std::array<double, side> weight = {0.1, 49.0 / 90, 32.0 / 45, 49.0 / 90, 0.1};

constexpr double legendre4(double z) { return ((35 * z * z - 30) * z * z + 3) / 8; }

constexpr Matrix<side> derivative = [] {
  Matrix<side> out{};
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j)
      if (i != j) out[i][j] = legendre4(abscissa[i]) / (legendre4(abscissa[j]) * (abscissa[i] - abscissa[j]));
  out[0][0] = -5, out[side - 1][side - 1] = 5;
  return out;
}();

// The stiffness in one direction, divided by the weight of the row: W^-1 D^T W D. The element's stiffness is the sum
// over the three directions, times the weight of the node.
constexpr Matrix<side> stiffness = [] {
  Matrix<side> out{};
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t q = 0; q < side; ++q) out[i][j] += weight[q] * derivative[q][i] * derivative[q][j];
      out[i][j] /= weight[i];
    }
  return out;
}();

constexpr std::array<double, nodes> node_weight = [] {
  std::array<double, nodes> out{};
  for (std::size_t n = 0; n < nodes; ++n)
    out[n] = weight[n % side] * weight[n / side % side] * weight[n / (side * side)];
  return out;
}();

// Returns the values at z of the interpolating polynomials. The interpolant is their sum, times the node values.
constexpr std::array<double, side> interpolation(double z) {
  std::array<double, side> out{};
  for (std::size_t j = 0; j < side; ++j) {
    out[j] = 1;
    for (std::size_t q = 0; q < side; ++q)
      if (q != j) out[j] *= (z - abscissa[q]) / (abscissa[j] - abscissa[q]);
  }
  return out;
}

// Interpolates from a line of nodes of a parent to the nodes of its low and its high child.
constexpr std::array<Matrix<side>, 2> refinement = [] {
  std::array<Matrix<side>, 2> out{};
  for (std::size_t i = 0; i < side; ++i) {
    out[0][i] = interpolation((abscissa[i] - 1) / 2);
    out[1][i] = interpolation((abscissa[i] + 1) / 2);
  }
  return out;
}();

// Samples a parent's line from the lines of two children: nodes 0 to 2 lie in the low child, 3 and 4 in the high child.
constexpr int high_rows = 3;
constexpr Matrix<side> coarsening = [] {
  Matrix<side> out{};
  for (std::size_t i = 0; i < side; ++i)
    out[i] = interpolation(i < high_rows ? 2 * abscissa[i] + 1 : 2 * abscissa[i] - 1);
  return out;
}();

// The L2 projection, with fixed ends, from the 9 points of the halves of a split edge to its three inner nodes.
// The matrix is for the first half; the second half uses its mirror image. Both halves count the point in the middle.
constexpr Matrix<3, side> first_half = {{
    {-0.1772843218615690, 0.7152146412463197, 0.4398680650316104, 0.08333333333333333, 0},
    {0.09375, -0.2285757930375471, 0.2083333333333333, 0.3561799597042137, 0.0703125},
    {-0.03700139242414530, 0.08333333333333333, -0.05891568407922938, -0.04854797457965334, 0},
}};
constexpr Matrix<3, split_points> projection = [] {
  Matrix<3, split_points> out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      out[i][j] += first_half[i][j];
      out[i][split_points - 1 - j] += first_half[2 - i][j];
    }
  return out;
}();

template <class Value>
struct Line {
  Value at[side];
};

// Multiplies one line of nodes, which lie `stride` apart, by a matrix.
template <const Matrix<side>& matrix, int stride, class Value>
inline Line<Value> differentiate_along(const Value* u) {
  Line<Value> out;
  for (std::size_t i = 0; i < side; ++i) {
    out.at[i] = matrix[i][0] * u[0];
    for (std::size_t j = 1; j < side; ++j) out.at[i] += matrix[i][j] * u[j * stride];
  }
  return out;
}

// Sums a matrix along the three directions. Calls finish(node, sum) once for each node; finish may change u at this
// node. `partial` holds the sum of the first two directions.
template <const Matrix<side>& matrix, class Value, class Finish>
inline void derive_all(const Value* u, Value* partial, Finish finish) {
  constexpr int plane = side * side;
  for (int k = 0; k < nodes; k += plane) {
    for (int j = k; j < k + plane; j += side) {
      auto line = differentiate_along<matrix, 1>(u + j);
      for (int i = 0; i < side; ++i) partial[j + i] = line.at[i];
    }
    for (int i = k; i < k + side; ++i) {
      auto line = differentiate_along<matrix, side>(u + i);
      for (int j = 0; j < side; ++j) partial[i + side * j] += line.at[j];
    }
  }
  for (int n = 0; n < plane; ++n) {
    auto line = differentiate_along<matrix, plane>(u + n);
    for (int k = 0; k < side; ++k) finish(n + plane * k, partial[n + plane * k] + line.at[k]);
  }
}

// Returns u^T K u and u^T M u for a vector u, with the stiffness K and the mass M of the reference element.
struct Energy {
  double stiffness = 0, mass = 0;
};

inline Energy energy(const std::array<double, nodes>& u) {
  std::array<double, nodes> partial;
  Energy out;
  derive_all<stiffness>(u.data(), partial.data(), [&](int n, double sum) {
    auto at = static_cast<std::size_t>(n);
    out.stiffness += node_weight[at] * u[at] * sum;
    out.mass += node_weight[at] * u[at] * u[at];
  });
  return out;
}

}  // namespace steelyard::npb::ua
