// Parts of both modes of replay: connections, and the sentence about a rank that waits forever.
#include "dataflow.h"

#include <unordered_map>

namespace steelyard::whatif {

Connections connections(const Schedule& schedule) {
  Connections found;
  found.of.resize(schedule.source.size());
  std::unordered_map<std::uint32_t, std::uint32_t> known;  // of one source, by target
  for (std::size_t message = 0; message < schedule.source.size(); ++message) {
    if (message > 0 && schedule.source[message] != schedule.source[message - 1]) known.clear();
    const auto [at, added] = known.try_emplace(schedule.target[message], found.count);
    found.count += added;
    found.of[message] = at->second;
  }
  return found;
}

std::string stuck(const Prepared& prepared, std::uint32_t stream, Op op) {
  const Schedule& schedule = *prepared.schedule;
  auto rank = [](std::uint32_t number) { return "rank " + std::to_string(number); };
  const std::string who = rank(schedule.rank_of[stream]) + " waits forever: ";
  switch (op.kind()) {
    case Kind::receive:
      return who + "for a message of " + rank(schedule.source[op.message()]);
    case Kind::receive_rendezvous:
      return who + "for a message of " + rank(prepared.source[op.message()]);
    case Kind::sent:
      return who + "its message to " + rank(prepared.target[op.message()]) +
             " is larger than the eager limit, and its receive never begins";
    case Kind::receive_all:
      return who + "for one of several messages";
    default:
      return who + "for another processor of its own";
  }
}

}  // namespace steelyard::whatif
