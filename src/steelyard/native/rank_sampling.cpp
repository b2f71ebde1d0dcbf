// The sampler of many ranks: a common start, stretches of samples, every rank's accounts at rank 0.
#include "rank_sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>

#include "stopping.h"

namespace steelyard {
namespace {

// One rank's view of one sample.
struct RankView {
  double start, end, seconds, waited, switches, faults;  // start and end by the common clock
  Pace pace;                                             // read after it
};
constexpr std::size_t view_numbers = sizeof(RankView) / sizeof(double), pace_numbers = sizeof(Pace) / sizeof(double);

void add(std::vector<double>& numbers, const Pace& pace) {
  numbers.resize(numbers.size() + pace_numbers);
  std::memcpy(&numbers[numbers.size() - pace_numbers], &pace, sizeof pace);
}
Pace pace_at(const double* numbers) {
  Pace pace;
  std::memcpy(static_cast<void*>(&pace), numbers, sizeof pace);
  return pace;
}

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
        group_(ranks.among(active)) {}

  RankMeasurement measure() {
    Measurement mine;
    std::set<int> cpus = ranks_.processors_here();
    if (active_) find_place(), calibrate(mine);
    if (active_) mine.clock_before.push_back(core_clock(long_chain, 3));
    // Those who take no part sleep here until the others come.
    Counters counters(1);
    if (active_) counters.open(0);
    MachineReading before(cpus.empty() ? allowed() : cpus);
    mine.began = seconds_of(CLOCK_REALTIME);
    if (active_) mine.pace_before = look(true), exchange(mine.pace_before);
    counters.start();
    if (active_) take(mine, counters);
    mine.counters = counters.stop();
    MachineReading after(cpus.empty() ? allowed() : cpus);
    if (active_) mine.pace_after = look(true), exchange(mine.pace_after);
    if (active_) mine.clock_after.push_back(core_clock(long_chain, 3));
    ranks_.rest();
    return collect(mine, before, after);
  }

 private:
  static constexpr double shortest = 0.002;  // s of samples, at least: ten of the usual length
  // As in sampling.cpp.
  static constexpr std::uint64_t long_chain = 100'000;
  static constexpr double core_every = 2e-3, memory_every = 4e-2, cold_matters = 1e-2;
  static constexpr double longest_interruption = 0.05;
  static constexpr std::size_t looked_at = 8;

  static std::set<int> allowed() {
    std::set<int> all;
    for (int cpu = 0; cpu < static_cast<int>(std::thread::hardware_concurrency()); ++cpu) all.insert(cpu);
    return all;
  }

  // As Sampler::calibrate, by the slowest rank's time.
  void calibrate(Measurement& m) {
    const Clock& clock = Clock::get();
    double wanted =
        group_->greatest(std::max(sampling_.sample_seconds, 1000 * std::max(clock.resolution(), clock.overhead())));
    if (!kernel_.whole()) sample(1);
    if (plant_.kind == "skip") return;
    while (!kernel_.whole()) {
      double took = group_->greatest(sample(m.operations).seconds);
      // An interruption must not pass for a long operation, as in sampling.cpp.
      for (int again = 0; again < 8 && took >= wanted && took < longest_interruption; ++again) {
        double second = group_->greatest(sample(m.operations).seconds), ratio = second / std::max(took, 1e-9);
        took = std::min(took, second);
        if (ratio > 0.8 && ratio < 1.25) break;
      }
      if (took >= wanted || m.operations > (std::size_t{1} << 40)) break;
      double factor = std::min(100.0, 1.2 * wanted / std::max(took, 1e-9));
      m.operations = std::max(m.operations + 1, static_cast<std::size_t>(static_cast<double>(m.operations) * factor));
    }
    if (plant_.kind == "work" && plant_.amount > 0) {
      auto share = static_cast<std::size_t>(std::ceil(1 / plant_.amount));
      m.operations = (m.operations + share - 1) / share * share;
    }
  }

  // What the first rank decides after each stretch of samples.
  struct Next {
    bool go_on, look, wait;
    std::size_t stretch, every;  // samples; and between readings of a core
  };

