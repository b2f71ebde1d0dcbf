// Noise of the operating system: how long equal quanta of work take, and how much work is done in equal slices of time.
#include <cmath>

#include "kernel.h"

using namespace steelyard;

constexpr std::size_t block =
    128;  // additions: some 50 ns, so that a slice ends on time, and a clock reading is little

// Work that needs no memory: a chain of additions, one a cycle.
class Chain {
 public:
  void run(std::size_t blocks) {
    std::uint64_t x = x_, step = 3;
    asm volatile("" : "+r"(step));  // a step that the compiler knows is added without an instruction on some cores
    for (std::size_t i = 0; i < blocks; ++i) {
#pragma GCC unroll 128
      for (std::size_t k = 0; k < block; ++k) {
        x += step;
        asm volatile("" : "+r"(x));
      }
    }
    x_ = x;
    blocks_ += blocks;
  }
  std::size_t blocks() const { return blocks_; }
  bool right() const { return blocks_ > 0 && x_ == 1 + 3 * block * blocks_; }
  void corrupt() { x_ -= 3; }  // as if one addition had been left out

 private:
  std::uint64_t x_ = 1;
  std::size_t blocks_ = 0;
};

// The values that a thread measured, one for each quantum, without a gap. Values beyond the memory are not kept.
struct alignas(128) Log {
  Chain chain;
  std::vector<std::uint64_t> values, starts;  // ticks or blocks; of each series the ticks or the slice of its beginning
  std::vector<std::size_t> lengths;           // quanta of each series
  std::size_t runs = 0;

  // The first run, in which code and data are new, is not kept.
  bool begins(std::uint64_t start) {
    if (runs++ == 0 || starts.size() == starts.capacity() || values.size() == values.capacity()) return false;
    starts.push_back(start), lengths.push_back(0);
    return true;
  }
  void keep(std::uint64_t value) {
    if (values.size() == values.capacity()) return;
    values.push_back(value);
    ++lengths.back();
  }
};

// Both kernels: `quanta` quanta of `quantum` seconds make an operation.
struct Quanta {
  static constexpr std::size_t most_each = 10'000, most_of_all = 400'000;  // quanta kept: some 4 bytes each in a record
  std::size_t count;
  double quantum;
  std::vector<Log> logs;

  Quanta(Params& p, Team& team) : count(p.count("quanta", 100)), quantum(p.number("quantum", 1e-4)), logs(team.size()) {
    if (count < 1 || !(quantum >= 1e-5 && quantum <= 1e-2))
      throw CaseError("quanta must be at least 1, and quantum must be from 1e-5 to 1e-2 seconds");
    team.each([&](Worker w) {
      std::size_t room = std::min(most_each, most_of_all / w.size);
      logs[w.index].values.reserve(room);
      logs[w.index].values.assign(room, 1), logs[w.index].values.clear();  // touched before anything is timed
      logs[w.index].starts.reserve(room / count + 1), logs[w.index].lengths.reserve(room / count + 1);
    });
  }
  Work work() const { return {{"quanta", static_cast<double>(count * logs.size())}}; }
  Check check() const {
    std::size_t right = 0, blocks = 0;
    for (const Log& log : logs) right += log.chain.right(), blocks += log.chain.blocks();
    return {right == logs.size(), join({right, " of ", logs.size(), " threads hold the sum of their additions, ",
                                        blocks * block, " in all"})};
  }
  void corrupt() { logs.back().chain.corrupt(); }
};

struct FixedWork : Quanta {
  std::size_t blocks;

  FixedWork(Params& p, Team& team) : Quanta(p, team), blocks(blocks_of(quantum)) {}
  void run(Worker w, std::size_t operations) {
    Log& log = logs[w.index];
    std::uint64_t last = Clock::get().ticks();
    bool kept = log.begins(last);
    for (std::size_t i = 0; i < operations * count; ++i) {
      log.chain.run(blocks);
      std::uint64_t now = Clock::get().ticks();
      if (kept) log.keep(now - last);
      last = now;
    }
  }
  // In nanoseconds: the fastest quantum of each thread, what each took beyond it, and when each series began.
  std::string details() const {
    auto nanoseconds = [](std::uint64_t ticks) {
      return static_cast<std::uint64_t>(std::llround(1e9 * Clock::get().seconds(ticks)));
    };
    std::uint64_t first = ~std::uint64_t{0};
    for (const Log& log : logs)
      if (!log.starts.empty()) first = std::min(first, log.starts.front());
    std::string threads;
    for (const Log& log : logs) {
      std::vector<std::uint64_t> over, starts;
      std::uint64_t base = nanoseconds(log.values.empty() ? 0 : *std::ranges::min_element(log.values));
      for (std::uint64_t v : log.values) over.push_back(nanoseconds(v) - base);
      for (std::uint64_t s : log.starts) starts.push_back(nanoseconds(s - first));
      threads += (threads.empty() ? "" : ",") + json::Object()
                                                    .add("base", base)
                                                    .add("over", json::list(over))
                                                    .add("starts", json::list(starts))
                                                    .add("lengths", json::list(log.lengths))
                                                    .str();
    }
    return json::Object()
        .add("unit", 1e-9)
        .add("additions", blocks * block)
        .add("threads", join({"[", threads, "]"}))
        .str();
  }

 private:
  // Returns the blocks of the calling thread at its fastest, because interruptions only lengthen an attempt.
  static std::size_t blocks_of(double seconds) {
    constexpr std::size_t tried = 400, tries = 20;  // some 20 µs each
    double least = INFINITY;
    Chain chain;
    for (std::size_t i = 0; i < tries; ++i) {
      std::uint64_t start = Clock::get().ticks();
      chain.run(tried);
      least = std::min(least, Clock::get().seconds(Clock::get().ticks() - start));
    }
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(seconds / least * tried)));
  }
};

// All slices lie on one grid, the same for all threads and series.
struct FixedTime : Quanta {
  std::uint64_t origin = Clock::get().ticks(), slice;

  FixedTime(Params& p, Team& team)
      : Quanta(p, team), slice(static_cast<std::uint64_t>(quantum * Clock::get().frequency())) {}
  void run(Worker w, std::size_t operations) {
    Log& log = logs[w.index];
    std::uint64_t index = (Clock::get().ticks() - origin) / slice + 1, end = origin + index * slice;
    bool kept = log.begins(index);
    while (Clock::get().ticks() < end) relax();
    for (std::size_t i = 0; i < operations * count; ++i) {
      std::uint64_t done = 0;
      for (end += slice; Clock::get().ticks() < end; ++done) log.chain.run(1);
      if (kept) log.keep(done);
    }
  }
  // The most blocks that a thread did in a slice, what is missing of them in each, and the slices where series began.
  std::string details() const {
    std::string threads;
    for (const Log& log : logs) {
      std::vector<std::uint64_t> missing;
      std::uint64_t most = log.values.empty() ? 0 : *std::ranges::max_element(log.values);
      for (std::uint64_t v : log.values) missing.push_back(most - v);
      threads += (threads.empty() ? "" : ",") + json::Object()
                                                    .add("most", most)
                                                    .add("missing", json::list(missing))
                                                    .add("starts", json::list(log.starts))
                                                    .add("lengths", json::list(log.lengths))
                                                    .str();
    }
    return json::Object().add("slice", Clock::get().seconds(slice)).add("threads", join({"[", threads, "]"})).str();
  }
};

int main() { return serve({kernel<FixedWork>("fixed_work"), kernel<FixedTime>("fixed_time")}); }
