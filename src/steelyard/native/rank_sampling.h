// Times a kernel that many ranks carry out together: a common start, and a sample is what the slowest rank took.
#pragma once
#include <string>
#include <vector>

#include "common_clock.h"
#include "rank_kernel.h"
#include "sampling.h"

namespace steelyard {

// How the ranks of a sample begin: "barrier", the comparable way (a sample is the longest that a rank took), or
// "clock", at one moment of the common clock (from the first start to the last end).
struct Start {
  bool by_clock;
  explicit Start(Params& p, const char* otherwise)
      : by_clock(p.choice("start", otherwise, {"barrier", "clock"}) == "clock") {}
};

// Of one case, at rank 0: what all ranks together took, and what each of them saw.
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
