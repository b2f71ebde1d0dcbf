// The exact diagonal of the assembled operator, for the preconditioner: a table for each way to split edges and faces.
#pragma once
#include <array>

#include "mortars.h"

namespace steelyard::npb::ua {

// What an element adds to the diagonal at an unknown depends only on which edges and faces are split there. The values
// are the energies of a column of the projection on the reference element. Mirror images have the same value.
class DiagonalTables {
 public:
  DiagonalTables() {
    for (std::size_t n = 0; n < nodes; ++n) {
      std::array<double, nodes> unit{};
      unit[n] = 1;
      node_[n] = energy(unit);
    }
    for (unsigned split = 0; split < corner_.size(); ++split) corner_[split] = energy(corner_column(split));
    for (unsigned faces = 0; faces < edge_.size(); ++faces)
      for (std::size_t g = 1; g + 1 < split_points; ++g) edge_[faces][g] = energy(edge_column(faces, g));
    for (std::size_t v = 1; v + 1 < split_points; ++v)
      for (std::size_t u = 1; u + 1 < split_points; ++u) face_[u + split_points * v] = energy(face_column(u, v));
  }

  const Energy& node(std::size_t n) const { return node_[n]; }
  // Returns the value at a corner, by the split edges and faces there (see split_at).
  const Energy& corner(unsigned split) const { return corner_[split]; }
  // Returns the value at point g of a split edge whose element has `faces` split faces (0 to 2) along this edge.
  const Energy& edge(unsigned faces, std::size_t g) const { return edge_[faces][g]; }
  // Returns the value at the point u + 9v, which lies inside a split face and not on its rim.
  const Energy& face(std::size_t point) const { return face_[point]; }

 private:
  using Column = std::array<double, nodes>;
  static constexpr std::array<std::size_t, 3> stride = {1, side, side * side};

  static Column corner_column(unsigned split) {
    Column out{};
    out[0] = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      if (split >> d & 1)
        for (std::size_t i = 0; i < 3; ++i) out[(i + 1) * stride[d]] = projection[i][0];
      if (split >> (3 + d) & 1) add_face(out, stride[d == 0 ? 1 : 0], stride[d == 2 ? 1 : 2], 0, 0);
    }
    return out;
  }
  static Column edge_column(unsigned faces, std::size_t g) {
    Column out{};
    for (std::size_t i = 0; i < 3; ++i) out[(i + 1) * stride[0]] = projection[i][g];
    for (std::size_t d = 1; d <= faces; ++d) add_face(out, stride[0], stride[d], g, 0);
    return out;
  }
  static Column face_column(std::size_t u, std::size_t v) {
    Column out{};
    add_face(out, stride[0], stride[1], u, v);
    return out;
  }
  static void add_face(Column& column, std::size_t along_u, std::size_t along_v, std::size_t u, std::size_t v) {
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t i = 0; i < 3; ++i)
        column[(i + 1) * along_u + (j + 1) * along_v] = projection[i][u] * projection[j][v];
  }

  std::array<Energy, nodes> node_;
  std::array<Energy, 64> corner_;
  std::array<std::array<Energy, split_points>, 3> edge_{};  // 0 at the ends, which the table of corners has
  std::array<Energy, split_points * split_points> face_{};  // 0 along the rim, which other tables have
};

}  // namespace steelyard::npb::ua
