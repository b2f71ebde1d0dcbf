// The critical path of a replay without contention: the chain of waits that ends with the last rank.
#pragma once
#include <algorithm>

#include "schedule.h"

namespace steelyard::whatif {

// A point in a stream: the time, and the computing time up to it.
struct Place {
  std::uint32_t stream = 0;
  Time at = 0, computing = 0;
};

// The parts of a path, in ps; `ranks` is the time on each rank.
struct Path {
  Time computing = 0, talking = 0, network = 0;
  std::uint64_t messages = 0;
  std::vector<Time> ranks;
  std::vector<bool> visited;  // by rank: a rank that only passes a message on needs no time
};

// Records where messages begin and who waited for them, while ranks are replayed in any order.
class PathRecorder {
 public:
  PathRecorder(std::size_t messages, std::size_t meetings, std::size_t streams)
      : begun_(messages), met_(meetings), waits_(streams) {}

  void begins(std::uint32_t message, const Place& place) { begun_[message] = place; }
  void note_meeting(std::uint32_t number, const Place& place, bool sender) {
    (sender ? met_[number].asked : met_[number].posted) = place;
  }
  // Records that a stream waited until `place.at` for a message, or for the other side of a rendezvous.
  void waited(const Place& place, std::uint32_t message) {
    waits_[place.stream].push_back({place.at, place.computing, message, Wait::message});
  }
  // `latency` decides which of both was late: the side whose message had not yet arrived at the other one.
  void waited_for_meeting(const Place& place, std::uint32_t number, Time latency) {
    const auto& [asked, posted] = met_[number];
    const auto late = asked.at + latency >= posted.at ? Wait::asked : Wait::posted;
    waits_[place.stream].push_back({place.at, place.computing, number, late});
  }

  Path path(const Schedule& schedule, Place end) {
    Path found;
    found.ranks.resize(schedule.ranks);
    found.visited.resize(schedule.ranks);
    for (;;) {
      auto& waits = waits_[end.stream];
      while (!waits.empty() && waits.back().at > end.at) waits.pop_back();
      const Place since =
          waits.empty() ? Place{end.stream, 0, 0} : Place{end.stream, waits.back().at, waits.back().computing};
      found.computing += end.computing - since.computing;
      found.talking += end.at - since.at - (end.computing - since.computing);
      found.ranks[schedule.rank_of[end.stream]] += end.at - since.at;
      found.visited[schedule.rank_of[end.stream]] = true;
      if (waits.empty()) return found;
      end = from(waits.back());
      waits.pop_back();
      found.network += since.at - end.at;
      ++found.messages;
    }
  }

 private:
  // The end of a wait of a stream, and its message: there may be one for each message.
  struct Wait {
    Time at, computing;
    std::uint32_t number;
    enum : std::uint8_t { message, asked, posted } what;
  };
  struct Met {
    Place asked, posted;
  };
  const Place& from(const Wait& wait) const {
    return wait.what == Wait::message ? begun_[wait.number]
           : wait.what == Wait::asked ? met_[wait.number].asked
                                      : met_[wait.number].posted;
  }
  std::vector<Place> begun_;
  std::vector<Met> met_;
  std::vector<std::vector<Wait>> waits_;
};

}  // namespace steelyard::whatif
