// The memory of a run: temperature on two meshes, unknowns, and contributions of the elements, with their sizes.
#pragma once
#include "operator.h"

namespace steelyard::npb::ua {

// The upper bounds of all sizes, in doubles if no other unit is named.
struct Bounds {
  std::size_t elements, threads, mortars;

  std::size_t blocks() const { return Topology::padded(elements) / lanes; }
  std::size_t node_values() const { return Topology::padded(elements) * nodes; }
  std::size_t inside_values() const { return Topology::padded(elements) * inner; }
  // Eight siblings have 24 outer faces and 12 outer edges of twice their length: these make at most 6 split faces and,
  // since up to three larger elements can share an edge, 36 split edges.
  std::size_t split_faces() const { return elements * 6 / 8 + threads * lanes; }
  std::size_t split_edges() const { return elements * 36 / 8 + threads * lanes; }
  std::size_t parts() const {
    return Topology::zeros + node_values() + split_points * split_edges() + split_points * split_points * split_faces();
  }
  std::size_t slots() const {
    return Topology::zeros + mortars + threads * lanes * (9 + 3 + 1) + 3 * split_edges() + 9 * split_faces();
  }
  std::size_t bytes() const {
    std::size_t lists = 80 * sizeof(int);  // share of each element in the lists of sources and pieces: class A needs 60
    return sizeof(double) * (2 * node_values() + parts() + 3 * inside_values() + 4 * slots()) +
           blocks() * sizeof(Block) + Topology::bytes(elements) + elements * lists;
  }
};

struct State {
  Topology topology;
  Buffer<Block> blocks;
  Buffer<double> temperature, former;           // by block, node and lane
  Buffer<double> parts;                         // the contributions of the elements (see topology.h)
  Buffer<double> inside_x, inside_p, inside_r;  // unknowns inside elements, by block, node and lane
  Buffer<double> x, p, r, inverse;              // shared unknowns: solution, direction, residual, 1/diagonal

  State(const Bounds& most, const MemoryPolicy& policy, Team& team)
      : topology(most.elements, policy, team),
        blocks(most.blocks(), policy, team),
        temperature(most.node_values(), policy, team),
        former(most.node_values(), policy, team),
        parts(most.parts(), policy, team),
        inside_x(most.inside_values(), policy, team),
        inside_p(most.inside_values(), policy, team),
        inside_r(most.inside_values(), policy, team),
        x(most.slots(), policy, team),
        p(most.slots(), policy, team),
        r(most.slots(), policy, team),
        inverse(most.slots(), policy, team) {
    for (double* zeros : {x.data(), p.data(), parts.data()}) std::fill(zeros, zeros + Topology::zeros, 0.0);
  }

  double* node_values(std::size_t block) const { return now_->data() + block * nodes * lanes; }
  const double* former_values() const { return before_->data(); }
  void swap_temperatures() { std::swap(now_, before_); }
  double* part(std::size_t block) const { return parts.data() + Topology::zeros + block * nodes * lanes; }
  static double* inside(const Buffer<double>& of, std::size_t block) { return of.data() + block * inner * lanes; }

  // This cannot happen if the bounds are right. All threads get the same result.
  void refuse_overflow() const {
    if (static_cast<std::size_t>(topology.slots()) > x.size() ||
        static_cast<std::size_t>(topology.parts()) > parts.size())
      throw CaseError("the mesh has more mortar points than its arrays can hold");
  }
  template <class Use>
  void each_block(Worker w, Use use) const {
    const Share& share = topology.share(w);
    for (std::size_t b = share.first_block; b < share.last_block; ++b) use(b);
  }

  // The loop runs backwards, like the sums over mortars.
  template <class Use>
  void each_block_back(Worker w, Use use) const {
    const Share& share = topology.share(w);
    for (std::size_t b = share.last_block; b-- > share.first_block;) use(b);
  }

 private:
  Buffer<double>*now_ = &temperature, *before_ = &former;
};

}  // namespace steelyard::npb::ua
