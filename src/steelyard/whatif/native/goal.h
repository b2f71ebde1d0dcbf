// Reads GOAL (Hoefler, Siebert, Lumsdaine, Group Operation Assembly Language, ICPP 2009): each
// rank's operations, and which of them must be over, or begun, before which.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "source.h"

namespace steelyard::whatif {

struct Step {
  std::int64_t amount;  // ns or B
  std::uint32_t peer, tag, processor, interface;
  enum : std::uint8_t { compute, send, receive } kind;
};
// `step` waits for the end of `before`, or for its begin.
struct Need {
  std::uint32_t step, before;
  bool begin;
};
struct GoalRank {
  std::vector<Step> steps;
  std::vector<Need> needs;
};

// Called once with the number of ranks, then for each rank of the file. What it says of a rank is refused with the
// line.
struct GoalSink {
  std::function<void(std::size_t)> ranks;
  std::function<void(std::size_t, const GoalRank&)> rank;
};
void read_goal(Source& source, const GoalSink& sink);

}  // namespace steelyard::whatif
