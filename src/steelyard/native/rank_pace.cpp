// Reads the pace of ranks: by time slots on a machine, by messages between neighbours.
#include "rank_pace.h"

#include <algorithm>
#include <cstdint>

namespace steelyard {

RankPace::RankPace(const Ranks& ranks, const Group& group) : group_(group), crowded_(ranks.oversubscribed()) {
  const int mine = ranks.rank(), node = memory_node(ranks.place(mine).cpu);
  for (int r = 0; r < ranks.size(); ++r) {
    if (!ranks.place(r).active || !ranks.same_machine(r, mine)) continue;
    place_ += r < mine;
    neighbours_ += 1;
    if (r < mine && memory_node(ranks.place(r).cpu) == node) reads_memory_ = false;
  }
}

Pace RankPace::look() {
  Pace pace = core_by_turns(0, std::min(neighbours_, looked_at));
  if (reads_memory_) add_memory_pace(pace);
  slowest_.join(pace);
  return pace;
}

Pace RankPace::look_in_turn() {
  Pace pace = core_by_turns(turn_++, 1);
  slowest_.join(pace);
  return pace;
}

// Those `count` ranks of a machine from the `first` one on, each in a time slot of its own after a common start; the
// others wait without asking MPI for anything, which would take much of a core that they share.
Pace RankPace::core_by_turns(std::size_t first, std::size_t count) {
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

void RankPace::exchange(Pace& pace) const {
  int partner = group_.rank() ^ 1;
  if (crowded_ || partner >= group_.size()) return;
  bool first = group_.rank() < partner;
  for (int i = 0; i < 2; ++i) there_and_back(partner, first);  // the first ones may have to connect
  double count = 0;
  if (first) count = std::clamp(1e-3 / std::max(there_and_back(partner, first), 1e-9), 3.0, 21.0);
  if (!first) there_and_back(partner, first);
  count = agreed(partner, first, count);
  std::vector<double> seconds;
  for (int i = 0; i < static_cast<int>(count); ++i) seconds.push_back(there_and_back(partner, first));
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
  if (first) pace.exchange = seconds[seconds.size() / 2];
}

double RankPace::there_and_back(int partner, bool first) const {
  const Clock& clock = Clock::get();
  std::uint64_t from = clock.ticks();
  agreed(partner, first, 0), agreed(partner, !first, 0);
  return clock.seconds(clock.ticks() - from);
}

// One number from the one to the other.
double RankPace::agreed(int partner, bool send, double number) const {
  MPI_Request request;
  if (send) MPI_Isend(&number, 1, MPI_DOUBLE, partner, 0, group_.comm(), &request);
  if (!send) MPI_Irecv(&number, 1, MPI_DOUBLE, partner, 0, group_.comm(), &request);
  complete(1, &request);
  return number;
}

}  // namespace steelyard
