// The pace of cores and memory: their current speed, including the effect of other processes and guests.
#pragma once
#include <cstddef>
#include <vector>

#include "clock.h"
#include "params.h"

namespace steelyard {

// The pace of one thread, or of the slowest of several threads.
struct Pace {
  double core_clock = unknown;  // Hz
  double issued = unknown;      // additions per cycle
  double stream = unknown;      // bytes per second, read from beyond all caches
  double chase = unknown;       // seconds per access beyond all caches, where each access waits for the one before
  double exchange = unknown;    // seconds to send 8 bytes to another rank and back

  // Keeps the slower value of both readings, or the only known one.
  void join(const Pace& other);
};

// Reads the pace of the core, in about 30 µs. If its clock changes during the reading, only the clock is known.
Pace core_pace();

// Adds the pace of the memory, in some 0.2 ms. The lines that it reads are flushed from the caches before, so it
// replaces no more than 1 MiB in them. Unknown if a program cannot flush lines. The memory belongs to the calling
// thread, which touches it at its first call.
void add_memory_pace(Pace& pace);

// The functions by which samplers read both paces.
inline constexpr double core_every = 2e-3;    // seconds between readings of the core: 1.2 % of them
inline constexpr double memory_every = 4e-2;  // of the memory: 1.1 % of the time, with the discarded sample
inline constexpr double cold_matters = 1e-2;  // seconds: a longer sample easily fills its caches again
inline constexpr std::size_t looked_at = 8;   // cores in one look at the machine: 0.1 ms

// Returns the memory node of a processor; 0 if it is unknown.
int memory_node(int cpu);

// The limits of an undisturbed pace. A limit that is missing is not tested.
struct Bounds {
  double least_clock, least_issued, least_stream, most_chase;
  double patience;  // seconds to wait for an undisturbed pace, in total
  explicit Bounds(Params& p);
  void forget_memory();  // for cases whose arrays lie in private caches
};

// Decides which samples were undisturbed: those with a good reading before and after them. Their own times do not
// matter. statistics/validity/pace.py applies the same rule to records.
class Vigil {
 public:
  explicit Vigil(const Bounds& bounds) : bounds_(&bounds) {}
  void read(const Pace& pace);
  void sampled(double seconds);
  // In the order of time. Samples since the last reading count as undisturbed for now.
  std::vector<double> undisturbed() const;
  std::size_t count() const { return spared_; }
  bool quiet() const { return clock_.holds && issued_.holds && stream_.holds && chase_.holds; }

 private:
  struct Kind {
    bool holds = true;      // whether the last reading was within the limits
    std::size_t since = 0;  // samples since the reading before
  };
  void note(Kind& kind, double reading, bool holds);

  const Bounds* bounds_;
  Kind clock_, issued_, stream_, chase_;
  std::vector<double> seconds_;
  std::vector<bool> disturbed_;
  std::size_t spared_ = 0;
};

}  // namespace steelyard
