// The trace of this rank: a file that is mapped piece by piece, so that whatever ends the process leaves all that was
// written.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "format.h"

namespace steelyard::trace {

using Ticks = std::uint64_t;

inline std::uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Uses the processor's own clock if it has a constant rate: it costs half as much as that of the system.
struct Clock {
  bool own = false;
  Clock() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    own = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#endif
  }
  Ticks now() const {
#if defined(__x86_64__)
    if (own) return __rdtsc();
#endif
    return nanoseconds();
  }
  std::uint32_t shift() const { return own ? 3 : 2; }  // 3 ns at 2.6 GHz, and 4 ns: a byte less in most times
};

class Stream {
 public:
  bool open(const char* folder, int rank, int ranks) {
    char path[4096];
    if (std::snprintf(path, sizeof path, "%s/rank-%d.trace", folder, rank) >= static_cast<int>(sizeof path))
      return false;
    file_ = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 || !extend(0)) return false;
    header_ = static_cast<Header*>(mmap(nullptr, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    if (header_ == MAP_FAILED) return false;
    std::memcpy(header_->magic, MAGIC, sizeof MAGIC);
    header_->rank = static_cast<std::uint32_t>(rank);
    header_->ranks = static_cast<std::uint32_t>(ranks);
    header_->shift = clock.shift();
    gethostname(header_->host, sizeof header_->host - 1);
    header_->begin_ticks = clock.now();
    header_->begin_ns = nanoseconds();
    at_ += sizeof(Header);
    last_ = header_->begin_ticks >> clock.shift();
    return true;
  }

  // A record is begun with its kind left out, which comes last: a torn one is none.
  void begin(Kind kind, Ticks from, Ticks to, std::uint32_t communicator, std::size_t most = 64) {
    if (static_cast<std::size_t>(limit_ - at_) < most + 64) map_next_piece(most + 64);
    if (debt_) record_tool_time();
    kind_ = at_++;
    pending_ = static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | (communicator ? OTHER : 0));
    from >>= clock.shift();
    to >>= clock.shift();
    // Calls of several threads may overlap. The common time counts only once.
    from = from < last_ ? last_ : from;
    to = to < from ? from : to;
    put(from - last_);
    put(to - from);
    last_ = to;
    if (communicator) put(communicator);
  }
  void put(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) *at_++ = static_cast<unsigned char>(number | 0x80);
    *at_++ = static_cast<unsigned char>(number);
  }
  void put_signed(std::int64_t number) {
    put(static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63));
  }
  void end_record() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *reinterpret_cast<volatile unsigned char*>(kind_) = pending_;
  }

  // Begins the trace at the present moment.
  void begin_here() {
    last_ = clock.now() >> clock.shift();
    header_->first_ticks = last_ << clock.shift();
    debt_ = 0;
  }

  // Records that the tracer itself worked from the end of the last call until now.
  void record_own_work() {
    const Ticks now = clock.now() >> clock.shift();
    if (now > last_ + debt_) debt_ = now - last_;
  }

  // Notes the present reading of both clocks.
  void calibrate() {
    header_->end_ticks = clock.now();
    header_->end_ns = nanoseconds();
  }
  void close() {
    calibrate();
    // Zeros at the end are no records, so that nothing is lost where this fails.
    if (!lost_ && ftruncate(file_, base_ + (at_ - window_)) != 0) return;
    munmap(window_, static_cast<std::size_t>(limit_ - window_));
    ::close(file_);
    header_ = nullptr;
  }
  bool is_open() const { return header_; }
  Header& header() { return *header_; }
  Ticks last() const { return last_ << clock.shift(); }

  const Clock clock;

 private:
  static constexpr std::size_t PAGE = 4096, WINDOW = 1u << 20;

  // Maps the next part of the file, from the page that contains `used`.
  bool extend(off_t used, std::size_t needed = 0) {
    const off_t base = used / static_cast<off_t>(PAGE) * static_cast<off_t>(PAGE);
    const std::size_t size = (needed + 2 * PAGE + WINDOW - 1) / WINDOW * WINDOW;
    if (ftruncate(file_, base + static_cast<off_t>(size)) != 0) return false;
    // Blocks that a full disk lacks would end the application when it writes to them.
    if (posix_fallocate(file_, base, static_cast<off_t>(size)) != 0) return false;
    void* window = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_, base);
    if (window == MAP_FAILED) return false;
    if (window_) munmap(window_, static_cast<std::size_t>(limit_ - window_));
    window_ = static_cast<unsigned char*>(window);
    limit_ = window_ + size;
    at_ = window_ + (used - base);
    base_ = base;
    return true;
  }
  // Maps the next piece of the file. Its time is the tracer's own work and gets a record of its own.
  void map_next_piece(std::size_t needed) {
    const Ticks before = clock.now();
    if (!lost_ && !extend(base_ + (at_ - window_), needed)) {
      std::fprintf(stderr, "steelyard: the trace cannot grow further and ends here\n");
      lost_ = true;
    }
    if (lost_) write_to_memory(needed);
    calibrate();
    debt_ += (clock.now() - before) >> clock.shift();
  }
  void record_tool_time() {
    *at_++ = static_cast<unsigned char>(Kind::tool);
    put(0);
    put(debt_);
    last_ += debt_;
    debt_ = 0;
  }
  // Later records are written to memory without a file.
  void write_to_memory(std::size_t needed) {
    munmap(window_, static_cast<std::size_t>(limit_ - window_));
    const std::size_t size = needed + WINDOW;
    void* window = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (window == MAP_FAILED) _exit(70);
    window_ = at_ = static_cast<unsigned char*>(window);
    limit_ = window_ + size;
  }

  int file_ = -1;
  Header* header_ = nullptr;
  unsigned char *window_ = nullptr, *limit_ = nullptr, *at_ = nullptr, *kind_ = nullptr;
  off_t base_ = 0;
  Ticks last_ = 0, debt_ = 0;
  bool lost_ = false;
  unsigned char pending_ = 0;
};

}  // namespace steelyard::trace
