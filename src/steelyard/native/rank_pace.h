// The pace of the processors of the ranks. The ranks do not disturb each other's readings.
#pragma once
#include <cstddef>
#include <cstring>
#include <vector>

#include "pace.h"
#include "ranks.h"

namespace steelyard {

// A reading among numbers that ranks send each other.
inline constexpr std::size_t pace_numbers = sizeof(Pace) / sizeof(double);
inline void append(std::vector<double>& numbers, const Pace& pace) {
  numbers.resize(numbers.size() + pace_numbers);
  std::memcpy(&numbers[numbers.size() - pace_numbers], &pace, sizeof pace);
}
inline Pace pace_at(const double* numbers) {
  Pace pace;
  std::memcpy(static_cast<void*>(&pace), numbers, sizeof pace);
  return pace;
}

// One rank's part. All ranks of the group must make the same calls.
class RankPace {
 public:
  RankPace(const Ranks& ranks, const Group& group);

  // Every rank's core, one after the other on each machine: two that share a core would take each other for a
  // neighbour. One rank of each memory node reads the memory for all.
  Pace look();
  // Reads one rank's core on each machine, and another rank's core the next time.
  Pace look_in_turn();
  // 8 bytes there and back between neighbouring ranks, the median of as many as fit into a millisecond.
  void exchange(Pace& pace) const;
  // Of this rank's readings so far.
  const Pace& slowest() const { return slowest_; }

 private:
  Pace core_by_turns(std::size_t first, std::size_t count);
  double there_and_back(int partner, bool first) const;
  double agreed(int partner, bool send, double number) const;

  const Group& group_;
  bool crowded_;  // ranks that share a processor by turns have no pace of their own
  bool reads_memory_ = true;
  std::size_t place_ = 0, neighbours_ = 0;  // among those that take part on this machine; and how many these are
  std::size_t turn_ = 0;
  Pace slowest_;
};

}  // namespace steelyard
