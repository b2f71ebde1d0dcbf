// Calls that found nothing (MPI_Test, MPI_Iprobe) until one found something: how long the rank waited in them.
//
// Between two of them a rank may compute, or wait just as well: in a short loop, or asleep. What is short is waiting;
// of what is longer the time without a processor is.
#pragma once
#include <time.h>

#include <cstdint>

#include "stream.h"

namespace steelyard::trace {

struct Polls {
  std::uint32_t count = 0;

  void add(Ticks from, Ticks to, Ticks patience) {
    if (count++ == 0)
      begin_ = from, cpu_ = processor_time();
    else
      add_gap(from, patience);
    calls_ += to - from;
    last_ = to;
  }
  // Returns the ticks of waiting until the call at `now`. `patience`: 1 ms; `alone`: no other thread called meanwhile.
  Ticks time_waited(Ticks now, Ticks patience, bool alone) {
    add_gap(now, patience);
    if (!longer_ || !alone) return calls_;
    const double ticks = static_cast<double>(patience) / 1e6;  // in a nanosecond
    const double used = static_cast<double>(processor_time() - cpu_) * ticks;
    const double without = static_cast<double>(now - begin_) - used;
    if (without <= 0) return calls_;
    return calls_ + (without < static_cast<double>(longer_) ? static_cast<Ticks>(without) : longer_);
  }

 private:
  static std::uint64_t processor_time() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
  }
  void add_gap(Ticks from, Ticks patience) {
    if (from <= last_) return;  // calls of several threads overlap
    const Ticks gap = from - last_;
    (gap < patience / SHORT ? calls_ : longer_) += gap;
  }

  static constexpr Ticks SHORT = 100;                    // of a millisecond: 10 us
  Ticks begin_ = 0, last_ = 0, calls_ = 0, longer_ = 0;  // longer_: gaps that may be computing
  std::uint64_t cpu_ = 0;
};

}  // namespace steelyard::trace
