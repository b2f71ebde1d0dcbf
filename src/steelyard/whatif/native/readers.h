// The formats of traces, which show in the content: each reader makes the programs of all ranks.
#pragma once
#include <string>
#include <string_view>

#include "formats.h"
#include "goal_order.h"
#include "ti.h"

namespace steelyard::whatif {

// Returns whether a text is GOAL, from its begin.
inline bool is_goal(std::string_view begin) {
  Lines lines("", begin);
  return lines.next() && (lines.words()[0] == "num_ranks" || lines.words()[0].starts_with("/*"));
}

// Refuses what its begin shows to be no trace, before the rest is read.
inline void expect_trace(const std::string& path, std::string_view begin) {
  if (const std::string_view what = foreign(begin); !what.empty()) throw Refused(describe_refusal(path, what));
  if (begin.find('\0') != std::string_view::npos) throw Refused(unknown(path));
}

// Refused names what else it is, where that is known, and what is read.
inline Builder read(const std::string& path, std::string_view text, double speed) {
  expect_trace(path, text.substr(0, LOOK));
  if (!Lines(path, text).next()) throw Refused("The trace '" + path + "' is empty");
  if (!is_goal(text)) return read_ti(path, text, speed);
  Source source(path, text);
  return read_goal(source);
}

}  // namespace steelyard::whatif
