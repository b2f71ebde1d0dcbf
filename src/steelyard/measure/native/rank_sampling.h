// Times a kernel of many ranks with a common start. A sample is the time of the slowest rank.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common_clock.h"
#include "rank_account.h"
#include "rank_kernel.h"
#include "rank_pace.h"
#include "sampling.h"
#include "stopping.h"

namespace steelyard {

class RankSampler {
 public:
  RankSampler(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
              const Plant& plant, const Bounds& bounds, const Start& start, bool active)
      : kernel_(kernel),
        ranks_(ranks),
        clock_(clock),
        sampling_(sampling),
        plant_(plant),
        bounds_(bounds),
        vigil_(bounds),
        start_(start),
        active_(active),
        group_(ranks.among(active)),
        pace_(ranks, *group_) {}

  RankMeasurement measure() {
    Measurement& mine = account_.own;
    std::set<int> cpus = ranks_.processors_here();
    if (active_) calibrate(mine);
    if (active_) mine.clock_before.push_back(core_clock(long_chain, 3));
    // Ranks that take no part sleep here until the others arrive.
    Counters counters(1);
    if (active_) counters.open(0);
    MachineReading before = begin_reading(mine, counters, cpus);
    while (active_ && !take(mine, counters)) before = begin_reading_again(mine, counters, cpus);
    mine.counters = counters.stop();
    mine.ended = seconds_of(CLOCK_REALTIME);
    MachineReading after(cpus.empty() ? allowed_cpus() : cpus);
    if (active_) mine.pace_after = pace_.look(), pace_.exchange(mine.pace_after);
    if (active_) mine.clock_after.push_back(core_clock(long_chain, 3));
    ranks_.rest();
    if (!active_) mine.ended = seconds_of(CLOCK_REALTIME);  // the other ranks have finished their samples only now
    account_.slowest = pace_.slowest();
    return joined(account_, before, after, ranks_, start_);
  }

 private:
  static constexpr double shortest = 0.002;  // s of samples, at least: ten of the usual length

  static std::set<int> allowed_cpus() {
    std::vector<int> all = allowed_processors();
    return {all.begin(), all.end()};
  }

  MachineReading begin_reading(Measurement& mine, Counters& counters, const std::set<int>& cpus) {
    MachineReading before(cpus.empty() ? allowed_cpus() : cpus);
    mine.began = seconds_of(CLOCK_REALTIME);
    mine.monotonic = seconds_of(CLOCK_MONOTONIC);
    account_.began = clock_.now();
    if (active_) mine.pace_before = pace_.look(), pace_.exchange(mine.pace_before);
    counters.start();
    return before;
  }
  MachineReading begin_reading_again(Measurement& mine, Counters& counters, const std::set<int>& cpus) {
    std::size_t operations = plant_.enough(lengths_.enough(mine.operations));
    group_->tell(operations);
    Measurement next;
    next.operations = operations;
    next.clock_before = mine.clock_before;
    account_ = {std::move(next), {}, {}, 0, 0};
    vigil_ = Vigil(bounds_);
    lengths_ = Lengths(wanted_);
    return begin_reading(mine, counters, cpus);
  }

  // Works as in sampling.cpp, but with the time of the slowest rank.
  void calibrate(Measurement& m) {
    auto took = [&](std::size_t operations) { return group_->greatest(sample(operations).seconds); };
    if (plant_.kind == "skip") return;
    wanted_ = group_->greatest(sampling_.wanted_seconds());
    lengths_ = Lengths(wanted_);
    if (!kernel_.whole()) m.operations = calibrated(wanted_, took);
    m.operations = plant_.enough(m.operations);
  }

  // The decision of the first rank after each group of samples.
  struct Next {
    bool go_on, look, wait, too_short;
    std::size_t stretch, every;  // samples in the group, and between readings of a core
  };

