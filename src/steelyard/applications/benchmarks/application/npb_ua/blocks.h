// The size, the place and the coefficients of a block: as many elements as a vector register has lanes.
#pragma once
#include <array>

#include "diagonal.h"

namespace steelyard::npb::ua {

// A lane without an element has coefficients 0 and lies far from the source.
struct Block {
  Pack stiffness;  // ν h/2: times the reference element's stiffness
  Pack mass;       // (h/2)^3/dt: times the mass of the reference element
  Pack advection;  // -2v/h: times the sum of the derivatives
  Pack edge;       // h, the length of an edge
  Pack origin[3];
  Pack inverse[4];        // 1/diagonal at inside nodes, by the number of middle directions of the node
  Pack corner_weight[8];  // weight of each corner in the initial guess, with x running fastest
  Pack inner[3][2];       // by direction and end: 0 where that face lies on the boundary, else 1
  bool at_boundary;
};

// Returns the index in Block::inverse of the value for an inside node.
constexpr std::array<std::size_t, nodes> middles = [] {
  std::array<std::size_t, nodes> out{};
  for (std::size_t n = 0; n < nodes; ++n)
    out[n] = (n % side == 2 ? 1u : 0u) + (n / side % side == 2 ? 1u : 0u) + (n / (side * side) == 2 ? 1u : 0u);
  return out;
}();

// Returns the index of a corner, counted with x running fastest.
constexpr int corner_node(std::size_t c) {
  int x = c & 1 ? 2 : 0, y = c & 2 ? 2 : 0, z = c & 4 ? 2 : 0;
  return entities[static_cast<std::size_t>(number_of({x, y, z}))].first;
}

class BlockMaker {
 public:
  BlockMaker(const Topology& topology, const DiagonalTables& tables, double dt)
      : topology_(topology), tables_(tables), dt_(dt) {}

  // Computes the block's coefficients. Writes to `parts` what its elements add to the diagonal at their own nodes.
  Block make(std::size_t block, double* parts) const {
    Block out{};
    out.edge = pack_of(1);
    for (auto& origin : out.origin) origin = pack_of(far_away);
    for (auto& direction : out.inner) direction[0] = direction[1] = pack_of(1);
    double* own = parts + Topology::zeros + block * nodes * lanes;
    int first = static_cast<int>(block) * lanes;
    int last = std::min(first + lanes, static_cast<int>(topology_.mesh().leaves().size()));
    for (int e = first; e < last; ++e) set_lane(out, e, e - first);
    for (std::size_t place = 0; place < nodes; ++place) {
      const Energy& node = tables_.node(static_cast<std::size_t>(node_at[place]));
      pack_at(own + place * lanes) = node.stiffness * out.stiffness + node.mass * out.mass;
    }
    set_inverse(out, last - first);
    for (int e = first; e < last; ++e) set_corners(out, e, e - first, own);
    return out;
  }

  // Writes what the split edges and faces of a thread contribute to the diagonal at their points.
  void split_parts(Worker w, const Share& share, double* parts) const {
    std::fill(parts + share.back_parts[2], parts + share.back_parts[2] + back_size(share, 2), 0.0);
    std::fill(parts + share.back_parts[1], parts + share.back_parts[1] + back_size(share, 1), 0.0);
    topology_.each_element(w, [&](int e) {
      double edge = std::ldexp(1.0, -topology_.level(e)), k = stiffness_factor(edge), m = mass_factor(edge);
      for (std::uint32_t left = topology_.split(e); left; left &= left - 1) {
        int entity = __builtin_ctz(left);
        double* to = parts + topology_.back(e, entity);
        if (entities[static_cast<std::size_t>(entity)].kind == 1) {
          unsigned faces = split_faces_along(topology_.split(e), entity);
          for (std::size_t g = 0; g < split_points; ++g)
            to[g * lanes] = k * tables_.edge(faces, g).stiffness + m * tables_.edge(faces, g).mass;
        } else {
          for (std::size_t n = 0; n < split_points * split_points; ++n)
            to[face_place[n] * lanes] = k * tables_.face(n).stiffness + m * tables_.face(n).mass;
        }
      }
    });
  }

 private:
  static constexpr double far_away = 10;

  double stiffness_factor(double edge) const { return diffusion * edge / 2; }
  double mass_factor(double edge) const { return edge * edge * edge / 8 / dt_; }
  static int back_size(const Share& share, std::size_t kind) {
    return batches_of(share.split[kind]) * split_points_of_kind[kind] * lanes;
  }

  void set_lane(Block& out, int e, int lane) const {
    const Cell& cell = topology_.mesh().leaves()[static_cast<std::size_t>(e)];
    double edge = std::ldexp(1.0, -cell.level);
    out.edge[lane] = edge;
    out.stiffness[lane] = stiffness_factor(edge), out.mass[lane] = mass_factor(edge),
    out.advection[lane] = -2 * velocity / edge;
    for (std::size_t d = 0; d < 3; ++d) {
      out.origin[d][lane] = cell.at[d] * edge;
      bool low = cell.at[d] == 0, high = cell.at[d] + 1 == 1 << cell.level;
      out.inner[d][0][lane] = low ? 0 : 1, out.inner[d][1][lane] = high ? 0 : 1;
      out.at_boundary |= low || high;
    }
  }
  void set_inverse(Block& out, int count) const {
    for (std::size_t n = 0; n < nodes; ++n) {
      const Energy& node = tables_.node(n);
      if (place_of[n] < surface) continue;
      for (int lane = 0; lane < count; ++lane)
        out.inverse[middles[n]][lane] = 1 / (node.stiffness * out.stiffness[lane] + node.mass * out.mass[lane]);
    }
  }
  void set_corners(Block& out, int e, int lane, double* own) const {
    std::uint32_t split = topology_.split(e);
    for (std::size_t c = 0; c < 8; ++c) {
      Triple corner{2 * (c & 1 ? 1 : 0), 2 * (c & 2 ? 1 : 0), 2 * (c & 4 ? 1 : 0)};
      out.corner_weight[c][lane] = weight_in_thirds(split, corner) / 3.0;
      const Energy& energy = tables_.corner(split_at(split, corner));
      own[corner_node(c) * lanes + lane] = energy.stiffness * out.stiffness[lane] + energy.mass * out.mass[lane];
    }
  }
  static unsigned split_faces_along(std::uint32_t split, int edge) {
    const Triple& code = entities[static_cast<std::size_t>(edge)].code;
    unsigned out = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      Triple face{1, 1, 1};
      face[d] = code[d];
      if (code[d] != 1) out += split >> number_of(face) & 1;
    }
    return out;
  }

  const Topology& topology_;
  const DiagonalTables& tables_;
  double dt_;
};

}  // namespace steelyard::npb::ua
