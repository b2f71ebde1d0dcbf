// Transfers a solution to another mesh: interpolates into new children, and samples the children that no longer exist.
#pragma once
#include <array>

#include "element.h"
#include "octree.h"

namespace steelyard::npb::ua {

using Values = std::array<double, nodes>;

// values(cell) returns the values of a former mesh in any cell: a leaf, a part of a leaf, or a cell of several leaves.
class FormerSolution {
 public:
  FormerSolution(const Octree& mesh, const double* temperature) : mesh_(mesh), temperature_(temperature) {}

  Values values(const Cell& cell) const {
    int found = mesh_.find_leaf(cell);
    if (found == Octree::parted) return combine_children(cell);
    if (found == Octree::absent) return interpolate_from_parent(cell);
    Values out;
    const double* from = values_of_leaf(found);
    for (std::size_t n = 0; n < nodes; ++n) out[n] = from[n * lanes];
    return out;
  }
  // The number of the leaf if the cell is a leaf; otherwise less than 0.
  int leaf(const Cell& cell) const { return mesh_.find_leaf(cell); }
  const double* values_of_leaf(int leaf) const { return temperature_ + (leaf / lanes * nodes * lanes + leaf % lanes); }

 private:
  Values interpolate_from_parent(const Cell& cell) const {
    Values out = values(cell.parent());
    std::size_t stride = 1;
    for (int c : cell.at) {
      apply(refinement[c & 1], out, stride);
      stride *= side;
    }
    return out;
  }

  Values combine_children(const Cell& cell) const {
    Values out;
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x) {
          Values part = values(cell.child({x, y, z}));
          for (std::size_t stride : {1, side, side * side}) apply(coarsening, part, stride);
          for (std::size_t n = 0; n < nodes; ++n)
            if (child_at(n % side) == x && child_at(n / side % side) == y && child_at(n / (side * side)) == z)
              out[n] = part[n];
        }
    return out;
  }
  static int child_at(std::size_t row) { return row < high_rows ? 0 : 1; }

  // Applies a matrix along the direction with this stride.
  static void apply(const Matrix<side>& matrix, Values& values, std::size_t stride) {
    for (std::size_t n = 0; n < nodes; ++n) {
      if (n / stride % side != 0) continue;
      std::array<double, side> line;
      for (std::size_t i = 0; i < side; ++i) {
        line[i] = 0;
        for (std::size_t j = 0; j < side; ++j) line[i] += matrix[i][j] * values[n + j * stride];
      }
      for (std::size_t i = 0; i < side; ++i) values[n + i * stride] = line[i];
    }
  }

  const Octree& mesh_;
  const double* temperature_;
};

}  // namespace steelyard::npb::ua
