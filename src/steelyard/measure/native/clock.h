// Clocks: the finest clock of the machine with its measured resolution and cost, and the true clock of the core.
#pragma once
#include <time.h>

#include <cstdint>
#include <limits>

namespace steelyard {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Returns the time of a clock of the operating system, in seconds.
inline double seconds_of(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline std::uint64_t monotonic_nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);  // RAW: a time server does not change its rate while we measure
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

class Clock {
 public:
  // Returns the one clock of the process, which is calibrated at its first use (about 30 ms).
  static const Clock& get() {
    static const Clock clock;
    return clock;
  }

  // Fences keep the timed instructions between the two readings; no call may come between them and the clock.
  [[gnu::always_inline]] std::uint64_t ticks() const {
#if defined(__x86_64__)
    if (counter_) {
      __builtin_ia32_lfence();
      std::uint64_t t = __builtin_ia32_rdtsc();
      __builtin_ia32_lfence();
      return t;
    }
#elif defined(__aarch64__)
    std::uint64_t t;
    asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(t)::"memory");
    return t;
#endif
    return monotonic_nanoseconds();
  }
  double seconds(std::uint64_t difference) const { return static_cast<double>(difference) / frequency_; }

  const char* source() const { return counter_ ? "time-stamp counter" : "monotonic"; }
  double frequency() const { return frequency_; }    // ticks per second
  double resolution() const { return resolution_; }  // seconds: the smallest step ever observed between two readings
  double overhead() const { return overhead_; }      // seconds: the median cost of one reading

 private:
  Clock();
  static bool has_steady_counter();
  struct Pair {
    std::uint64_t ticks, nanoseconds, gap;
  };
  Pair read_both() const;
  void calibrate();

  bool counter_ = false;
  double frequency_ = 1e9, resolution_ = 0, overhead_ = 0;
};

// Returns the true clock of the core in hertz: the fastest of several attempts of about `cycles` cycles. NaN: it cannot
// be measured.
double core_clock(std::uint64_t cycles, int tries);

// Returns the additions per second of an undisturbed core. Divided by the core clock this is the width of its pipes
// (4 to 6). It is about half while another hardware thread of the core works: in a virtual machine this is the only
// sign of another guest on the core, because no account shows it.
double issue_rate();

}  // namespace steelyard
