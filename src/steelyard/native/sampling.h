// Times a kernel: warm-up, then sample after sample until the median is known well enough or the time is up.
#pragma once
#include <string>
#include <vector>

#include "counters.h"
#include "disturbance.h"
#include "kernel.h"
#include "pace.h"

namespace steelyard {

// The parameters of the sampling; every kernel has them.
struct Sampling {
  double width;    // asked half-width of the median's 95 % interval, relative
  double seconds;  // the most time for the samples
  std::size_t least, most;
  double sample_seconds;  // the least length of a sample
  explicit Sampling(Params& p);
};

// A disturbance planted on purpose, by which the tool is tested (`steelyard selfcheck` and the contract of the
// kernels).
struct Plant {
  std::string kind;  // "none", "skip" (run nothing), "delay", "turns" (a delay in every other sample), "work", "clock",
                     // "faults", "slow" (one rank is slower by a share), "wrong" (one value of the result); and
                     // neighbours, which slow kernel and probes alike to a share: "shared" (on the core), "visits"
                     // (the same, every other 30 ms), "memory"
  double amount = 0;
  int rank = -1;  // of "slow"
  explicit Plant(Params& p);
};

// Why plant=wrong is refused for a kernel without corrupt().
inline constexpr const char* nothing_to_spoil = "plant='wrong': the kernel has no member that spoils its result";

// One timed repetition as its threads saw it.
struct Sample {
  double at, seconds, waited;
  long switches, faults;
  Pace pace;  // read after it
};

struct Measurement {
  std::size_t operations = 1;  // in each sample
  std::vector<Sample> samples;
  std::vector<double> clock_before, clock_after;  // Hz, one a thread
  Pace pace_before, pace_after;
  double began = 0;   // s since 1970, by the machine's own clock
  double waited = 0;  // s of `elapsed`: for a machine that is quiet
  double elapsed = 0, steal = unknown, other = unknown, machine_other = unknown, interrupt_time = unknown,
         interrupts = unknown, throttled = unknown;
  bool oversubscribed = false;
  Counts counters;
};

Measurement measure(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant,
                    const Bounds& bounds);

}  // namespace steelyard
