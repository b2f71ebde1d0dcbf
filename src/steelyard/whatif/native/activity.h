// The activity of the ranks in each step of a replay's time, and the times of messages from sender to receiver.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "schedule.h"

namespace steelyard::whatif {

class Activity {
 public:
  enum What : std::uint8_t { computing, talking };
  static constexpr int BINS = 10;  // bins of the times of messages in each decade; the first begins at 1 ns

  // Rows of `together` ranks; `span` is the time of all steps.
  Activity(const Schedule& schedule, std::uint32_t together, std::size_t steps, Time span);
  void add(std::uint32_t stream, Time begin, Time end, What what) {
    add_of_rank(schedule_.rank_of[stream], begin, end, what);
  }
  void add_of_rank(std::uint32_t rank, Time begin, Time end, What what);
  // Adds a message that arrives this time after it was given to the network.
  void sent(Time time);
  // Returns JSON: shares of each step's time by row. All streams of a rank count.
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
