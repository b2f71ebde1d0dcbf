// Calibrates the clock, and measures the core by chains of additions.
#include "clock.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace steelyard {

Clock::Clock() {
  counter_ = has_steady_counter();
  if (counter_) calibrate();
  // About 0.5 ms: long enough for the smallest step to turn up. The median of many short series, since a process that
  // loses its processor in the middle of a long one would take that for the cost of reading.
  constexpr std::size_t series = 199, readings = 100;
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::array<std::uint64_t, series> costs{};
  for (std::uint64_t& cost : costs) {
    std::uint64_t first = ticks(), last = first;
    for (std::size_t i = 0; i < readings; ++i) {
      std::uint64_t now = ticks();
      if (now > last) smallest = std::min(smallest, now - last);
      last = now;
    }
    cost = last - first;
  }
  std::nth_element(costs.begin(), costs.begin() + series / 2, costs.end());
  resolution_ = seconds(smallest);
  overhead_ = seconds(costs[series / 2]) / readings;
}

// A counter that stops or changes its pace with the core's clock is no clock.
bool Clock::has_steady_counter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));  // "invariant TSC"
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

// Both clocks read at one moment: of several tries the one with the least time between its two outer readings.
Clock::Pair Clock::read_both() const {
  Pair best{0, 0, std::numeric_limits<std::uint64_t>::max()};
  for (int i = 0; i < 20; ++i) {
    std::uint64_t before = monotonic_nanoseconds(), t = ticks(), after = monotonic_nanoseconds();
    if (after - before < best.gap) best = {t, before + (after - before) / 2, after - before};
  }
  return best;
}
// 25 ms at an uncertainty of some 50 ns a reading: 4 parts in a million.
void Clock::calibrate() {
  Pair a = read_both(), b;
  do b = read_both();
  while (b.nanoseconds - a.nanoseconds < 25'000'000);
  frequency_ = static_cast<double>(b.ticks - a.ticks) * 1e9 / static_cast<double>(b.nanoseconds - a.nanoseconds);
}

// A chain of dependent register additions takes one cycle each on every
// processor of the last twenty years. (Additions of a constant will not do: Golden Cove removes them at renaming.)
double core_clock(std::uint64_t cycles, int tries) {
#if defined(__x86_64__) || defined(__aarch64__)
  const Clock& clock = Clock::get();
  double fastest = 0;
  constexpr std::uint64_t block = 128;
  for (int t = 0; t < tries; ++t) {
    std::uint64_t x = 1, step = 3, rounds = cycles / block, start = clock.ticks();
    for (std::uint64_t i = 0; i < rounds; ++i) {
#if defined(__x86_64__)
      asm volatile(".rept 128\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(step) : "cc");
#else
      asm volatile(".rept 128\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(step));
#endif
    }
    double seconds = clock.seconds(clock.ticks() - start) - clock.overhead();
    // Interruptions only ever lengthen a try, so that the fastest is the nearest to the truth.
    if (seconds > 0) fastest = std::max(fastest, static_cast<double>(rounds * block) / seconds);
  }
  return fastest;
#else
  (void)cycles, (void)tries;
  return unknown;
#endif
}

double issue_rate() {
#if defined(__x86_64__)
  constexpr std::uint64_t rounds = 48, block = 32, chains = 6;  // some 2 µs a try
  const Clock& clock = Clock::get();
  // The median of several: the best would be what a neighbour leaves in his pauses, which are as short as a try.
  std::array<double, 7> rates{};
  for (double& rate : rates) {
    std::uint64_t a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, step = 3, start = clock.ticks();
    for (std::uint64_t i = 0; i < rounds; ++i)
      asm volatile(
          ".rept 32\n\tadd %6, %0\n\tadd %6, %1\n\tadd %6, %2\n\tadd %6, %3\n\tadd %6, %4\n\tadd %6, %5\n\t.endr"
          : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f)
          : "r"(step)
          : "cc");
    double seconds = clock.seconds(clock.ticks() - start) - clock.overhead();
    if (seconds > 0) rate = static_cast<double>(rounds * block * chains) / seconds;
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
#else
  return unknown;
#endif
}

}  // namespace steelyard
