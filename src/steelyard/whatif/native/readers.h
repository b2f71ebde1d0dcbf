// The formats of traces: each reader makes the programs of all ranks.
#pragma once
#include <string>

#include "schedule.h"

namespace steelyard::whatif {

Builder read_goal(const std::string& path);
// Of SimGrid: time-independent traces, one file or a list of files, one a rank; `speed` in flop/s makes times of their
// work.
Builder read_ti(const std::string& path, double speed);

}  // namespace steelyard::whatif
