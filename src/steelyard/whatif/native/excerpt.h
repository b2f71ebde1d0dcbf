// A part of a trace: the operations of the ranks in some regions, as if all ranks began the part together.
#pragma once
#include "schedule.h"

namespace steelyard::whatif {

struct Excerpt {
  std::uint64_t first = 0, last = 0;  // the regions
  std::uint64_t crossing = 0;         // messages with one end inside and one end outside
};

// Messages across the border are left out: they cost nothing, and no rank waits for them. Refused if there is no such
// region.
Schedule excerpt(const Schedule& whole, Excerpt& about);

}  // namespace steelyard::whatif
