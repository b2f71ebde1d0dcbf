// Accounts of each rank of a case, which rank 0 combines into one measurement.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "rank_kernel.h"
#include "sampling.h"

namespace steelyard {

// The start of a sample: "barrier", which is comparable with others (a sample is the longest time of a rank), or
// "clock", at one moment of the common clock (from the first start to the last end).
struct Start {
  bool by_clock;
  explicit Start(Params& p, const char* otherwise)
      : by_clock(p.choice("start", otherwise, {"barrier", "clock"}) == "clock") {}
};

// Measurement of one case at rank 0: the time of all ranks together, and the account of each.
struct RankMeasurement {
  Measurement whole;
  std::vector<std::vector<double>> seconds;  // of each rank in each sample; empty for a rank that took no part
  std::vector<double> waited;                // seconds in which each rank was ready but did not run
  std::vector<double> throttled;             // of each rank, as in MachineReading: by quotas on its host
  std::vector<Pace> pace;                    // the slowest pace of each rank
  long late = 0;                             // samples in which a rank began after the agreed moment
};

// The view of one rank on one sample.
struct RankView {
  double start, end, seconds, waited, switches, faults;  // start and end by the common clock
  Pace pace;                                             // read after the sample
};

// One sample of several ranks.
struct Extent {
  double first = INFINITY, last = -INFINITY, longest = 0;
  void add(double start, double end, double seconds) {
    first = std::min(first, start), last = std::max(last, end), longest = std::max(longest, seconds);
  }
  double seconds(const Start& start) const { return start.by_clock ? last - first : longest; }
};

// The account of one rank over a case.
struct RankAccount {
  Measurement own;
  std::vector<RankView> views;
  Pace slowest;
  double began = 0;  // own.began by the common clock
  long late = 0;     // samples that the rank began after the agreed moment
};

// A Look as an array of numbers, for MPI.
struct LookNumbers {
  double sample;
  Pace pace;
};

// The account of a whole case that a rank sends; its counters follow.
struct Head {
  double samples, operations, clock_before, clock_after;
  double own, busy, steal, busy_all, interrupt_time, interrupts, throttled, elapsed;  // as in MachineReading
  double processors, most_steal, most_interrupts, machine_processors;                 // as in Measurement
  double busy_here;  // least_busy of the processor of the rank; unknown if the rank is not pinned
  double late, counter_error, counter_share;
  double began, ended, monotonic, common, waited;  // common: `began` by the common clock
  Pace before, after, slowest;
};
constexpr std::size_t head_numbers = sizeof(Head) / sizeof(double);

// Returns the first of several entries; unknown without entries, as for a rank that takes no part.
inline double first_of(const std::vector<double>& values) { return values.empty() ? unknown : values.front(); }

inline std::vector<double> packed(const RankAccount& a, const MachineReading& before, const MachineReading& after,
                                  int cpu) {
  const Measurement& m = a.own;
  const Head head{static_cast<double>(a.views.size()),
                  static_cast<double>(m.operations),
                  first_of(m.clock_before),
                  first_of(m.clock_after),
                  after.own - before.own,
                  after.busy - before.busy,
                  after.steal - before.steal,
                  after.busy_all - before.busy_all,
                  after.interrupt_time - before.interrupt_time,
                  after.interrupts - before.interrupts,
                  after.throttled - before.throttled,
                  after.at - before.at,
                  static_cast<double>(after.steals.size()),
                  greatest_difference(before.steals, after.steals),
                  greatest_difference(before.interrupt_times, after.interrupt_times),
                  after.processors,
                  least_busy(before, after, cpu),
                  static_cast<double>(a.late),
                  static_cast<double>(m.counters.error),
                  m.counters.share,
                  m.began,
                  m.ended,
                  m.monotonic,
                  a.began,
                  m.waited,
                  m.pace_before,
                  m.pace_after,
                  a.slowest};
  std::vector<double> numbers(head_numbers);
  std::memcpy(numbers.data(), &head, sizeof head);
  numbers.insert(numbers.end(), m.counters.values.begin(), m.counters.values.end());
  return numbers;
}

// Collects the values of all ranks at the first rank. Each row is as long as the longest; missing values are NaN.
template <class Numbers>
std::vector<Numbers> gather_numbers(const std::vector<Numbers>& mine, const Group& world) {
  constexpr std::size_t width = sizeof(Numbers) / sizeof(double);
  auto most = static_cast<std::size_t>(world.greatest(static_cast<double>(mine.size())));
  std::vector<double> numbers(most * width, unknown);
  if (!mine.empty()) std::memcpy(numbers.data(), mine.data(), mine.size() * sizeof(Numbers));
  std::vector<double> all = world.gather(numbers);
  std::vector<Numbers> found(all.size() / width);
  if (!all.empty()) std::memcpy(static_cast<void*>(found.data()), all.data(), all.size() * sizeof(double));
  return found;
}

// The accounts of all ranks, at the first rank.
class Accounts {
 public:
  // `rows`: the packed account of each rank. `views`: for each rank, as many as the rank with the most has.
  Accounts(const Ranks& ranks, std::vector<double> rows, std::vector<RankView> views)
      : ranks_(ranks),
        rows_(std::move(rows)),
        heads_(static_cast<std::size_t>(ranks.size())),
        views_(std::move(views)) {
    for (int r = 0; r < ranks.size(); ++r)
      std::memcpy(static_cast<void*>(&heads_[static_cast<std::size_t>(r)]), row(r), sizeof(Head));
  }

