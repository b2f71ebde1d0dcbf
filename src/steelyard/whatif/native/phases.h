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
  std::vector<Time> waiting;  // by rank: the waits for a processor in all its phases

  // Returns the data of these regions.
  void keep(std::uint64_t from, std::uint64_t to) {
    if (from > 0) starts.clear();
    std::erase_if(interrupted, [&](const Interrupted& one) { return one.region < from || one.region > to; });
  }
};

using Counts = std::vector<std::vector<std::uint64_t>>;  // by row of ranks, then by bin

// Phases of similar length: a peak of their distribution.
struct Cluster {
  static constexpr int BINS = 40;  // of equal width, from the shortest to the longest phase
  Time least = LONGEST, most = 0;
  Time typical = 0;      // the median phase of the median rank
  Time limit = LONGEST;  // a longer phase is an outlier
  std::uint64_t count = 0, outliers = 0;
  double computing = 0;  // sum, ps
  Counts rows;

  Time width() const { return (most - least) / BINS + 1; }
};

// A phase is what a rank computes between two of its calls.
struct Phases {
  static constexpr int BINS = 10;  // of the overview, in each factor of ten from 1 ns on; shorter phases count there
  static constexpr double VALLEY = 0.1;  // of the lower one of two peaks: a deeper valley separates two clusters
  // A cluster that few ranks have, or with few phases against the next shorter one, is a part of that: its outliers.
  static constexpr double FEW = 0.05, FEW_RANKS = 0.5;
  // An outlier exceeds the typical phase by so many usual deviations, and by this share of it.
  static constexpr Time DEVIATIONS = 10;
  static constexpr double LEAST = 0.02;
  // What more than this share of the phases of a cluster exceed is no limit for outliers.
  static constexpr double MOST = 0.08;
  // With fewer phases there is no usual deviation: an outlier exceeds the longest phase of the median rank by a share.
  static constexpr std::uint64_t FEWEST = 20;
  static constexpr double LEAST_OF_FEW = 0.25;

  std::uint64_t count = 0, outliers = 0, explained = 0;  // explained: outliers that are none without their wait
  double computing = 0, waited = 0, outlying = 0;        // sums, ps: of many ranks they exceed a Time
  std::uint32_t outlying_ranks = 0;
  std::size_t first = 0;       // the lowest bin of the overview that has a phase
  std::uint32_t together = 1;  // neighbouring ranks that share a row
  Counts rows;
  std::vector<Cluster> clusters;  // the shortest phases first
};

Phases phases(const Schedule& schedule, const Measured& measured, std::uint32_t most_rows);
// In JSON.
std::string said(const Phases& phases);

}  // namespace steelyard::whatif