  // Samples in stretches: within one no rank asks another anything but to begin; after each the first rank decides.
  void take(Measurement& mine, Counters& counters) {
    double begin = clock_.now();
    memory_read_ = begin;
    gathered(mine.pace_before);
    Next next{true, false, !vigil_.quiet() && bounds_.patience > 0,
              kernel_.whole() ? 1 : std::max<std::size_t>(sampling_.least, 6), 6};
    group_->tell(next);
    while (true) {
      if (next.wait) wait(mine, counters);
      if (next.look) gathered(look(true));
      if (next.look || next.wait || views_.empty()) warm_up(mine.operations);
      std::size_t first = views_.size();
      for (std::size_t i = 0; i < next.stretch; ++i) {
        views_.push_back(sample(mine.operations));
        if ((i + 1) % next.every == 0 || i + 1 == next.stretch) views_.back().pace = look_in_turn();
      }
      append(first);
      if (group_->rank() == 0) next = decide(clock_.now() - begin - mine.waited, mine.waited);
      group_->tell(next);
      if (!next.go_on) return;
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
    return {!enough(elapsed, waited), look, !vigil_.quiet() && waited < bounds_.patience, stretch, every};
  }
  bool enough(double elapsed, double waited) const {
    if (vigil_.count() >= sampling_.most || views_.size() >= 4 * sampling_.most) return true;
    if (elapsed >= 4 * sampling_.seconds) return true;
    bool patient = waited < bounds_.patience;
    if (elapsed >= sampling_.seconds && (patient ? vigil_.count() : views_.size()) >= sampling_.least) return true;
    return elapsed >= std::min(shortest, sampling_.seconds) &&
           relative_half_width(vigil_.undisturbed()) <= sampling_.width;
  }
  // The samples since `first`, from all ranks, at the group's first rank.
  void append(std::size_t first) {
    std::vector<double> mine;
    for (std::size_t i = first; i < views_.size(); ++i) {
      mine.insert(mine.end(), {views_[i].start, views_[i].end, views_[i].seconds});
      add(mine, views_[i].pace);
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
      vigil_.sampled(extent.seconds(start_.by_clock));
      vigil_.read(slowest);
    }
  }
  // A reading of all ranks, to the first one's vigil.
  void gathered(const Pace& mine) {
    std::vector<double> numbers;
    add(numbers, mine);
    std::vector<double> all = group_->gather(numbers);
    Pace slowest;
    for (std::size_t at = 0; at < all.size(); at += pace_numbers) slowest.join(pace_at(&all[at]));
    vigil_.read(slowest);
  }
  // Until all ranks' places are quiet, as long as patience lasts; asleep between looks.
  void wait(Measurement& mine, Counters& counters) {
    const double began = clock_.now(), before = mine.waited;
    counters.pause();
    bool on = true;
    while (on) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      gathered(look(true));
      mine.waited = before + clock_.now() - began;
      on = !vigil_.quiet() && mine.waited < bounds_.patience;
      group_->tell(on);
    }
    counters.resume();
  }
  // Not kept, as in sampling.cpp.
  void warm_up(std::size_t operations) {
    double length = group_->greatest(length_);
    if (!kernel_.whole() && plant_.kind != "skip" && length < cold_matters) sample(operations);
  }

  // Every rank's core, one after the other on each machine: two that share a core would take each other for a
  // neighbour. One rank of each memory node reads the memory for all.
  Pace look(bool memory) {
    Pace pace = look_by_turns(0, std::min(neighbours_, looked_at));
    if (memory && first_of_node()) add_memory_pace(pace);
    slowest_.join(pace);
    return pace;
  }
  // One rank's core on each machine, the next one's the next time.
  Pace look_in_turn() {
    Pace pace = look_by_turns(turn_++, 1);
    slowest_.join(pace);
    return pace;
  }
  // Those `count` ranks of a machine from the `first` one on, each in a time slot of its own after a common start; the
  // others wait without asking MPI for anything, which would take much of a core that they share.
  Pace look_by_turns(std::size_t first, std::size_t count) {
    constexpr double slot = 40e-6;
    const Clock& clock = Clock::get();
    if (crowded_) return {};  // ranks that share a processor by turns have no pace of their own
    group_->barrier();
    std::uint64_t begin = clock.ticks();
    auto until = [&](double seconds) {
      while (clock.seconds(clock.ticks() - begin) < seconds) relax();
    };
    Pace pace;
    std::size_t mine = (place_ + neighbours_ - first % neighbours_) % neighbours_;
    if (mine < count) {
      until(slot * static_cast<double>(mine));
      pace = core_pace();
    }
    until(slot * static_cast<double>(count));
    return pace;
  }
  // How many ranks that take part are on this machine, and which of them this one is.
  void find_place() {
    crowded_ = ranks_.oversubscribed();
    for (int r = 0; r < ranks_.size(); ++r) {
      if (!ranks_.place(r).active || !ranks_.same_machine(r, ranks_.rank())) continue;
      place_ += r < ranks_.rank();
      neighbours_ += 1;
    }
  }
  bool first_of_node() const {
    int mine = memory_node(ranks_.place(ranks_.rank()).cpu);
    for (int r = 0; r < ranks_.rank(); ++r)
      if (ranks_.place(r).active && ranks_.same_machine(r, ranks_.rank()) && memory_node(ranks_.place(r).cpu) == mine)
        return false;
    return true;
  }

