// The schedule of a text, kept in the user's cache so that the text need not be taken apart again.
#pragma once
#include <optional>
#include <string>

#include "digest.h"
#include "schedule.h"

namespace steelyard::whatif {

// What a kept schedule belongs to: a file as it is now, and what makes times of its work.
struct Origin {
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;  // of the file, and of its last change
  double speed = 0;
  Digest::Value content{};
  bool operator==(const Origin&) const = default;
};

// Of a file, without its content. Nothing where it is no ordinary file.
std::optional<Origin> origin_of(const std::string& trace, double speed);

// The schedule that is kept of the trace; none where none is, where the trace is another now, where the file is damaged
// or not this user's own, or where others can write to it.
std::optional<Schedule> kept(const std::string& file, const std::string& trace, double speed);
// Keeps it. Where that fails, nothing is kept.
void keep(const std::string& file, const Schedule& schedule, const Origin& origin);

}  // namespace steelyard::whatif
