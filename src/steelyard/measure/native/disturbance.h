// Disturbances of a measurement, read from the operating system around and inside every sample, without root.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"

namespace steelyard {

// A reading of the calling thread. It takes about 2 µs and lies outside the timed region.
class ThreadWatch {
 public:
  struct Reading {
    double waited = unknown;  // seconds runnable but not running, since the thread began
    long switches = 0;        // involuntary
    long faults = 0;          // pages, minor and major
  };

  Reading read();
};

// Accounts of the processors of a case and of the whole machine, which are read before and after the samples.
struct MachineReading {
  double at = seconds_of(CLOCK_MONOTONIC_RAW);
  double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double busy = unknown, steal = unknown, interrupt_time = unknown;  // seconds, sum over the processors in use
  std::vector<double> steals, interrupt_times;                       // seconds of each of these processors
  std::map<int, std::pair<double, double>> used_of;                  // busy and idle seconds of each, by its number
  double busy_all = unknown, processors = 0;                         // seconds of all processors, and their number
  double interrupts = unknown;                                       // a count, sum over the processors in use
  double throttled = unknown;                                        // see stopped_by_quotas

  explicit MachineReading(const std::set<int>& cpus);

 private:
  void read_stat(const std::set<int>& cpus);
  void read_interrupts(const std::set<int>& cpus);
};

// Returns the seconds, over all processors, for which quotas of our control group and of its parents stopped us, below
// the folder `top` ("": this system); unknown without a quota.
double stopped_by_quotas(const std::string& top);
// Returns the greatest difference between two accounts of a processor; unknown without accounts, or if one is missing.
double greatest_difference(const std::vector<double>& before, const std::vector<double>& after);
// Returns the least seconds for which a processor was busy; unknown if the processor was added or removed.
double least_busy(const MachineReading& before, const MachineReading& after, int cpu);
// Returns the greatest time of other processes on a processor. Our thread i, pinned to `cpus[i]`, ran for `own[i]`
// seconds. Unknown without a pinned thread. The time of our further threads does not count as that of others.
double greatest_other(const MachineReading& before, const MachineReading& after, const std::vector<int>& cpus,
                      const std::vector<double>& own);

}  // namespace steelyard