  // 8 bytes there and back between neighbouring ranks, the median of as many as fit into a millisecond.
  void exchange(Pace& pace) {
    int partner = group_->rank() ^ 1;
    if (crowded_ || partner >= group_->size()) return;
    bool first = group_->rank() < partner;
    for (int i = 0; i < 2; ++i) there_and_back(partner, first);  // the first ones may have to connect
    double count = 0;
    if (first) count = std::clamp(1e-3 / std::max(there_and_back(partner, first), 1e-9), 3.0, 21.0);
    if (!first) there_and_back(partner, first);
    count = agreed(partner, first, count);
    std::vector<double> seconds;
    for (int i = 0; i < static_cast<int>(count); ++i) seconds.push_back(there_and_back(partner, first));
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
    if (first) pace.exchange = seconds[seconds.size() / 2];
  }
  double there_and_back(int partner, bool first) const {
    const Clock& clock = Clock::get();
    std::uint64_t from = clock.ticks();
    if (first) agreed(partner, true, 0), agreed(partner, false, 0);
    if (!first) agreed(partner, false, 0), agreed(partner, true, 0);
    return clock.seconds(clock.ticks() - from);
  }
  // One number from the one to the other.
  double agreed(int partner, bool send, double number) const {
    MPI_Request request;
    if (send) MPI_Isend(&number, 1, MPI_DOUBLE, partner, 0, group_->comm(), &request);
    if (!send) MPI_Irecv(&number, 1, MPI_DOUBLE, partner, 0, group_->comm(), &request);
    complete(1, &request);
    return number;
  }

  struct Extent {
    double first = INFINITY, last = -INFINITY, longest = 0;
    void add(double start, double end, double seconds) {
      first = std::min(first, start), last = std::max(last, end), longest = std::max(longest, seconds);
    }
    double seconds(bool by_clock) const { return by_clock ? last - first : longest; }
  };

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
    // Far enough ahead that the news arrives: what the agreement itself took, twice.
    double before = clock_.now(), latest = group_->greatest(before), took = clock_.now() - before;
    double at = group_->greatest(latest + 2 * took + 2e-6) + took;
    if (clock_.now() > at) late_ += 1;
    while (clock_.now() < at) relax();
  }

  // So many operations more than those that were prepared.
  void more(std::size_t operations) {
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
    if (kernel_.whole()) more(operations - 1);
    if (plant_.kind == "work") {
      owed_ += plant_.amount * static_cast<double>(operations);
      double whole = std::floor(owed_);
      owed_ -= whole;
      more(static_cast<std::size_t>(whole));
    }
    bool mine = plant_.kind == "delay" || (plant_.kind == "slow" && plant_.rank == ranks_.rank());
    if (!mine) return;
    auto length = static_cast<std::uint64_t>(static_cast<double>(Clock::get().ticks() - from) * (1 + plant_.amount));
    while (Clock::get().ticks() - from < length) relax();
  }

  // Everything at rank 0: every rank's views, and the accounts of each machine once.
  RankMeasurement collect(const Measurement& mine, const MachineReading& before, const MachineReading& after) {
    std::vector<double> head{static_cast<double>(views_.size()),
                             static_cast<double>(mine.operations),
                             active_ ? mine.clock_before[0] : unknown,
                             active_ ? mine.clock_after[0] : unknown,
                             after.own - before.own,
                             after.busy - before.busy,
                             after.steal - before.steal,
                             after.busy_all - before.busy_all,
                             after.interrupt_time - before.interrupt_time,
                             after.interrupts - before.interrupts,
                             after.throttled - before.throttled,
                             after.at - before.at,
                             static_cast<double>(late_),
                             static_cast<double>(mine.counters.error),
                             mine.counters.share,
                             mine.began,
                             mine.waited};
    for (const Pace& pace : {mine.pace_before, mine.pace_after, slowest_}) add(head, pace);
    head.insert(head.end(), mine.counters.values.begin(), mine.counters.values.end());
    std::vector<double> heads = ranks_.world().gather(head);
    double most = ranks_.world().greatest(static_cast<double>(views_.size()));
    std::vector<double> numbers(static_cast<std::size_t>(most) * view_numbers, unknown);
    for (std::size_t i = 0; i < views_.size(); ++i)
      std::memcpy(&numbers[i * view_numbers], &views_[i], sizeof(RankView));
    std::vector<double> all = ranks_.world().gather(numbers);
    RankMeasurement out;
    if (ranks_.rank() != 0) return out;
    Accounts(ranks_, heads, head.size()).into(out);
    samples(out, heads, head.size(), all, static_cast<std::size_t>(most));
    return out;
  }

