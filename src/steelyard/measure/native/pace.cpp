// Reads the pace of cores and memory, and says whether it is within bounds.
#include "pace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace steelyard {
namespace {

constexpr std::uint64_t short_chain = 12'800;  // cycles: some 4 µs

double lower(double a, double b) { return std::isnan(a) || b < a ? b : a; }
double higher(double a, double b) { return std::isnan(a) || b > a ? b : a; }

#if defined(__x86_64__)
constexpr bool can_flush = true;
inline void flush(const void* line) { __builtin_ia32_clflush(line); }
inline void wait_for_flush() { __builtin_ia32_mfence(); }
#elif defined(__aarch64__)
constexpr bool can_flush = true;
inline void flush(const void* line) { asm volatile("dc civac, %0" ::"r"(line) : "memory"); }
inline void wait_for_flush() { asm volatile("dsb sy" ::: "memory"); }
#else
constexpr bool can_flush = false;
inline void flush(const void*) {}
inline void wait_for_flush() {}
#endif

// A stretch that is read in order, and behind it a ring of lines, each naming the next, in an order that no prefetcher
// guesses.
class MemoryProbe {
 public:
  MemoryProbe() {
    void* found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return;
    memory_ = static_cast<char*>(found);
    madvise(memory_, bytes, MADV_HUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += 4096) memory_[at] = 1;
    make_ring();
  }
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;
  ~MemoryProbe() {
    if (memory_) munmap(memory_, bytes);
  }

  void read(Pace& pace) {
    if (!memory_ || !can_flush) return;
    // Interruptions only ever lengthen a try.
    for (int tries = 0; tries < 2; ++tries) {
      evict_from_caches();
      pace.stream = higher(pace.stream, static_cast<double>(stretch) / measure_bandwidth());
      pace.chase = lower(pace.chase, measure_latency() / links);
    }
  }

 private:
  static constexpr std::size_t bytes = 8u << 20, stretch = 1u << 20, ring_at = 4u << 20, line = 64, links = 64;

  void make_ring() {
    std::uint32_t chance = 1;  // xorshift: any order will do, as long as it is the same on every machine
    auto below = [&](std::uint32_t n) {
      chance ^= chance << 13, chance ^= chance >> 17, chance ^= chance << 5;
      return chance % n;
    };
    constexpr std::size_t apart = (bytes - ring_at) / links;
    for (std::size_t i = 0; i < links; ++i) ring_[i] = memory_ + ring_at + i * apart + below(apart / line) * line;
    for (std::size_t i = links - 1; i > 0; --i) std::swap(ring_[i], ring_[below(static_cast<std::uint32_t>(i + 1))]);
    for (std::size_t i = 0; i < links; ++i) *reinterpret_cast<char**>(ring_[i]) = ring_[(i + 1) % links];
  }
  void evict_from_caches() const {
    for (std::size_t at = 0; at < stretch; at += line) flush(memory_ + at);
    for (const char* link : ring_) flush(link);
    wait_for_flush();
  }
  double measure_bandwidth() const {
    const Clock& clock = Clock::get();
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory_);
    std::uint64_t start = clock.ticks(), a = 0, b = 0, c = 0, d = 0;
    for (std::size_t i = 0; i < stretch / sizeof *words; i += 8)
      a += words[i], b += words[i + 2], c += words[i + 4], d += words[i + 6];
    asm volatile("" ::"r"(a + b + c + d));
    return clock.seconds(clock.ticks() - start);
  }
  double measure_latency() const {
    const Clock& clock = Clock::get();
    char* at = ring_[0];
    std::uint64_t start = clock.ticks();
    for (std::size_t i = 0; i < links; ++i) at = *reinterpret_cast<char**>(at);
    asm volatile("" ::"r"(at));
    return clock.seconds(clock.ticks() - start);
  }

  char* memory_ = nullptr;
  std::array<char*, links> ring_{};
};

}  // namespace

void Pace::join(const Pace& other) {
  core_clock = lower(core_clock, other.core_clock);
  issued = lower(issued, other.issued);
  stream = lower(stream, other.stream);
  chase = higher(chase, other.chase);
  exchange = higher(exchange, other.exchange);
}

Pace core_pace() {
  constexpr double widest = 9;     // additions per cycle, more than any core issues: the clock's chain was interrupted
  constexpr double steady = 0.01;  // relative: a clock that moves meanwhile makes the rate that of another clock
  Pace pace;
  double before = core_clock(short_chain, 2);
  for (int tries = 0; tries < 3; ++tries) {
    const double rate = issue_rate();
    pace.core_clock = core_clock(short_chain, 2);
    if (std::abs(pace.core_clock / before - 1) <= steady && !(rate > widest * pace.core_clock)) {
      pace.issued = rate / pace.core_clock;
      return pace;
    }
    before = pace.core_clock;
  }
  return pace;
}

void add_memory_pace(Pace& pace) {
  thread_local MemoryProbe probe;
  probe.read(pace);
}

int memory_node(int cpu) {
  constexpr int most = 1024;
  const std::string folder = join({"/sys/devices/system/cpu/cpu", cpu, "/node"});
  for (int node = 0; cpu >= 0 && node < most; ++node)
    if (access((join({folder, node})).c_str(), F_OK) == 0) return node;
  return 0;
}

void Bounds::forget_memory() { least_stream = 0, most_chase = INFINITY; }

Bounds::Bounds(Params& p)
    : least_clock(p.own_number("least_clock", 0)),
      least_issued(p.own_number("least_issued", 0)),
      least_stream(p.own_number("least_stream", 0)),
      most_chase(p.own_number("most_chase", INFINITY)),
      patience(p.own_number("patience", 0)) {}

void Vigil::read(const Pace& pace) {
  note(clock_, pace.core_clock, pace.core_clock >= bounds_->least_clock);
  note(issued_, pace.issued, pace.issued >= bounds_->least_issued);
  note(stream_, pace.stream, pace.stream >= bounds_->least_stream);
  note(chase_, pace.chase, pace.chase <= bounds_->most_chase);
}

void Vigil::sampled(double seconds) {
  seconds_.push_back(seconds);
  disturbed_.push_back(!quiet());
  spared_ += quiet();
}

// A reading that was not taken says nothing: neither does it end a disturbance.
void Vigil::note(Kind& kind, double reading, bool holds) {
  if (std::isnan(reading)) return;
  for (std::size_t i = kind.since; !holds && i < disturbed_.size(); ++i) {
    spared_ -= !disturbed_[i];
    disturbed_[i] = true;
  }
  kind = {holds, disturbed_.size()};
}

std::vector<double> Vigil::undisturbed() const {
  std::vector<double> found;
  found.reserve(spared_);
  for (std::size_t i = 0; i < seconds_.size(); ++i)
    if (!disturbed_[i]) found.push_back(seconds_[i]);
  return found;
}

}  // namespace steelyard
