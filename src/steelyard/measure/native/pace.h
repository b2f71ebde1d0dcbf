// The pace of cores and memory: their current speed, including the effect of other processes and guests.
#pragma once
#include <cstddef>
#include <vector>

#include "clock.h"
#include "params.h"

namespace steelyard {

// Pace of one thread, or of the slowest of several.
struct Pace {
  double core_clock = unknown;  // Hz
  double issued = unknown;      // additions per cycle
  double stream = unknown;      // bytes per second, read from beyond all caches
  double chase = unknown;       // seconds an access beyond all caches, each waiting for the one before
  double exchange = unknown;    // seconds of 8 bytes to another rank and back

  // The slower value of both, where both are known; otherwise the known one.
  void join(const Pace& other);
};

// Reads the pace of the core; takes about 30 µs. Of a core whose clock moves meanwhile only the clock is known.
Pace core_pace();

// Adds the memory's part; some 0.2 ms. What it reads was thrown out of all caches before, so that these lose no more
// than what lies in 1 MiB. Unknown where a program cannot throw lines out. The memory that it reads is the calling
// thread's own: first touched at its first call.
void add_memory_pace(Pace& pace);

// Functions by which the samplers read both.
inline constexpr double core_every = 2e-3;    // seconds between readings of the core: 1.2 % of them
inline constexpr double memory_every = 4e-2;  // and of the memory: 1.1 % with the sample after it that is not kept
inline constexpr double cold_matters = 1e-2;  // seconds of a sample: a longer one fills its caches in passing
inline constexpr std::size_t looked_at = 8;   // cores of a machine in one look: 0.1 ms

// The memory node of a processor; 0 if it is unknown.
int memory_node(int cpu);

// Limits of an undisturbed pace. A missing limit is not tested.
struct Bounds {
  double least_clock, least_issued, least_stream, most_chase;
  double patience;  // seconds, in all, to wait for it
  explicit Bounds(Params& p);
  void forget_memory();  // of a case whose arrays lie in private caches
};

// Which samples were undisturbed: those between readings that hold, before and after them. Their own times are never
// asked. statistics/validity/pace.py judges by the same rule what was recorded.
class Vigil {
 public:
  explicit Vigil(const Bounds& bounds) : bounds_(&bounds) {}
  void read(const Pace& pace);
  void sampled(double seconds);
  // In the order of time; those since the last reading are still taken for undisturbed.
  std::vector<double> undisturbed() const;
  std::size_t count() const { return spared_; }
  bool quiet() const { return clock_.holds && issued_.holds && stream_.holds && chase_.holds; }

 private:
  struct Kind {
    bool holds = true;      // the last reading that was taken
    std::size_t since = 0;  // samples before it
  };
  void note(Kind& kind, double reading, bool holds);

  const Bounds* bounds_;
  Kind clock_, issued_, stream_, chase_;
  std::vector<double> seconds_;
  std::vector<bool> disturbed_;
  std::size_t spared_ = 0;
};

}  // namespace steelyard