  // Takes samples in groups. Within a group, ranks only agree on the start of each sample. After it, the first rank
  // decides. Returns false if the samples are too short.
  bool take(Measurement& mine, Counters& counters) {
    double begin = clock_.now();
    memory_read_ = begin;
    gather_pace(mine.pace_before);
    Next next{true,
              false,
              !vigil_.quiet() && bounds_.patience > 0,
              false,
              kernel_.whole() ? 1 : std::max<std::size_t>(sampling_.least, 6),
              6};
    group_->tell(next);
    while (true) {
      if (next.wait) wait(mine, counters);
      if (next.look) gather_pace(pace_.look());
      if (next.look || next.wait || views_.empty()) warm_up(mine.operations);
      std::size_t first = views_.size();
      for (std::size_t i = 0; i < next.stretch; ++i) {
        views_.push_back(sample(mine.operations));
        if ((i + 1) % next.every == 0 || i + 1 == next.stretch) views_.back().pace = pace_.read_next_rank();
      }
      judge(first);
      if (group_->rank() == 0) next = decide(clock_.now() - begin - mine.waited, mine.waited);
      group_->tell(next);
      if (next.too_short) return false;
      if (!next.go_on) return true;
    }
  }
  Next decide(double elapsed, double waited) {
    double each = elapsed / static_cast<double>(views_.size());
    double left = std::max(0.0, sampling_.seconds - elapsed) / std::max(each, 1e-9);
    std::size_t stretch =
        std::max<std::size_t>(1, std::min({views_.size() / 10, sampling_.most - std::min(sampling_.most, views_.size()),
                                           static_cast<std::size_t>(left) + 1}));
    bool look = clock_.now() - memory_read_ > memory_every;
    if (look) memory_read_ = clock_.now();
    auto every = static_cast<std::size_t>(std::clamp(core_every / std::max(each, 1e-9), 1.0, 1e6));
    bool wait = !vigil_.quiet() && waited < bounds_.patience, adjustable = !kernel_.whole() && plant_.kind != "skip";
    return {!enough(elapsed, waited), look, wait, adjustable && lengths_.too_short(), stretch, every};
  }
  bool enough(double elapsed, double waited) const {
    if (sampling_.spent(vigil_, views_.size(), elapsed, waited < bounds_.patience)) return true;
    return elapsed >= std::min(shortest, sampling_.seconds) &&
           relative_half_width(vigil_.undisturbed()) <= sampling_.width;
  }
  // Returns the samples of all ranks since `first`, as the first rank has them.
  void judge(std::size_t first) {
    std::vector<double> mine;
    for (std::size_t i = first; i < views_.size(); ++i) {
      mine.insert(mine.end(), {views_[i].start, views_[i].end, views_[i].seconds});
      append(mine, views_[i].pace);
    }
    std::vector<double> all = group_->gather(mine);
    if (group_->rank() != 0) return;
    for (std::size_t i = 0; i < views_.size() - first; ++i) {
      Extent extent;
      Pace slowest;
      for (int r = 0; r < group_->size(); ++r) {
        const double* v = &all[static_cast<std::size_t>(r) * mine.size() + (3 + pace_numbers) * i];
        extent.add(v[0], v[1], v[2]);
        slowest.join(pace_at(v + 3));
      }
      double seconds = extent.seconds(start_);
      vigil_.sampled(seconds);
      lengths_.add(seconds);
      vigil_.read(slowest);
    }
  }
  // Sends a reading of all ranks to the vigil of the first rank, which keeps the slowest.
  Pace gather_pace(const Pace& mine) {
    std::vector<double> numbers;
    append(numbers, mine);
    std::vector<double> all = group_->gather(numbers);
    Pace slowest;
    for (std::size_t at = 0; at < all.size(); at += pace_numbers) slowest.join(pace_at(&all[at]));
    vigil_.read(slowest);
    return slowest;
  }
  // Waits until the processors of all ranks are quiet, at most for the patience of the case. Sleeps between looks.
  void wait(Measurement& mine, Counters& counters) {
    const double began = clock_.now(), before = mine.waited;
    counters.pause();
    Look last{views_.size(), {}}, latest = last;
    bool on = true;
    while (on) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      last = latest;
      latest.pace = gather_pace(pace_.look());
      mine.waited = before + clock_.now() - began;
      on = !vigil_.quiet() && mine.waited < bounds_.patience;
      group_->tell(on);
    }
    counters.resume();
    if (group_->rank() == 0) mine.looks.insert(mine.looks.end(), {last, latest});
  }
  // The sample is not kept, as in sampling.cpp.
  void warm_up(std::size_t operations) {
    double length = group_->greatest(length_);
    if (!kernel_.whole() && plant_.kind != "skip" && length < cold_matters) sample(operations);
  }