  RankMeasurement measurement(const Start& start) const {
    RankMeasurement out;
    Measurement& m = out.whole;
    m.oversubscribed = ranks_.oversubscribed();
    m.steal = m.other = m.interrupt_time = m.interrupts = m.machine_other = m.processors = 0;
    m.began = head(0).began, m.ended = head(0).ended, m.monotonic = head(0).monotonic;
    count(m.counters);
    for (int r = 0; r < ranks_.size(); ++r) {
      const Head& h = head(r);
      if (h.samples > 0) {
        m.operations = static_cast<std::size_t>(h.operations);
        m.clock_before.push_back(h.clock_before), m.clock_after.push_back(h.clock_after);
        m.waited = std::max(m.waited, h.waited);
        m.pace_before.join(h.before), m.pace_after.join(h.after);
      }
      out.pace.push_back(h.slowest);
      out.throttled.push_back(h.throttled);
      m.elapsed = std::max(m.elapsed, h.elapsed);
      out.late += static_cast<long>(h.late);
    }
    for (const std::vector<int>& here : ranks_.machines()) add_machine(m, here);
    samples(out, start);
    return out;
  }

 private:
  const double* row(int rank) const {
    return &rows_[static_cast<std::size_t>(rank) * (rows_.size() / static_cast<std::size_t>(ranks_.size()))];
  }
  const Head& head(int rank) const { return heads_[static_cast<std::size_t>(rank)]; }

  // Computes the accounts of the machine with these ranks, without the time that the ranks themselves used.
  void add_machine(Measurement& m, const std::vector<int>& here) const {
    const Head& h = head(here.front());
    double own = 0;
    std::map<int, double> others;  // of each processor with a rank: all threads of a rank may have run there
    for (int other : here) {
      own += head(other).own;
      if (double busy = head(other).busy_here; !std::isnan(busy))
        others.try_emplace(ranks_.place(other).cpu, busy).first->second -= head(other).own;
    }
    for (const auto& [cpu, seconds] : others) m.most_other = std::fmax(m.most_other, std::max(0.0, seconds));
    m.other += std::max(0.0, h.busy - own);
    m.steal += h.steal;
    m.processors += h.processors;
    m.most_steal = std::fmax(m.most_steal, h.most_steal);
    m.most_interrupts = std::fmax(m.most_interrupts, h.most_interrupts);
    double cores = std::max(0.0, h.busy_all - own) / std::max(h.elapsed, 1e-9);
    // The machine with the greatest share stands for all, because a sum over machines would mix denominators.
    if (!(cores * m.machine_processors <= m.machine_other * h.machine_processors))
      m.machine_other = cores, m.machine_processors = h.machine_processors;
    m.interrupt_time += h.interrupt_time, m.interrupts += h.interrupts;
    // In a mixed run most hosts have no quota, so they have no account of stops.
    if (!std::isnan(h.throttled)) m.throttled = h.throttled + (std::isnan(m.throttled) ? 0 : m.throttled);
  }

  // Adds up the ranks that took part; unknown if one of them could not count. The least share stands for all.
  void count(Counts& all) const {
    all.values.assign(all.events.size(), 0.0);
    all.share = 1;
    for (int r = 0; r < ranks_.size(); ++r) {
      const Head& h = head(r);
      if (h.samples == 0) continue;
      if (all.error == 0) all.error = static_cast<int>(h.counter_error);
      all.share = h.counter_share <= all.share || std::isnan(h.counter_share) ? h.counter_share : all.share;
      for (std::size_t i = 0; i < all.values.size(); ++i) all.values[i] += row(r)[head_numbers + i];
    }
  }

  void samples(RankMeasurement& out, const Start& start) const {
    const auto ranks = static_cast<std::size_t>(ranks_.size());
    const std::size_t count = views_.size() / ranks;
    out.seconds.resize(ranks);
    out.waited.resize(ranks);
    for (std::size_t i = 0; i < count; ++i) {
      Extent extent;
      Sample s{0, 0, 0, 0, 0, {}};
      for (std::size_t r = 0; r < ranks; ++r) {
        if (heads_[r].samples == 0) continue;
        const RankView& v = views_[r * count + i];
        extent.add(v.start, v.end, v.seconds);
        out.seconds[r].push_back(v.seconds);
        out.waited[r] += v.waited;
        s.waited = std::isnan(v.waited) ? unknown : std::max(s.waited, v.waited);
        s.switches += static_cast<long>(v.switches), s.faults += static_cast<long>(v.faults);
        s.pace.join(v.pace);
      }
      s.at = extent.first - head(0).common;
      s.seconds = extent.seconds(start);
      out.whole.samples.push_back(s);
    }
  }

  const Ranks& ranks_;
  const std::vector<double> rows_;
  std::vector<Head> heads_;
  const std::vector<RankView> views_;
};

// Returns at rank 0 the measurement of all ranks, with the accounts of each machine once (read before and after the
// samples), and nothing at other ranks. All ranks call it.
inline RankMeasurement joined(const RankAccount& mine, const MachineReading& before, const MachineReading& after,
                              const Ranks& ranks, const Start& start) {
  std::vector<double> heads = ranks.world().gather(packed(mine, before, after, ranks.place(ranks.rank()).cpu));
  std::vector<RankView> views = gather_numbers(mine.views, ranks.world());
  std::vector<LookNumbers> looks;
  for (const Look& look : mine.own.looks) looks.push_back({static_cast<double>(look.sample), look.pace});
  looks = gather_numbers(looks, ranks.world());
  if (ranks.rank() != 0) return {};
  RankMeasurement out = Accounts(ranks, std::move(heads), std::move(views)).measurement(start);
  for (const LookNumbers& look : looks)  // only the first participating rank has looks
    if (!std::isnan(look.sample)) out.whole.looks.push_back({static_cast<std::size_t>(look.sample), look.pace});
  return out;
}

}  // namespace steelyard
