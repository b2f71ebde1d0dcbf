// The cached schedule of a text, so that the text is not parsed again.
#pragma once
#include <optional>
#include <string>

#include "digest.h"
#include "schedule.h"

namespace steelyard::whatif {

// The origin of a cached schedule: the state of the file, and the speed that converts its work to times.
struct Origin {
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;  // of the file, and of its last change
  double speed = 0;
  Digest::Value content{};
  bool operator==(const Origin&) const = default;
};

// Returns the origin of a file, without its content; nothing if it is not an ordinary file.
std::optional<Origin> origin_of(const std::string& trace, double speed);

// Returns the cached schedule of the trace; none if there is none, if the trace has changed, or if the entry is
// damaged, belongs to another user, or can be written by others.
std::optional<Schedule> kept(const std::string& file, const std::string& trace, double speed);
// Stores the schedule; if that fails, nothing is stored.
void keep(const std::string& file, const Schedule& schedule, const Origin& origin);

}  // namespace steelyard::whatif
