// The activity of the ranks in the traced run itself, and how long its sends took.
#pragma once
#include <string>

#include "json.h"
#include "schedule.h"

namespace steelyard::whatif {

// Returns the shares of computing by row of `together` ranks and by step of the time from the first begin to the last
// end; and of the calls that send: their number, mean, least, 95th percentile (ps), and how many took at least `wait`.
json::Object traced_activity(const std::string& path, const Schedule& schedule, std::uint32_t together,
                             std::size_t steps, Time wait);

}  // namespace steelyard::whatif
