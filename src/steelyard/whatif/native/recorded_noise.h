// Recorded noise: interruptions in a row, which repeat when the recording ends.
#pragma once
#include <algorithm>

#include "schedule.h"

namespace steelyard::whatif {

class RecordedNoise {
 public:
  // Reads a text with a start and a duration in ns on each line, sorted by time; '# length N' states the end.
  static RecordedNoise read(const std::string& path);

  Time length() const { return length_; }
  // Returns the end of work of this time that begins at `now`, for a rank whose recording began at `phase`.
  Time end(Time now, Time work, Time phase) const {
    if (work == 0) return now;
    Time in = (now - phase) % length_;
    if (in < 0) in += length_;
    const Time begin = in;
    const auto next = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), in) - starts_.begin());
    // Free time of the recording up to `in`, or where this lies within an interruption up to its begin.
    const Time free = next > 0 && in < starts_[next - 1] + durations_[next - 1] ? free_[next - 1]
                                                                                : in - (next > 0 ? lost_[next - 1] : 0);
    const Time whole = length_ - (lost_.empty() ? 0 : lost_.back());
    const Time wanted = free + work, rounds = (wanted - 1) / whole, rest = wanted - rounds * whole;
    const auto passed = static_cast<std::size_t>(std::lower_bound(free_.begin(), free_.end(), rest) - free_.begin());
    return now + rounds * length_ + rest + (passed > 0 ? lost_[passed - 1] : 0) - begin;
  }

 private:
  Time length_ = 0;
  std::vector<Time> starts_, durations_;
  std::vector<Time> free_, lost_;  // free time before each interruption; lost time up to the end of each
};

}  // namespace steelyard::whatif
