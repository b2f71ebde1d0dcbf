// A part of a trace: what the ranks do in some of its regions, as if they began it together.
#pragma once
#include "schedule.h"

namespace steelyard::whatif {

struct Excerpt {
  std::uint64_t first = 0, last = 0;  // the regions
  std::uint64_t crossing = 0;         // messages that were sent within and taken outside, or the other way round
};

// Messages that cross the border are left out: nobody pays for them and nobody waits for them. Refused where there is
// no such region.
Schedule excerpt(const Schedule& whole, Excerpt& about);

}  // namespace steelyard::whatif
