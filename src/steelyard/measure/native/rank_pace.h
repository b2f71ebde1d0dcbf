// The pace of the processors of the ranks. The ranks do not disturb each other's readings.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "pace.h"
#include "ranks.h"

namespace steelyard {

// A reading as an array of numbers, for messages between ranks.
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

// The reader of one rank. All ranks of the group must make the same calls.
class RankPace {
 public:
  RankPace(const Ranks& ranks, const Group& group) : group_(group), crowded_(ranks.oversubscribed()) {
    const int mine = ranks.rank(), node = memory_node(ranks.place(mine).cpu);
    for (int r : ranks.on_this_machine()) {
      if (!ranks.place(r).active) continue;
      place_ += r < mine;
      neighbours_ += 1;
      if (reads_memory_ && r < mine && memory_node(ranks.place(r).cpu) == node) reads_memory_ = false;
    }
  }

  // Reads every rank's core, one after the other on each machine: two ranks on one core would disturb each other. One
  // rank of each memory node reads the memory for all.
  Pace look() {
    Pace pace = core_by_turns(0, std::min(neighbours_, looked_at));
    if (reads_memory_) add_memory_pace(pace);
    slowest_.join(pace);
    return pace;
  }
  // Reads one rank's core on each machine, and another rank's core the next time.
  Pace read_next_rank() {
    Pace pace = core_by_turns(turn_++, 1);
    slowest_.join(pace);
    return pace;
  }
  // Returns the time for 8 bytes to a neighbouring rank and back: the median of the round trips in about a millisecond.
  void exchange(Pace& pace) const {
    int partner = group_.rank() ^ 1;
    if (crowded_ || partner >= group_.size()) return;
    bool first = group_.rank() < partner;
    for (int i = 0; i < 2; ++i) time_round_trips(partner, first);  // the first round trips may have to connect
    double count = 0;
    if (first) count = std::clamp(1e-3 / std::max(time_round_trips(partner, first), 1e-9), 3.0, 21.0);
    if (!first) time_round_trips(partner, first);
    count = exchange_number(partner, first, count);
    std::vector<double> seconds;
    for (int i = 0; i < static_cast<int>(count); ++i) seconds.push_back(time_round_trips(partner, first));
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
    if (first) pace.exchange = seconds[seconds.size() / 2];
  }
  // Returns the slowest of this rank's readings so far.
  const Pace& slowest() const { return slowest_; }

 private:
  // Lets `count` ranks of a machine, from `first` on, read one after the other in time slots after a common start. The
  // other ranks wait without MPI calls, which would load a core that they share.
  Pace core_by_turns(std::size_t first, std::size_t count) {
    constexpr double slot = 40e-6;
    const Clock& clock = Clock::get();
    if (crowded_) return {};
    group_.barrier();
    std::uint64_t begin = clock.ticks();
    auto until = [&](double seconds) {
      while (clock.seconds(clock.ticks() - begin) < seconds) relax();
    };
    Pace pace;
    std::size_t mine = (place_ + neighbours_ - first % neighbours_) % neighbours_;
    if (mine < count) {
      until(slot * static_cast<double>(mine));
      pace = core_pace();
    }
    until(slot * static_cast<double>(count));
    return pace;
  }
  double time_round_trips(int partner, bool first) const {
    const Clock& clock = Clock::get();
    std::uint64_t from = clock.ticks();
    exchange_number(partner, first, 0), exchange_number(partner, !first, 0);
    return clock.seconds(clock.ticks() - from);
  }
  // Sends one number from one rank to the other.
  double exchange_number(int partner, bool send, double number) const {
    MPI_Request request;
    if (send) MPI_Isend(&number, 1, MPI_DOUBLE, partner, 0, group_.comm(), &request);
    if (!send) MPI_Irecv(&number, 1, MPI_DOUBLE, partner, 0, group_.comm(), &request);
    complete(1, &request);
    return number;
  }

  const Group& group_;
  bool crowded_;  // ranks that take turns on a processor have no pace of their own
  bool reads_memory_ = true;
  std::size_t place_ = 0, neighbours_ = 0;  // place among the participating ranks of this machine, and their number
  std::size_t turn_ = 0;
  Pace slowest_;
};

}  // namespace steelyard
