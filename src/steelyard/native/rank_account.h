// Accounts of each rank of a case, which rank 0 combines into one measurement.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "rank_sampling.h"

namespace steelyard {

// One rank's view of one sample.
struct RankView {
  double start, end, seconds, waited, switches, faults;  // start and end by the common clock
  Pace pace;                                             // read after it
};

// One sample of several ranks.
struct Extent {
  double first = INFINITY, last = -INFINITY, longest = 0;
  void add(double start, double end, double seconds) {
    first = std::min(first, start), last = std::max(last, end), longest = std::max(longest, seconds);
  }
  double seconds(const Start& start) const { return start.by_clock ? last - first : longest; }
};

// One rank's account of a case.
struct RankAccount {
  Measurement own;
  std::vector<RankView> views;
  Pace slowest;
  double began = 0;  // own.began by the common clock
  long late = 0;     // samples that it began after the agreed moment
};

// At rank 0 the measurement of all ranks, with the accounts of each machine once (its readings before and after the
// samples); elsewhere nothing. All ranks call it.
RankMeasurement joined(const RankAccount& mine, const MachineReading& before, const MachineReading& after,
                       const Ranks& ranks, const Start& start);

}  // namespace steelyard
