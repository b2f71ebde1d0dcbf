// A rank's team, where a program's ranks have threads.
#pragma once
#include "ranks.h"

namespace steelyard {

// Its own thread and, where more are asked for, some on the processors that follow.
inline std::unique_ptr<Team> team_of(const Ranks& ranks, std::size_t threads) {
  if (threads < 1 || threads > 1024)
    throw CaseError(join({"threads='", threads, "' of each rank must be from 1 to 1024"}));
  std::vector<int> cpus;
  const std::size_t first = static_cast<std::size_t>(ranks.place(ranks.rank()).local) * threads;
  for (std::size_t i = 0; threads > 1 && i < threads; ++i)
    cpus.push_back(ranks.processors()[(first + i) % ranks.processors().size()]);
  return std::make_unique<Team>(threads, cpus);
}

}  // namespace steelyard
