// Times a kernel: warm-up, then sample after sample until the median is known well enough or the time is up.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
  Sampling(Params& p, double usual_length);

  // Returns whether the sampling must end because its time or its number of samples is used up.
  bool spent(const Vigil& vigil, std::size_t taken, double elapsed, bool patient) const;
  // The length of a sample by which the clock's error is below 0.1 % of it and it is not too short to watch.
  double wanted_seconds() const;
};

inline constexpr double longer = 1.2;  // than wanted: a chosen sample, on average

// So many operations that one sample of them takes `wanted` seconds; `took(n)` takes one of n and returns its seconds.
// The first one warms up: it is the first use of code and data.
template <class Took>
std::size_t calibrated(double wanted, Took took) {
  constexpr double longest_interruption = 0.05;  // seconds: some turns of another process
  constexpr double least = 1e-9;
  took(1);
  for (std::size_t operations = 1;;) {
    double seconds = std::max(took(operations), least);
    // An interruption should not pass for a long operation: a length that one could have has to show twice alike.
    for (int again = 0; again < 8 && seconds >= wanted && seconds < longest_interruption; ++again) {
      double second = std::max(took(operations), least), ratio = second / seconds;
      seconds = std::min(seconds, second);
      if (ratio > 0.8 && ratio < 1.25) break;
    }
    if (seconds >= wanted || operations > (std::size_t{1} << 40)) return operations;
    double factor = std::min(100.0, longer * wanted / seconds);
    operations = std::max(operations + 1, static_cast<std::size_t>(static_cast<double>(operations) * factor));
  }
}

// Whether most samples are much shorter than wanted. The calibration can take turns of another process, which are
// alike, for a long operation; the samples show it as soon as that process is gone.
class Lengths {
 public:
  explicit Lengths(double wanted) : wanted_(wanted) {}
  void add(double seconds) {
    ++count_;
    if (seconds >= wanted_ / 2) return;
    ++short_;
    shortest_ = std::min(shortest_, std::max(seconds, 1e-9));
  }
  bool too_short() const { return count_ >= 3 && 2 * short_ > count_; }
  // Returns the number of operations with which the shortest sample would have been long enough.
  std::size_t enough(std::size_t operations) const {
    return static_cast<std::size_t>(std::ceil(longer * wanted_ / shortest_ * static_cast<double>(operations)));
  }

 private:
  double wanted_, shortest_ = wanted_;
  std::size_t count_ = 0, short_ = 0;
};

// A disturbance planted on purpose, by which the tool is tested (`steelyard selfcheck` and the contract of the
// kernels).
struct Plant {
  std::string
      kind;  // "none", "skip" (run nothing), "delay", "turns" (a delay in every other sample), "work", "clock",
             // "faults", "slow" (one rank is slower by a share), "wrong" (one value of the result), "unread" (what the
             // core issues is not known in every other look); and
             // neighbours, which slow kernel and probes alike to a share: "shared" (on the core), "visits"
             // (the same, every other 30 ms), "memory"
  double amount = 0;
  int rank = -1;  // of "slow"
  explicit Plant(Params& p);
  // Extra work comes in whole operations: a sample must hold enough of them for its share to make one.
  std::size_t enough(std::size_t operations) const;
};

// One timed repetition, with the times of its threads.
struct Sample {
  double at, seconds, waited;  // at: s after Measurement::began
  long switches, faults;
  Pace pace;  // read after it
};

inline constexpr std::uint64_t long_chain = 100'000;  // cycles of the chain that measures the clock: some 30 µs

// The reading at the end of a wait, before the sample of that number.
struct Look {
  std::size_t sample;
  Pace pace;
};

struct Measurement {
  std::size_t operations = 1;  // in each sample
  std::vector<Sample> samples;
  std::vector<double> clock_before, clock_after;  // Hz, one a thread
  Pace pace_before, pace_after;
  std::vector<Look> looks;  // the last two of each wait: as many as decide about the samples after it
  double began = 0;         // s since 1970, by the machine's own clock, when the first sample was due
  double ended = 0;         // and when the last one was done
  double monotonic = 0;     // s, what CLOCK_MONOTONIC said when `began` was read
  double waited = 0;        // s of `elapsed`: for a machine that is quiet
  double elapsed = 0, steal = unknown, other = unknown, machine_other = unknown, interrupt_time = unknown,
         interrupts = unknown, throttled = unknown;
  // `processors` are those that the accounts cover. `most_steal`, `most_interrupts` and `most_other` are the times of
  // the processor that lost most. `machine_processors` are those that `machine_other` covers.
  double processors = unknown, most_steal = unknown, most_interrupts = unknown, most_other = unknown,
         machine_processors = unknown;
  bool oversubscribed = false;
  Counts counters;
};

Measurement measure(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant,
                    const Bounds& bounds);

}  // namespace steelyard