  RankView sample(std::size_t operations) {
    const Clock& clock = Clock::get();
    kernel_.prepare(operations);
    ThreadWatch::Reading before = watch_.read();
    begin();
    double start = clock_.now();
    std::uint64_t from = clock.ticks();
    run(operations);
    std::uint64_t to = clock.ticks();
    double end = clock_.now();
    ThreadWatch::Reading after = watch_.read();
    length_ = clock.seconds(to - from);
    return {start,
            end,
            length_,
            after.waited - before.waited,
            static_cast<double>(after.switches - before.switches),
            static_cast<double>(after.faults - before.faults),
            {}};
  }
  void begin() {
    group_->barrier();
    if (!start_.by_clock) return;
    // The moment must be late enough for the message to arrive: twice the duration of the agreement.
    double before = clock_.now(), latest = group_->greatest(before), took = clock_.now() - before;
    double at = group_->greatest(latest + 2 * took + 2e-6) + took;
    if (clock_.now() > at) account_.late += 1;
    while (clock_.now() < at) relax();
  }

  // Prepares this number of operations in addition.
  void run_operations(std::size_t operations) {
    if (!kernel_.whole()) return kernel_.run(operations);
    for (std::size_t i = 0; i < operations; ++i) {
      kernel_.prepare(1);
      group_->barrier();
      kernel_.run(1);
    }
  }
  void run(std::size_t operations) {
    if (plant_.kind == "none") return kernel_.run(operations);
    if (plant_.kind == "skip") return;
    std::uint64_t from = Clock::get().ticks();
    kernel_.run(kernel_.whole() ? 1 : operations);
    if (kernel_.whole()) run_operations(operations - 1);
    if (plant_.kind == "work") {
      owed_ += plant_.amount * static_cast<double>(operations);
      double whole = std::floor(owed_);
      owed_ -= whole;
      run_operations(static_cast<std::size_t>(whole));
    }
    bool mine = plant_.kind == "delay" || (plant_.kind == "slow" && plant_.rank == ranks_.rank());
    if (!mine) return;
    auto length = static_cast<std::uint64_t>(static_cast<double>(Clock::get().ticks() - from) * (1 + plant_.amount));
    while (Clock::get().ticks() - from < length) relax();
  }

  RankKernelInterface& kernel_;
  Ranks& ranks_;
  CommonClock& clock_;
  const Sampling& sampling_;
  const Plant& plant_;
  const Bounds& bounds_;
  Vigil vigil_;         // of the first rank
  Lengths lengths_{0};  // of the first rank
  double wanted_ = 0;   // seconds of a sample
  const Start& start_;
  bool active_;
  std::unique_ptr<Group> group_;
  RankPace pace_;
  ThreadWatch watch_;
  RankAccount account_;
  std::vector<RankView>& views_ = account_.views;
  double length_ = 0;  // of the last sample, in seconds
  double memory_read_ = 0;
  double owed_ = 0;
};

inline RankMeasurement measure(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
                               const Plant& plant, const Bounds& bounds, const Start& start, bool active) {
  return RankSampler(kernel, ranks, clock, sampling, plant, bounds, start, active).measure();
}

}  // namespace steelyard
