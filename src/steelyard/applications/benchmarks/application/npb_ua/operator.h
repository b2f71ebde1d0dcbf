// The implicit operator νK + M/dt of a block of elements, and its residual. Reads values from slots, writes to parts.
#pragma once
#include "blocks.h"

namespace steelyard::npb::ua {

constexpr std::size_t inner = nodes - surface;  // nodes inside an element

// Loads the nodes that a block shares with its neighbours into their places among the 125 packs of an element.
inline void load_surface(const Topology& topology, std::size_t block, const double* slots, double* to) {
  const int* index = topology.block_slots(block);
  for (const Entity& entity : entities) {
    if (entity.kind < 3)
      for (int p = 0; p < entity.points; ++p)
        pack_at(to + node_at[static_cast<std::size_t>(entity.first + p)] * lanes) = gather(slots + p * lanes, index);
    index += lanes;
  }
}

constexpr std::size_t inner_node(std::size_t n) { return static_cast<std::size_t>(node_at[surface + n]); }

// Computes M (T* - x)/dt - νK x of each element, which is f - A x with f = M T*/dt.
inline void residual(const Block& block, const double* temperature, const Pack* x, double* parts) {
  Pack partial[nodes];
  derive_all<stiffness>(x, partial, [&](int node, Pack sum) {
    auto n = static_cast<std::size_t>(node);
    Pack mass = block.mass * (pack_at(temperature + n * lanes) - x[n]);
    pack_at(parts + place_of[n] * lanes) = node_weight[n] * (mass - block.stiffness * sum);
  });
}

// Applies the operator of an element to p and returns the product of p with the result. The sum over all elements is
// that of the assembled operator, so it is known before the assembly.
inline Pack apply(const Block& block, const Pack* p, double* parts) {
  Pack partial[nodes], product{};
  derive_all<stiffness>(p, partial, [&](int node, Pack sum) {
    auto n = static_cast<std::size_t>(node);
    Pack y = node_weight[n] * (block.stiffness * sum + block.mass * p[n]);
    pack_at(parts + place_of[n] * lanes) = y;
    product += p[n] * y;
  });
  return product;
}

// Makes the new search direction p of the inside nodes of a block from its residual r. If there was one before
// (`follows`), x first moves along it.
inline void turn_inside(const Block& block, const double* r, double* p, double* x, double alpha, double beta,
                        bool follows, Pack* to) {
  for (std::size_t n = 0; n < inner; ++n, r += lanes, p += lanes, x += lanes) {
    Pack z = pack_at(r) * block.inverse[middles[inner_node(n)]];
    if (follows) {
      pack_at(x) += alpha * pack_at(p);
      z += beta * pack_at(p);
    }
    pack_at(p) = to[inner_node(n)] = z;
  }
}

// Returns the squared residual of the nodes inside the elements, weighted by the preconditioner.
inline Pack square_residual_inside(const Block& block, const double* r) {
  Pack out{};
  for (std::size_t n = 0; n < inner; ++n, r += lanes)
    out += pack_at(r) * pack_at(r) * block.inverse[middles[inner_node(n)]];
  return out;
}

}  // namespace steelyard::npb::ua
