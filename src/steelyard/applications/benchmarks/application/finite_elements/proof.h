// Proves that the system and the solution of a part are right, by other methods than those that computed them.
#pragma once
#include <array>
#include <cmath>

#include "system.h"

namespace steelyard::finite_elements {

// Sums over the part, except those named as a maximum. Ranks combine theirs.
struct Proof {
  double square = 0;      // of the assembled residual
  double difference = 0;  // square of its difference from the residual by elements
  double error = 0;       // square integral of the difference from the analytic solution
  double moment = 0;      // sum of the solution weighted by place: one number that differs between solutions
  double worst_pair = 0;  // maximum of the differences between entries that mirror each other
  double worst_row = 0;   // maximum of the sums of rows that the boundary conditions left alone
  std::array<double*, 4> sums() { return {&square, &difference, &error, &moment}; }
  std::array<double*, 2> maxima() { return {&worst_pair, &worst_row}; }
};

class Examiner {
 public:
  // `x`: with the neighbours' values. `imposed`: the boundary conditions are, and the rows of the faces are the
  // identity's.
  Examiner(const System& system, const double* x, bool imposed)
      : system_(system), part_(system.part), x_(x), imposed_(imposed) {}

  Proof examine_result(const double* residual) {
    std::vector<double> plain(part_.own);  // the residual by elements
    visit_elements([&](int x, int y, int z) { apply(x, y, z, plain); });
    Proof out;
    nodes([&](std::size_t row, int x, int y, int z) {
      Point at = system_.mesh.at(x, y, z);
      out.moment += x_[row] * (at[0] + 2 * at[1] + 3 * at[2]);
      int depth = part_.depth(x, y, z);
      if (imposed_ && depth == 0) return;
      out.square += residual[row] * residual[row];
      out.difference += std::pow(residual[row] - plain[row], 2);
      out.worst_pair = std::max(out.worst_pair, asymmetry(row));
      if (!imposed_ || depth > 1) out.worst_row = std::max(out.worst_row, row_sum(row));
    });
    visit_elements([&](int x, int y, int z) {
      if (x >= 0 && y >= 0 && z >= 0) out.error += error(x, y, z);
    });
    return out;
  }

 private:
  template <class Call>
  void nodes(const Call& call) const {
    for (int z = 0; z < part_.size[2]; ++z)
      for (int y = 0; y < part_.size[1]; ++y)
        for (int x = 0; x < part_.size[0]; ++x) call(part_.line(y, z)[x], x, y, z);
  }
  template <class Call>
  void visit_elements(const Call& call) const {
    for (int z = -1; z < part_.size[2]; ++z)
      for (int y = -1; y < part_.size[1]; ++y)
        for (int x = -1; x < part_.size[0]; ++x)
          if (part_.element(0, x) && part_.element(1, y) && part_.element(2, z)) call(x, y, z);
  }
  std::size_t corner_node(std::size_t c, int x, int y, int z) const {
    return part_.line(y + static_cast<int>(c >> 1 & 1), z + static_cast<int>(c >> 2))[x + static_cast<int>(c & 1)];
  }
  // An element's share of f - A x: by the gradient of x at each Gauss point, with no matrix.
  void apply(int x, int y, int z, std::vector<double>& to) const {
    Corners<double> at = system_.mesh.places<double>(x, y, z);
    for (std::size_t point = 0; point < corners; ++point) {
      Map<double> map(at, point);
      double gradient[3]{}, given = 0;
      for (std::size_t c = 0; c < corners; ++c) {
        given += source({at[0][c], at[1][c], at[2][c]}) * shapes.value[point][c];
        for (std::size_t d = 0; d < 3; ++d) gradient[d] += x_[corner_node(c, x, y, z)] * map.slope(point, c, d);
      }
      for (std::size_t c = 0; c < corners; ++c) {
        std::size_t row = corner_node(c, x, y, z);
        if (row >= part_.own) continue;
        double flow = 0;
        for (std::size_t d = 0; d < 3; ++d) flow += gradient[d] * map.slope(point, c, d);
        to[row] += weight * (map.determinant * given * shapes.value[point][c] - flow / map.determinant);
      }
    }
  }
  double error(int x, int y, int z) const {
    Corners<double> at = system_.mesh.places<double>(x, y, z);
    double sum = 0;
    for (std::size_t point = 0; point < corners; ++point) {
      Point place{};
      double found = 0;
      for (std::size_t c = 0; c < corners; ++c) {
        found += x_[corner_node(c, x, y, z)] * shapes.value[point][c];
        for (std::size_t d = 0; d < 3; ++d) place[d] += at[d][c] * shapes.value[point][c];
      }
      sum += weight * Map<double>(at, point).determinant * std::pow(found - exact_solution(place), 2);
    }
    return sum;
  }
  double asymmetry(std::size_t row) const {
    double worst = 0;
    const double* values = &system_.matrix.values[entries * row];
    for (std::size_t slot = 0; slot < entries; ++slot) {
      auto column = static_cast<std::size_t>(system_.matrix.columns[entries * row + slot]);
      if (column >= part_.own || column == row) continue;
      worst = std::max(worst, std::abs(values[slot] - system_.matrix.values[entries * column + entries - 1 - slot]));
    }
    return worst;
  }
  double row_sum(std::size_t row) const {
    double sum = 0;
    for (std::size_t slot = 0; slot < entries; ++slot) sum += system_.matrix.values[entries * row + slot];
    return std::abs(sum);
  }

  const System& system_;
  const Part& part_;
  const double* x_;
  bool imposed_;
};

}  // namespace steelyard::finite_elements
