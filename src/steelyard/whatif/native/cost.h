// The costs of messages of each size in each class of pairs, computed once for a scenario.
#pragma once
#include "perturbation.h"

namespace steelyard::whatif {

template <int W>
using Times = std::array<Time, W>;

// The costs of a size in a class, in the `W` scenarios that are replayed at once.
template <int W>
struct Cost {
  Times<W> processor;  // o + (s - 1) O
  Times<W> occupied;   // g + (s - 1) G
  Times<W> gap;        // (s - 1) G
  Times<W> latency;    // L, and that of the links between switches
  Times<W> flight;     // latency, and (s - 1) times the greatest G on the way
};

// The costs of messages of a size in a class of pairs, in one scenario.
struct Price {
  Time overhead;   // o
  Time processor;  // o + (s - 1) O
  Time occupied;   // g + (s - 1) G
  Time gap;        // (s - 1) G
  Time latency;    // L, and that of the links between switches
  Time data;       // (s - 1) · G, with the greatest G of all links on the way
};

inline Price price(const Scenario& scenario, std::uint32_t c, std::int64_t bytes) {
  const Link& link = link_for(scenario.links(c), bytes);
  double slowest = link.G;
  Time latency = link.L;
  for (std::uint32_t level = 0; c > across + level; ++level) {
    slowest = std::max(slowest, scenario.uplinks[level].G);
    latency += 2 * scenario.uplinks[level].hop;
  }
  const Time gap = per_byte(link.G, bytes);
  return {link.o, link.o + per_byte(link.O, bytes), link.g + gap, gap, latency, per_byte(slowest, bytes)};
}

template <int W>
std::vector<Cost<W>> costs(const Schedule& schedule, const Scenario* scenarios) {
  std::vector<Cost<W>> found(schedule.sizes.size() * CLASSES);
  for (std::size_t size = 0; size < schedule.sizes.size(); ++size)
    for (std::uint32_t c = 0; c <= farthest; ++c)
      for (int w = 0; w < W; ++w) {
        const Price own = price(scenarios[w], c, schedule.sizes[size]);
        Cost<W>& cost = found[size * CLASSES + c];
        cost.processor[w] = own.processor;
        cost.occupied[w] = own.occupied;
        cost.gap[w] = own.gap;
        cost.latency[w] = own.latency;
        cost.flight[w] = own.latency + own.data;
      }
  return found;
}

}  // namespace steelyard::whatif
