// NPB LU: the verification without published values, point by point from the definition (RNR-94-007, sections 3.2 and
// 3.3; NAS-95-020): it checks the residuals and the equations of one step.
#pragma once
#include <array>
#include <vector>

#include "flow.h"
#include "layout.h"

namespace steelyard::npb::lu {

// A number and its derivative: functions of such numbers give derivatives (automatic differentiation).
struct DualNumber {
  double value = 0, slope = 0;
  DualNumber() = default;
  DualNumber(double v, double s = 0) : value(v), slope(s) {}  // constants do not change
  friend DualNumber operator+(DualNumber a, DualNumber b) { return {a.value + b.value, a.slope + b.slope}; }
  friend DualNumber operator-(DualNumber a, DualNumber b) { return {a.value - b.value, a.slope - b.slope}; }
  friend DualNumber operator*(DualNumber a, DualNumber b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend DualNumber operator/(DualNumber a, DualNumber b) {
    double ratio = a.value / b.value;
    return {ratio, (a.slope - ratio * b.slope) / b.value};
  }
};
template <class Number>
using Values = std::array<Number, 5>;

// Returns the flux of a state in one direction.
template <class Number>
Values<Number> flux_of(const Values<Number>& u, std::size_t direction) {
  Number velocity = u[1 + direction] / u[0],
         pressure = c2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
  Values<Number> out;
  for (std::size_t m = 0; m < 5; ++m) out[m] = velocity * u[m];
  out[1 + direction] = out[1 + direction] + pressure, out[4] = out[4] + velocity * pressure;
  return out;
}
// Returns the quantities whose differences are the viscous flux: velocities, and the energy of viscosity and heat.
template <class Number>
Values<Number> viscous_part(const Values<Number>& u, std::size_t direction) {
  Number own = u[1 + direction] / u[0], squares = (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / (u[0] * u[0]);
  Values<Number> out{};
  for (std::size_t m = 1; m < 4; ++m) out[m] = (m == 1 + direction ? 4.0 / 3 : 1) * c34 * u[m] / u[0];
  out[4] = c34 * (0.5 * (1 - c15) * squares + own * own / 6 + c15 * u[4] / u[0]);
  return out;
}
// Returns K at an inner point, counted from 0, of a grid with n points per side. `state(i, j, k)` is up to two away.
template <class At>
State apply_operator(int n, const std::array<int, 3>& point, const At& state) {
  const double inverse = n - 1.0;  // 1 over the distance of two points
  State out{};
  for (std::size_t direction = 0; direction < 3; ++direction) {
    auto beside = [&](int distance) {
      std::array<int, 3> at = point;
      at[direction] += distance;
      return state(at[0], at[1], at[2]);
    };
    const int place = point[direction];
    const bool two_below = place > 2, two_above = place < n - 3, first = place == 1, last = place == n - 2;
    State here = beside(0), below = beside(-1), above = beside(1), far_below{}, far_above{};
    if (two_below) far_below = beside(-2);
    if (two_above) far_above = beside(2);
    State flux_above = flux_of(above, direction), flux_below = flux_of(below, direction),
          viscous_above = viscous_part(above, direction), viscous = viscous_part(here, direction),
          viscous_below = viscous_part(below, direction);
    for (std::size_t m = 0; m < 5; ++m) {
      out[m] -= (flux_above[m] - flux_below[m]) * inverse / 2;
      out[m] += (viscous_above[m] - 2 * viscous[m] + viscous_below[m]) * inverse * inverse;
      out[m] += diffusion[direction] * (above[m] - 2 * here[m] + below[m]) * inverse * inverse;
      double differences = (first || last ? 5 : 6) * here[m];
      if (two_below) differences += far_below[m];
      if (!first) differences -= 4 * below[m];
      if (!last) differences -= 4 * above[m];
      if (two_above) differences += far_above[m];
      out[m] -= fourth * differences;
    }
  }
  return out;
}

// Keeps the middle plane of a block before a step, and checks whether the step's equations hold there afterwards.
//
// A step adds w to the state times 1/(omega (2 - omega)), where (D + omega U) w = D y and (D + omega L) y is the
// residual times the time step: y follows from w by the first equation, and the second is checked. D, L and U are the
// derivatives of K by the state of the point itself and of its neighbours below and above.
class StepProof {
 public:
  // `now(i, j, k)`: the state of a point of the block, in the numbering of its layout.
  template <class Now>
  StepProof(const Layout& at, double time_step, const Now& now)
      : at_(at), time_step_(time_step), inverse_(at.n - 1.0), before_(5ul * width() * height()) {
    each([&](int i, int j, int k) { before_[place(i, j, k)] = now(i, j, k); });
  }
  // Returns the sums of squares of the defect and of the residual times the time step. `wanted`: K of the solution.
  template <class Now, class Wanted>
  std::array<double, 2> sum_squares(const Now& now, const Wanted& wanted) {
    change_.resize(before_.size());
    each([&](int i, int j, int k) {
      State u = now(i, j, k);
      for (std::size_t m = 0; m < 5; ++m)
        change_[place(i, j, k)][m] = (u[m] - before_[place(i, j, k)][m]) * omega * (2 - omega);
    });
    const int x = at_.first_x - 1, y = at_.first_y - 1, k = middle_plane();
    auto before = [&](int i, int j, int l) { return before_[place(i - x, j - y, l)]; };
    std::array<double, 2> out{};
    for (int j = 1; j <= at_.ny; ++j)
      for (int i = 1; i <= at_.nx; ++i) {
        // This block does not know the points across its corners.
        if ((i == 1 && j == at_.ny && at_.west && at_.north) || (i == at_.nx && j == 1 && at_.east && at_.south))
          continue;
        State left = apply_diagonal_block(i, j, k, apply_first_half(i, j, k)), neighbours = apply_lower_blocks(i, j, k),
              residual = apply_operator(at_.n, {x + i, y + j, k}, before), forcing = wanted(x + i, y + j, k);
        for (std::size_t m = 0; m < 5; ++m) {
          double given = time_step_ * (residual[m] - forcing[m]), defect = left[m] + omega * neighbours[m] - given;
          out[0] += defect * defect, out[1] += given * given;
        }
      }
    return out;
  }

 private:
  int middle_plane() const { return at_.n / 2; }
  int width() const { return at_.nx + 4; }
  int height() const { return at_.ny + 4; }
  std::size_t place(int i, int j, int k) const {
    return (static_cast<std::size_t>(k - middle_plane() + 2) * static_cast<std::size_t>(height()) +
            static_cast<std::size_t>(j + 1)) *
               static_cast<std::size_t>(width()) +
           static_cast<std::size_t>(i + 1);
  }
  template <class Do>
  void each(Do what) const {
    for (int k = middle_plane() - 2; k <= middle_plane() + 2; ++k)
      for (int j = -1; j <= at_.ny + 2; ++j)
        for (int i = -1; i <= at_.nx + 2; ++i) what(i, j, k);
  }
  bool is_inner(int i, int j) const {
    int x = at_.first_x - 1 + i, y = at_.first_y - 1 + j;
    return x > 0 && x < at_.n - 1 && y > 0 && y < at_.n - 1;
  }
  // Returns the time step times the derivative of -K by the neighbour on `side` (-1 or 1), applied to `x`.
  State apply_neighbour_block(int i, int j, int k, std::size_t direction, int side, const State& x) const {
    Values<DualNumber> u = duals(i, j, k, x), flux = flux_of(u, direction), viscous = viscous_part(u, direction);
    State out;
    for (std::size_t m = 0; m < 5; ++m)
      out[m] = time_step_ * inverse_ *
               (side * flux[m].slope / 2 - (viscous[m].slope + diffusion[direction] * x[m]) * inverse_);
    return out;
  }
  // Returns D applied to `x`.
  State apply_diagonal_block(int i, int j, int k, const State& x) const {
    State out = x;
    for (std::size_t direction = 0; direction < 3; ++direction) {
      Values<DualNumber> viscous = viscous_part(duals(i, j, k, x), direction);
      for (std::size_t m = 0; m < 5; ++m)
        out[m] += 2 * time_step_ * inverse_ * inverse_ * (viscous[m].slope + diffusion[direction] * x[m]);
    }
    return out;
  }
  Values<DualNumber> duals(int i, int j, int k, const State& slope) const {
    Values<DualNumber> out;
    for (std::size_t m = 0; m < 5; ++m) out[m] = {before_[place(i, j, k)][m], slope[m]};
    return out;
  }
  // Returns y, which follows from w; 0 at the boundary.
  State apply_first_half(int i, int j, int k) const {
    State out{};
    if (!is_inner(i, j)) return out;
    for (std::size_t direction = 0; direction < 3; ++direction) {
      int a = i + (direction == 0), b = j + (direction == 1), c = k + (direction == 2);
      State share = apply_neighbour_block(a, b, c, direction, 1, change_[place(a, b, c)]);
      for (std::size_t m = 0; m < 5; ++m) out[m] += omega * share[m];
    }
    out = solve_diagonal_block(i, j, k, out);
    for (std::size_t m = 0; m < 5; ++m) out[m] += change_[place(i, j, k)][m];
    return out;
  }
  // Returns L y.
  State apply_lower_blocks(int i, int j, int k) const {
    State out{};
    for (std::size_t direction = 0; direction < 3; ++direction) {
      int a = i - (direction == 0), b = j - (direction == 1), c = k - (direction == 2);
      State share = apply_neighbour_block(a, b, c, direction, -1, apply_first_half(a, b, c));
      for (std::size_t m = 0; m < 5; ++m) out[m] += share[m];
    }
    return out;
  }
  // Solves D x = given by elimination; the diagonal element of D is the greatest of each column.
  State solve_diagonal_block(int i, int j, int k, State given) const {
    std::array<State, 5> columns;
    for (std::size_t m = 0; m < 5; ++m) {
      State unit{};
      unit[m] = 1;
      columns[m] = apply_diagonal_block(i, j, k, unit);
    }
    for (std::size_t m = 0; m < 5; ++m)
      for (std::size_t row = m + 1; row < 5; ++row) {
        double factor = columns[m][row] / columns[m][m];
        for (std::size_t column = m; column < 5; ++column) columns[column][row] -= factor * columns[column][m];
        given[row] -= factor * given[m];
      }
    for (std::size_t m = 5; m-- > 0;) {
      for (std::size_t column = m + 1; column < 5; ++column) given[m] -= columns[column][m] * given[column];
      given[m] /= columns[m][m];
    }
    return given;
  }

  const Layout& at_;
  double time_step_, inverse_;
  std::vector<State> before_, change_;
};

}  // namespace steelyard::npb::lu
