// Disturbances of a measurement, read from the operating system around and inside every sample, without root.
#pragma once
#include <set>

#include "clock.h"

namespace steelyard {

// Reading of the calling thread; takes about 2 µs, outside the timed region.
class ThreadWatch {
 public:
  struct Reading {
    double waited = unknown;  // seconds runnable but not running, since the thread began
    long switches = 0;        // involuntary
    long faults = 0;          // pages, minor and major
  };

  Reading read();
};

// Accounts of the processors of a case and of the whole machine, read around the samples.
struct MachineReading {
  double at = seconds_of(CLOCK_MONOTONIC_RAW);
  double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double busy = unknown, steal = unknown, interrupt_time = unknown;  // seconds, over the processors used
  double busy_all = unknown;                                         // seconds, over all processors
  double interrupts = unknown;                                       // a count, over the processors used
  double throttled = unknown;                                        // seconds, of our control group

  explicit MachineReading(const std::set<int>& cpus);

 private:
  void read_stat(const std::set<int>& cpus);
  void read_interrupts(const std::set<int>& cpus);
  void read_throttling();
};

}  // namespace steelyard
