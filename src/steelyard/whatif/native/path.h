// The critical path of a replay without contention: what the last rank waited for, back to the begin.
#pragma once
#include <algorithm>

#include "schedule.h"

namespace steelyard::whatif {

// Where a stream was: the time, and how much of it was computing.
struct Place {
  std::uint32_t stream = 0;
  Time at = 0, computing = 0;
};

// What a path consists of, ps; `ranks` is the time that it spends on each.
struct Path {
  Time computing = 0, talking = 0, network = 0;
  std::uint64_t messages = 0;
  std::vector<Time> ranks;
};

// Records where messages begin and who waited for them, while ranks are replayed in any order.
class PathRecorder {
 public:
  PathRecorder(std::size_t messages, std::size_t meetings, std::size_t streams)
      : begun_(messages), met_(meetings), waits_(streams) {}

  void begins(std::uint32_t message, const Place& place) { begun_[message] = place; }
  void meets(std::uint32_t number, const Place& place, bool sender) {
    (sender ? met_[number].asked : met_[number].posted) = place;
  }
  // A stream waited until `place.at` for a message, or for the other side of one with rendezvous.
  void waited(const Place& place, std::uint32_t message) { waits_[place.stream].push_back({place, begun_[message]}); }
  // `latency` decides who of both was late: the one from whom the other's word had still to come.
  void waited_for_meeting(const Place& place, std::uint32_t number, Time latency) {
    const auto& [asked, posted] = met_[number];
    waits_[place.stream].push_back({place, asked.at + latency >= posted.at ? asked : posted});
  }

  Path path(const Schedule& schedule, Place end) {
    Path found;
    found.ranks.resize(schedule.ranks);
    for (;;) {
      auto& waits = waits_[end.stream];
      while (!waits.empty() && waits.back().until.at > end.at) waits.pop_back();
      const Place since = waits.empty() ? Place{end.stream, 0, 0} : waits.back().until;
      found.computing += end.computing - since.computing;
      found.talking += end.at - since.at - (end.computing - since.computing);
      found.ranks[schedule.rank_of[end.stream]] += end.at - since.at;
      if (waits.empty()) return found;
      end = waits.back().from;
      waits.pop_back();
      found.network += since.at - end.at;
      ++found.messages;
    }
  }

 private:
  struct Wait {
    Place until, from;
  };
  struct Met {
    Place asked, posted;
  };
  std::vector<Place> begun_;
  std::vector<Met> met_;
  std::vector<std::vector<Wait>> waits_;
};

}  // namespace steelyard::whatif
