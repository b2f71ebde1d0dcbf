// What messages of each size cost in each class of pairs, made once for a scenario.
#pragma once
#include "perturbation.h"

namespace steelyard::whatif {

template <int W>
using Times = std::array<Time, W>;

// What a size costs in a class, in the `W` scenarios that are replayed at once.
template <int W>
struct Cost {
  Times<W> processor;  // o + (s - 1) O
  Times<W> occupied;   // g + (s - 1) G
  Times<W> gap;        // (s - 1) G
  Times<W> latency;    // L, and that of the links between switches
  Times<W> flight;     // latency, and (s - 1) times the greatest G on the way
};

template <int W>
std::vector<Cost<W>> costs(const Schedule& schedule, const Scenario* scenarios) {
  std::vector<Cost<W>> found(schedule.sizes.size() * CLASSES);
  for (std::size_t size = 0; size < schedule.sizes.size(); ++size)
    for (std::uint32_t c = 0; c <= farthest; ++c)
      for (int w = 0; w < W; ++w) {
        const std::int64_t bytes = schedule.sizes[size];
        const Link& link = link_for(scenarios[w].links(c), bytes);
        Cost<W>& cost = found[size * CLASSES + c];
        double slowest = link.G;
        cost.latency[w] = link.L;
        for (std::uint32_t level = 0; c > across + level; ++level) {
          slowest = std::max(slowest, scenarios[w].uplinks[level].G);
          cost.latency[w] += 2 * scenarios[w].uplinks[level].hop;
        }
        cost.processor[w] = link.o + per_byte(link.O, bytes);
        cost.gap[w] = per_byte(link.G, bytes);
        cost.occupied[w] = link.g + cost.gap[w];
        cost.flight[w] = cost.latency[w] + per_byte(slowest, bytes);
      }
  return found;
}

}  // namespace steelyard::whatif
