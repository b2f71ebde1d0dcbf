// What ranks do at which time of a replay, in so many steps of time, and how long messages are on their way.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "schedule.h"

namespace steelyard::whatif {

class Activity {
 public:
  enum What : std::uint8_t { computing, talking };
  static constexpr int BINS = 10;  // of the time on the way, in each factor of ten; the first from 1 ns on

  // Rows of `together` ranks; `span` is the time of all steps.
  Activity(const Schedule& schedule, std::uint32_t together, std::size_t steps, Time span);
  void add(std::uint32_t stream, Time begin, Time end, What what);
  // A message that was given to the network has arrived so much later.
  void sent(Time time);
  // In JSON: shares of each step's time by row; of a rank with several streams all count.
  std::string said() const;

 private:
  const Schedule& schedule_;
  std::uint32_t together_;
  std::size_t steps_;
  double width_;
  std::vector<std::array<double, 2>> cells_;  // ps, by row and step
  std::vector<std::uint64_t> sent_;
};

}  // namespace steelyard::whatif
