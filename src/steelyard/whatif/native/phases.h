// The computing phases of a trace, counted by rank and length, with the causes of long ones.
#pragma once
#include <string>
#include <vector>

#include "schedule.h"

namespace steelyard::whatif {

// A phase in which a rank waited for a processor. Some of the wait may lie in short calls before it.
struct Interrupted {
  std::uint32_t rank;
  std::uint64_t region;
  Time time, waited;
};
// Further data about phases in a trace of ours.
struct Measured {
  std::vector<Time> starts;  // by rank: the part of its first phase before the rank began
  std::vector<Interrupted> interrupted;

  // Returns the data of these regions.
  void keep(std::uint64_t from, std::uint64_t to) {
    if (from > 0) starts.clear();
    std::erase_if(interrupted, [&](const Interrupted& one) { return one.region < from || one.region > to; });
  }
};

// A phase is what a rank computes between two of its calls. An outlier falls into a longer bin than the longest phase
// of the median rank does (of an even number the lower one).
struct Phases {
  static constexpr int BINS = 10;  // in each factor of ten, the first from 1 ns on; shorter phases count there
  std::uint64_t count = 0, outliers = 0, explained = 0;  // explained: outliers that are none without their wait
  double computing = 0, waited = 0, outlying = 0;        // sums, ps: of many ranks they exceed a Time
  std::uint32_t outlying_ranks = 0;
  std::size_t first = 0, limit = 0;  // the lowest bin that has a phase; the first bin of outliers
  std::uint32_t together = 1;        // neighbouring ranks that share a row
  std::vector<std::vector<std::uint64_t>> rows;
};

Phases phases(const Schedule& schedule, const Measured& measured, std::uint32_t most_rows);
// In JSON.
std::string said(const Phases& phases);

}  // namespace steelyard::whatif
