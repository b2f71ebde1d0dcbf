// Disturbances of a measurement, read from the operating system around and inside every sample, without root.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<double> steals, interrupt_times;                       // seconds, of each of these
  std::map<int, std::pair<double, double>> used_of;                  // busy and idle seconds, by the number of each
  double busy_all = unknown, processors = 0;                         // seconds, over all processors; and their number
  double interrupts = unknown;                                       // a count, over the processors used
  double throttled = unknown;                                        // as stopped_by_quotas

  explicit MachineReading(const std::set<int>& cpus);

 private:
  void read_stat(const std::set<int>& cpus);
  void read_interrupts(const std::set<int>& cpus);
};

// Seconds, over all processors, for which quotas of our control group and of its parents stopped us, below the folder
// `top` ("": this system); unknown without a quota.
double stopped_by_quotas(const std::string& top);
// The greatest difference between two accounts of each processor; unknown without any, or if a processor came or went.
double greatest_difference(const std::vector<double>& before, const std::vector<double>& after);
// The least seconds for which a processor was busy; unknown if it came or went.
double least_busy(const MachineReading& before, const MachineReading& after, int cpu);
// The greatest time of other processes on one processor, if thread i of ours, pinned to `cpus[i]`, ran for `own[i]`
// seconds; unknown without a pinned thread. The time of further threads of ours is never another's.
double greatest_other(const MachineReading& before, const MachineReading& after, const std::vector<int>& cpus,
                      const std::vector<double>& own);

}  // namespace steelyard
