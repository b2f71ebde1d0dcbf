// Reads recorded noise.
#include "recorded_noise.h"

#include "text.h"

namespace steelyard::whatif {

RecordedNoise RecordedNoise::read(const std::string& path) {
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

}  // namespace steelyard::whatif
