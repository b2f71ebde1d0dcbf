// NPB LU: the constants of the flow problem, its prescribed solution and the initial values (RNR-94-007, section 3).
#pragma once
#include <array>
#include <vector>

namespace steelyard::npb::lu {

using State = std::array<double, 5>;  // density, momentum in x, y, z, energy; all without unit

constexpr double c1 = 1.4, c2 = 0.4, c5 = 1.4, c34 = 0.1 * 1.0, c15 = c1 * c5, c1345 = c34 * c15;
constexpr double omega = 1.2;                                // relaxation factor
constexpr std::array<double, 3> diffusion{0.75, 0.75, 1.0};  // coefficients of second differences, by direction
constexpr double fourth = 0.25;                              // coefficient of fourth differences

// The prescribed solution is a sum of polynomials in one coordinate each, so a grid needs only three tables.
class Solution {
 public:
  explicit Solution(int n) : n_(n), along_(3) {
    for (std::size_t direction = 0; direction < 3; ++direction)
      for (int i = 0; i < n; ++i) along_[direction].push_back(evaluate_term(direction, coordinate(i)));
  }
  // Returns the solution at the grid point (i, j, k), counted from 0.
  State at(int i, int j, int k) const { return sum(term_at(0, i), term_at(1, j), term_at(2, k)); }
  // Returns the initial value of an inner point: transfinite interpolation between the faces.
  State initial_state(int i, int j, int k) const {
    State out;
    State x0 = at(0, j, k), x1 = at(n_ - 1, j, k), y0 = at(i, 0, k), y1 = at(i, n_ - 1, k), z0 = at(i, j, 0),
          z1 = at(i, j, n_ - 1);
    double xi = coordinate(i), eta = coordinate(j), zeta = coordinate(k);
    for (std::size_t m = 0; m < 5; ++m) {
      double x = (1 - xi) * x0[m] + xi * x1[m], y = (1 - eta) * y0[m] + eta * y1[m],
             z = (1 - zeta) * z0[m] + zeta * z1[m];
      out[m] = x + y + z - x * y - y * z - z * x + x * y * z;
    }
    return out;
  }

 private:
  double coordinate(int i) const { return i / static_cast<double>(n_ - 1); }
  const State& term_at(std::size_t direction, int i) const { return along_[direction][static_cast<std::size_t>(i)]; }
  static State sum(const State& x, const State& y, const State& z) {
    State out;
    for (std::size_t m = 0; m < 5; ++m) out[m] = coefficients[m][0] + x[m] + y[m] + z[m];
    return out;
  }
  static State evaluate_term(std::size_t direction, double x) {
    State out;
    for (std::size_t m = 0; m < 5; ++m) {
      const double* c = &coefficients[m][1 + direction];
      out[m] = x * (c[0] + x * (c[3] + x * (c[6] + x * c[9])));
    }
    return out;
  }
  static constexpr double coefficients[5][13] = {{2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
                                                 {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
                                                 {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
                                                 {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
                                                 {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}};

  int n_;
  std::vector<std::vector<State>> along_;
};

}  // namespace steelyard::npb::lu
