// The formats of traces: each reader makes the programs of all ranks.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schedule.h"
#include "source.h"

namespace steelyard::whatif {

Builder read_goal(Source& source);
// SimGrid's time-independent traces: one file, or a list of files, one a rank. `speed` in flop/s makes times of their
// work. `path` names the text in errors, and is where its other files are.
Builder read_ti(const std::string& path, std::string_view text, double speed);
// The format shows in the content. Refused names what else it is, where that is known, and what is read.
Builder read(const std::string& path, std::string_view text, double speed);
// `content`: what the file holds, where its schedule follows from this file alone.
Builder read_file(const std::string& path, double speed, std::optional<Digest::Value>* content = nullptr);
// Returns whether a text is GOAL, from its begin.
bool is_goal(std::string_view begin);
// Returns whether it is TI in one file, not a list of files.
bool is_ti(std::string_view begin);

}  // namespace steelyard::whatif
