// Recorded noise: interruptions in a row, which repeat when the recording ends.
#pragma once
#include <algorithm>

#include "schedule.h"
#include "text.h"

namespace steelyard::whatif {

class RecordedNoise {
 public:
  // Reads a text with a start and a duration in ns on each line, sorted by time; '# length N' states the end.
  static RecordedNoise read(const std::string& path) {
    const std::string text = contents(path);
    RecordedNoise found;
    Time end = 0, lost = 0;
    constexpr std::string_view LENGTH = "# length ";
    if (text.starts_with(LENGTH)) {
      const auto stop = std::min(text.find('\n'), text.size());
      std::from_chars(text.data() + LENGTH.size(), text.data() + stop, found.length_);
      if (found.length_ < 0 || found.length_ > LONGEST / NANOSECOND)
        throw Refused(path + ", line 1: a length lies between 0 and 26 days");
      found.length_ *= NANOSECOND;
    }
    for (Lines lines(path, text); lines.next();) {
      const auto start = lines.number<std::int64_t>(0, "time in ns"),
                 duration = lines.number<std::int64_t>(1, "time in ns");
      if (start < 0 || duration < 0 || start > LONGEST / NANOSECOND || duration > LONGEST / NANOSECOND)
        lines.refuse("times lie between 0 and 26 days");
      if (start * NANOSECOND < end) lines.refuse("an interruption begins before the one above it has ended");
      if (duration == 0) continue;
      found.starts_.push_back(start * NANOSECOND);
      found.durations_.push_back(duration * NANOSECOND);
      found.free_.push_back(start * NANOSECOND - lost);
      lost += duration * NANOSECOND;
      found.lost_.push_back(lost);
      end = (start + duration) * NANOSECOND;
    }
    found.length_ = std::max(found.length_, end);
    if (found.length_ <= lost) throw Refused(path + ": the recorded noise leaves no time for work");
    return found;
  }

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