  void samples(RankMeasurement& out, const std::vector<double>& heads, std::size_t width,
               const std::vector<double>& all, std::size_t count) const {
    out.seconds.resize(static_cast<std::size_t>(ranks_.size()));
    out.waited.resize(out.seconds.size());
    double origin = INFINITY;
    for (std::size_t i = 0; i < count; ++i) {
      Extent extent;
      Sample s{0, 0, 0, 0, 0, {}};
      for (std::size_t r = 0; r < out.seconds.size(); ++r) {
        if (heads[r * width] == 0) continue;
        RankView v;
        std::memcpy(static_cast<void*>(&v), &all[(r * count + i) * view_numbers], sizeof v);
        extent.add(v.start, v.end, v.seconds);
        out.seconds[r].push_back(v.seconds);
        out.waited[r] += v.waited;
        s.waited = std::isnan(v.waited) ? unknown : std::max(s.waited, v.waited);
        s.switches += static_cast<long>(v.switches), s.faults += static_cast<long>(v.faults);
        s.pace.join(v.pace);
      }
      origin = std::min(origin, extent.first);
      s.at = extent.first - origin;
      s.seconds = extent.seconds(start_.by_clock);
      out.whole.samples.push_back(s);
    }
  }

  // What each machine's own accounts say, each machine once, without what the ranks themselves used.
  struct Accounts {
    const Ranks& ranks;
    const std::vector<double>& heads;
    std::size_t width;
    Accounts(const Ranks& r, const std::vector<double>& h, std::size_t w) : ranks(r), heads(h), width(w) {}
    double at(int rank, std::size_t column) const { return heads[static_cast<std::size_t>(rank) * width + column]; }
    static constexpr std::size_t paces_at = 17, counts_at = paces_at + 3 * pace_numbers;
    Pace pace(int rank, std::size_t which) const {
      return pace_at(&heads[static_cast<std::size_t>(rank) * width + paces_at + which * pace_numbers]);
    }
    void into(RankMeasurement& out) const {
      Measurement& m = out.whole;
      m.oversubscribed = ranks.oversubscribed();
      m.steal = m.other = m.interrupt_time = m.interrupts = m.machine_other = m.throttled = 0;
      count(m.counters);
      for (int r = 0; r < ranks.size(); ++r) {
        if (at(r, 0) > 0) {
          m.operations = static_cast<std::size_t>(at(r, 1));
          m.clock_before.push_back(at(r, 2)), m.clock_after.push_back(at(r, 3));
          m.waited = std::max(m.waited, at(r, 16));
          m.pace_before.join(pace(r, 0)), m.pace_after.join(pace(r, 1));
        }
        if (r == 0) m.began = at(r, 15);
        out.pace.push_back(pace(r, 2));
        m.elapsed = std::max(m.elapsed, at(r, 11));
        out.late += static_cast<long>(at(r, 12));
        bool first = true;
        for (int before = 0; before < r; ++before) first = first && !ranks.same_machine(before, r);
        if (!first) continue;
        double own = 0;
        for (int other = r; other < ranks.size(); ++other)
          if (ranks.same_machine(r, other)) own += at(other, 4);
        m.other += std::max(0.0, at(r, 5) - own);
        m.steal += at(r, 6);
        m.machine_other = std::max(m.machine_other, std::max(0.0, at(r, 7) - own) / std::max(at(r, 11), 1e-9));
        m.interrupt_time += at(r, 8), m.interrupts += at(r, 9), m.throttled += at(r, 10);
      }
    }
    // The sum over the ranks that took part; unknown where one of them could not count. The least share stands for all.
    void count(Counts& all) const {
      all.values.assign(all.events.size(), 0.0);
      all.share = 1;
      for (int r = 0; r < ranks.size(); ++r) {
        if (at(r, 0) == 0) continue;
        if (all.error == 0) all.error = static_cast<int>(at(r, 13));
        all.share = at(r, 14) <= all.share || std::isnan(at(r, 14)) ? at(r, 14) : all.share;
        for (std::size_t i = 0; i < all.values.size(); ++i) all.values[i] += at(r, counts_at + i);
      }
    }
  };

  RankKernelInterface& kernel_;
  Ranks& ranks_;
  CommonClock& clock_;
  const Sampling& sampling_;
  const Plant& plant_;
  const Bounds& bounds_;
  Vigil vigil_;  // the first rank's
  const Start& start_;
  bool active_;
  std::unique_ptr<Group> group_;
  ThreadWatch watch_;
  std::vector<RankView> views_;
  Pace slowest_;
  double length_ = 0;  // of the last sample, in seconds
  double memory_read_ = 0;
  std::size_t place_ = 0, neighbours_ = 0, turn_ = 0;
  bool crowded_ = false;
  long late_ = 0;
  double owed_ = 0;
};

}  // namespace

RankMeasurement measure(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
                        const Plant& plant, const Bounds& bounds, const Start& start, bool active) {
  return RankSampler(kernel, ranks, clock, sampling, plant, bounds, start, active).measure();
}

}  // namespace steelyard
