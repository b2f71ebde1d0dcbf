// Times a kernel of many ranks with a common start. A sample is the time of the slowest rank.
#pragma once
#include <string>
#include <vector>

#include "common_clock.h"
#include "rank_kernel.h"
#include "sampling.h"

namespace steelyard {

// The start of a sample: "barrier", which is comparable with others (a sample is the longest time of a rank), or
// "clock", at one moment of the common clock (from the first start to the last end).
struct Start {
  bool by_clock;
  explicit Start(Params& p, const char* otherwise)
      : by_clock(p.choice("start", otherwise, {"barrier", "clock"}) == "clock") {}
};

// Measurement of one case at rank 0: the time of all ranks together, and the account of each.
struct RankMeasurement {
  Measurement whole;
  std::vector<std::vector<double>> seconds;  // of each rank, each sample; empty for one that took no part
  std::vector<double> waited;                // of each rank, s in all: that it could have run and was not let
  std::vector<Pace> pace;                    // of each rank, at its slowest
  long late = 0;                             // samples in which a rank came after the agreed moment
};

RankMeasurement measure(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
                        const Plant& plant, const Bounds& bounds, const Start& start, bool active);

}  // namespace steelyard
