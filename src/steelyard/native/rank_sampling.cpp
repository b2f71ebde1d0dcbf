// The sampler of many ranks: a common start, stretches of samples, every rank's accounts at rank 0.
#include "rank_sampling.h"

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
  double start, end, seconds, waited, switches, faults, core_clock, issued;  // start and end by the common clock
};
constexpr std::size_t view_numbers = sizeof(RankView) / sizeof(double);

class RankSampler {
 public:
  RankSampler(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
              const Plant& plant, const Start& start, bool active)
      : kernel_(kernel),
        ranks_(ranks),
        clock_(clock),
        sampling_(sampling),
        plant_(plant),
        start_(start),
        active_(active),
        group_(ranks.among(active)) {}

  RankMeasurement measure() {
    Measurement mine;
    std::set<int> cpus = ranks_.processors_here();
    if (active_) calibrate(mine);
    taken_ = 0;
    if (active_) mine.clock_before.push_back(core_clock(long_chain, 3));
    // Those who take no part sleep here until the others come.
    Counters counters(1);
    if (active_) counters.open(0);
    MachineReading before(cpus.empty() ? allowed() : cpus);
    counters.start();
    if (active_) take(mine.operations);
    mine.counters = counters.stop();
    MachineReading after(cpus.empty() ? allowed() : cpus);
    if (active_) mine.clock_after.push_back(core_clock(long_chain, 3));
    ranks_.rest();
    return collect(mine, before, after);
  }

 private:
  static constexpr double shortest = 0.002;  // s of samples, at least: ten of the usual length
  static constexpr std::uint64_t long_chain = 100'000, short_chain = 12'800;  // cycles, as in sampling.h

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
      if (took >= wanted && took < 0.05)  // an interruption must not pass for a long operation
        took = std::min(took, group_->greatest(sample(m.operations).seconds));
      if (took >= wanted || m.operations > (std::size_t{1} << 40)) break;
      double factor = std::min(100.0, 1.2 * wanted / std::max(took, 1e-9));
      m.operations = std::max(m.operations + 1, static_cast<std::size_t>(static_cast<double>(m.operations) * factor));
    }
    if (plant_.kind == "work" && plant_.amount > 0) {
      auto share = static_cast<std::size_t>(std::ceil(1 / plant_.amount));
      m.operations = (m.operations + share - 1) / share * share;
    }
  }

  // Samples in stretches: within one no rank asks another anything but to begin; after each the first rank decides.
  void take(std::size_t operations) {
    double begin = clock_.now();
    std::vector<double> whole;
    std::size_t stretch = kernel_.whole() ? 1 : std::max<std::size_t>(sampling_.least, 6);
    bool going_on = true;
    while (going_on) {
      std::size_t first = views_.size();
      for (std::size_t i = 0; i < stretch; ++i) views_.push_back(sample(operations));
      append(whole, first);
      double elapsed = clock_.now() - begin;
      if (group_->rank() == 0) going_on = !enough(whole, elapsed);
      group_->tell(going_on);
      double each = elapsed / static_cast<double>(views_.size());
      double left = std::max(0.0, sampling_.seconds - elapsed) / std::max(each, 1e-9);
      stretch = std::max<std::size_t>(
          1, std::min({views_.size() / 10, sampling_.most - std::min(sampling_.most, views_.size()),
                       static_cast<std::size_t>(left) + 1}));
      group_->tell(stretch);
    }
  }
  bool enough(const std::vector<double>& whole, double elapsed) const {
    if (whole.size() >= sampling_.most) return true;
    if (elapsed >= sampling_.seconds && whole.size() >= sampling_.least) return true;
    if (elapsed >= 4 * sampling_.seconds) return true;
    return elapsed >= std::min(shortest, sampling_.seconds) && relative_half_width(whole) <= sampling_.width;
  }
  // The samples since `first`, from all ranks, at the group's first rank.
  void append(std::vector<double>& whole, std::size_t first) const {
    std::vector<double> mine;
    for (std::size_t i = first; i < views_.size(); ++i)
      mine.insert(mine.end(), {views_[i].start, views_[i].end, views_[i].seconds});
    std::vector<double> all = group_->gather(mine);
    if (group_->rank() != 0) return;
    for (std::size_t i = 0; i < views_.size() - first; ++i) {
      Extent extent;
      for (int r = 0; r < group_->size(); ++r) {
        const double* v = &all[static_cast<std::size_t>(r) * mine.size() + 3 * i];
        extent.add(v[0], v[1], v[2]);
      }
      whole.push_back(extent.seconds(start_.by_clock));
    }
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
    bool look = clock.seconds(clock.ticks() - looked_) > 2e-3;
    if (look) looked_ = clock.ticks();
    kernel_.prepare(operations);
    ThreadWatch::Reading before = watch_.read();
    begin();
    double start = clock_.now();
    std::uint64_t from = clock.ticks();
    run(operations);
    std::uint64_t to = clock.ticks();
    double end = clock_.now();
    ThreadWatch::Reading after = watch_.read();
    ++taken_;
    double pace = look ? core_clock(short_chain, 2) : unknown;
    return {start,
            end,
            clock.seconds(to - from),
            after.waited - before.waited,
            static_cast<double>(after.switches - before.switches),
            static_cast<double>(after.faults - before.faults),
            pace,
            look ? issue_rate() / pace : unknown};
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
                             mine.counters.share};
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
      Sample s{0, 0, 0, unknown, unknown, 0, 0};
      for (std::size_t r = 0; r < out.seconds.size(); ++r) {
        if (heads[r * width] == 0) continue;
        RankView v;
        std::memcpy(&v, &all[(r * count + i) * view_numbers], sizeof v);
        extent.add(v.start, v.end, v.seconds);
        out.seconds[r].push_back(v.seconds);
        out.waited[r] += v.waited;
        s.waited = std::isnan(v.waited) ? unknown : std::max(s.waited, v.waited);
        s.switches += static_cast<long>(v.switches), s.faults += static_cast<long>(v.faults);
        if (!(v.core_clock >= s.core_clock)) s.core_clock = v.core_clock;
        if (!(v.issued >= s.issued)) s.issued = v.issued;
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
    void into(RankMeasurement& out) const {
      Measurement& m = out.whole;
      m.oversubscribed = ranks.oversubscribed();
      m.steal = m.other = m.interrupt_time = m.interrupts = m.machine_other = m.throttled = 0;
      count(m.counters);
      for (int r = 0; r < ranks.size(); ++r) {
        if (at(r, 0) > 0) {
          m.operations = static_cast<std::size_t>(at(r, 1));
          m.clock_before.push_back(at(r, 2)), m.clock_after.push_back(at(r, 3));
        }
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
        for (std::size_t i = 0; i < all.values.size(); ++i) all.values[i] += at(r, 15 + i);
      }
    }
  };

  RankKernelInterface& kernel_;
  Ranks& ranks_;
  CommonClock& clock_;
  const Sampling& sampling_;
  const Plant& plant_;
  const Start& start_;
  bool active_;
  std::unique_ptr<Group> group_;
  ThreadWatch watch_;
  std::vector<RankView> views_;
  std::size_t taken_ = 0;
  std::uint64_t looked_ = 0;
  long late_ = 0;
  double owed_ = 0;
};

}  // namespace

RankMeasurement measure(RankKernelInterface& kernel, Ranks& ranks, CommonClock& clock, const Sampling& sampling,
                        const Plant& plant, const Start& start, bool active) {
  return RankSampler(kernel, ranks, clock, sampling, plant, start, active).measure();
}

}  // namespace steelyard
