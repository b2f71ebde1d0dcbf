// NPB LU: the arrays of one block and the lengths of its messages.
#pragma once
#include "buffers.h"
#include "residual.h"

namespace steelyard::npb::lu {

enum Side { west, east, south, north };

// The arrays of a block. Their owner touches them first, so that they lie in its memory.
struct Arrays {
  Buffer<Fives> u, v, forcing, window, vertical, row, line, entry, edge, beside;
  Buffer<double> between;

  Arrays(const Layout& at, const MemoryPolicy& policy, Team& team, std::size_t owner)
      : u(at.size(), policy, team, owner),
        v(at.size(), policy, team, owner),
        forcing(at.size(), policy, team, owner),
        window(PrimitiveWindow::size(at), policy, team, owner),
        vertical(static_cast<std::size_t>(at.strip() * at.strips), policy, team, owner),
        row(static_cast<std::size_t>(at.nx + 4 * lanes), policy, team, owner),
        line(static_cast<std::size_t>(at.vectors), policy, team, owner),
        entry(lanes, policy, team, owner),
        edge(lanes, policy, team, owner),
        beside(static_cast<std::size_t>(at.vectors), policy, team, owner),
        between(static_cast<std::size_t>(5 * at.nx * at.nz), policy, team, owner) {}

  static std::size_t bytes(const Layout& at) {
    return sizeof(Fives) * (3 * at.size() + PrimitiveWindow::size(at) + static_cast<std::size_t>(at.plane())) +
           40ul * static_cast<std::size_t>(at.nx) * static_cast<std::size_t>(at.nz);
  }
};

// Returns the number of doubles in one message of a sweep.
inline std::size_t message_size(const Layout& at, Side side) {
  return static_cast<std::size_t>(5 * (side == west || side == east ? lanes * at.strips : at.nx));
}

}  // namespace steelyard::npb::lu
