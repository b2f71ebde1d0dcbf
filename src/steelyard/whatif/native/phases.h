// The computing phases of a trace, counted by rank and length, with the causes of long ones.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "json.h"
#include "schedule.h"

namespace steelyard::whatif {

// A phase in which a rank waited for a processor. Some of the wait may lie in short calls before it.
struct Interrupted {
  std::uint32_t rank;
  std::uint64_t region;
  Time time, waited;
};
// Further data about phases in a trace of ours.
struct Measured {
  std::vector<Time> starts;  // by rank: the part of its first phase before the rank began
  std::vector<Interrupted> interrupted;
  std::vector<Time> waiting;  // by rank: seconds of waiting for a processor, over all its phases

  // Removes the data outside these regions.
  void keep(std::uint64_t from, std::uint64_t to) {
    if (from > 0) starts.clear();
    std::erase_if(interrupted, [&](const Interrupted& one) { return one.region < from || one.region > to; });
  }
};

using Counts = std::vector<std::vector<std::uint64_t>>;  // by row of ranks, then by bin

// A cluster: phases of similar length, which form one peak of the distribution.
struct Cluster {
  static constexpr int BINS = 40;  // of equal width, from the shortest to the longest phase
  Time least = LONGEST, most = 0;
  Time typical = 0;      // the median phase of the median rank
  Time limit = LONGEST;  // a longer phase is an outlier
  std::uint64_t count = 0, outliers = 0;
  double computing = 0;  // sum, ps
  Counts rows;

  Time width() const { return (most - least) / BINS + 1; }
};

// A phase is what a rank computes between two of its calls.
struct Phases {
  static constexpr int BINS = 10;  // of the overview, in each factor of ten from 1 ns on; shorter phases count there
  static constexpr double VALLEY = 0.1;  // of the lower one of two peaks: a deeper valley separates two clusters
  // A cluster that few ranks have, or with few phases against the next shorter one, is a part of that: its outliers.
  static constexpr double FEW = 0.05, FEW_RANKS = 0.5;
  // An outlier exceeds the typical phase by so many usual deviations, and by this share of it.
  static constexpr Time DEVIATIONS = 10;
  static constexpr double LEAST = 0.02;
  // A limit for outliers may be exceeded by at most this share of the phases of a cluster.
  static constexpr double MOST = 0.08;
  // With fewer phases there is no usual deviation: an outlier exceeds the longest phase of the median rank by a share.
  static constexpr std::uint64_t FEWEST = 20;
  static constexpr double LEAST_OF_FEW = 0.25;

  std::uint64_t count = 0, outliers = 0;
  std::uint64_t looked = 0, explained = 0;         // outliers whose wait is known; that are none without it
  double computing = 0, waited = 0, outlying = 0;  // sums, ps: of many ranks they exceed a Time
  std::uint32_t outlying_ranks = 0;
  std::size_t first = 0;       // the lowest bin of the overview that has a phase
  std::uint32_t together = 1;  // neighbouring ranks that share a row
  Counts rows;
  std::vector<Cluster> clusters;  // the shortest phases first
};

constexpr int FINE = 100;  // bins in each factor of ten, in which clusters are found

inline std::size_t bin(Time time, int bins) {
  const double place = std::log10(static_cast<double>(time) / NANOSECOND) * bins;
  return place > 0 ? static_cast<std::size_t>(place) : 0;
}

// Calls `act` for each phase of each rank. Successive computing without a call between is one phase.
template <class Act>
void each(const Schedule& schedule, const Measured& measured, Act act) {
  for (std::size_t stream = 0; stream < schedule.begins.size(); ++stream) {
    const std::uint32_t rank = schedule.rank_of[stream];
    const bool first = stream == 0 || schedule.rank_of[stream - 1] != rank;
    Time time = first && rank < measured.starts.size() ? -measured.starts[rank] : 0;
    for (const Op* op = &schedule.ops[schedule.begins[stream]];; ++op) {
      if (op->kind() == Kind::compute) {
        time += static_cast<Time>(op->value());
        continue;
      }
      if (time > 0) act(rank, time);
      time = 0;
      if (op->kind() == Kind::end) break;
    }
  }
}

// All phases of each rank at once.
template <class Act>
void each_rank(const Schedule& schedule, const Measured& measured, Act act) {
  std::vector<Time> of_rank;
  std::uint32_t last = 0;
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    if (rank != last) act(of_rank), of_rank.clear();
    last = rank;
    of_rank.push_back(time);
  });
  act(of_rank);
}

// The lower median; it reorders the values.
inline Time median(std::vector<Time>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline void count_in_bin(std::vector<std::uint64_t>& row, std::size_t at) {
  if (row.size() <= at) row.resize(at + 1);
  ++row[at];
}

// A range of fine bins around a peak of the smoothed counts; `valley` is the lowest count between it and the next
// range.
struct Range {
  std::size_t begin, end;
  double peak, valley;
};

inline std::vector<double> smooth_counts(const std::vector<Cluster>& fine) {
  std::vector<double> found(fine.size());
  for (std::size_t i = 0; i < fine.size(); ++i)
    for (std::size_t j = i > 0 ? i - 1 : 0; j < std::min(i + 2, fine.size()); ++j)
      found[i] += static_cast<double>(fine[j].count);
  return found;
}

// Returns the peaks of the counts that deep valleys separate.
inline std::vector<Range> find_peaks(const std::vector<double>& counts) {
  std::vector<Range> found;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool rises =
        i == 0 || (counts[i] > counts[i - 1] && (found.empty() || i < 2 || counts[i - 1] <= counts[i - 2]));
    if (found.empty() || rises) {
      if (!found.empty()) found.back().end = i, found.back().valley = counts[i - 1];
      found.push_back({i, counts.size(), counts[i], 0});
    }
    found.back().peak = std::max(found.back().peak, counts[i]);
  }
  // The shallowest valley goes first.
  while (found.size() > 1) {
    std::size_t at = 0;
    double depth = -1;
    for (std::size_t i = 0; i + 1 < found.size(); ++i) {
      const double lower = std::min(found[i].peak, found[i + 1].peak);
      const double here = lower > 0 ? found[i].valley / lower : 1;
      if (here > depth) depth = here, at = i;
    }
    if (depth < Phases::VALLEY) break;
    Range& into = found[at];
    into.end = found[at + 1].end, into.valley = found[at + 1].valley;
    into.peak = std::max(into.peak, found[at + 1].peak);
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return found;
}

// Returns the clusters, by the shortest and the longest phase of each fine bin.
inline std::vector<Cluster> separate_clusters(const std::vector<Cluster>& fine) {
  std::vector<Cluster> found;
  for (const Range& range : find_peaks(smooth_counts(fine))) {
    Cluster into;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Cluster& one = fine[i];
      into.least = std::min(into.least, one.least), into.most = std::max(into.most, one.most);
      into.count += one.count, into.computing += one.computing;
    }
    if (into.count) found.push_back(into);
  }
  return found;
}

inline std::size_t find_cluster(const std::vector<Cluster>& clusters, Time time) {
  const auto found =
      std::find_if(clusters.begin(), clusters.end(), [&](const Cluster& one) { return time <= one.most; });
  return static_cast<std::size_t>(found - clusters.begin());
}

// Merges clusters that are outliers of the next shorter one.
inline void merge(const Schedule& schedule, const Measured& measured, std::vector<Cluster>& clusters) {
  std::vector<std::uint32_t> ranks(clusters.size()), last(clusters.size(), schedule.ranks);
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    const std::size_t i = find_cluster(clusters, time);
    ranks[i] += last[i] != rank;
    last[i] = rank;
  });
  std::vector<Cluster> kept;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const Cluster& one = clusters[i];
    const bool few =
        !kept.empty() && (ranks[i] < Phases::FEW_RANKS * schedule.ranks ||
                          static_cast<double>(one.count) < Phases::FEW * static_cast<double>(kept.back().count));
    if (!few) {
      kept.push_back(one);
      continue;
    }
    kept.back().most = one.most;
    kept.back().count += one.count, kept.back().computing += one.computing;
  }
  clusters = std::move(kept);
}

// Finds from which length on a phase of a cluster is an outlier. Ranks are compared by their medians, so that a rank
// with more work than the others has outliers, while the usual deviation is that within a rank.
inline void find_limits(const Schedule& schedule, const Measured& measured, std::vector<Cluster>& clusters) {
  const std::size_t count = clusters.size();
  std::vector<std::vector<Time>> medians(count), deviations(count), longest(count), own(count);
  each_rank(schedule, measured, [&](const std::vector<Time>& of_rank) {
    for (auto& times : own) times.clear();
    for (Time time : of_rank) own[find_cluster(clusters, time)].push_back(time);
    for (std::size_t i = 0; i < count; ++i) {
      if (own[i].empty()) continue;
      longest[i].push_back(*std::max_element(own[i].begin(), own[i].end()));
      medians[i].push_back(median(own[i]));
      for (Time& time : own[i]) time = std::abs(time - medians[i].back());
      deviations[i].push_back(median(own[i]));
    }
  });
  auto above = [](Time time, double share) { return time + static_cast<Time>(share * static_cast<double>(time)); };
  for (std::size_t i = 0; i < count; ++i) {
    Cluster& one = clusters[i];
    one.typical = median(medians[i]);
    one.limit = one.count < Phases::FEWEST ? above(median(longest[i]), Phases::LEAST_OF_FEW)
                                           : std::max(one.typical + Phases::DEVIATIONS * median(deviations[i]),
                                                      above(one.typical, Phases::LEAST));
  }
}

inline void count_phases(const Schedule& schedule, const Measured& measured, Phases& out) {
  for (Cluster& one : out.clusters) one.rows.assign(out.rows.size(), std::vector<std::uint64_t>(Cluster::BINS));
  std::uint32_t last = schedule.ranks;
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    Cluster& one = out.clusters[find_cluster(out.clusters, time)];
    ++one.rows[rank / out.together][static_cast<std::size_t>((time - one.least) / one.width())];
    one.outliers += time > one.limit;
  });
  for (Cluster& one : out.clusters)
    if (one.count >= Phases::FEWEST &&
        static_cast<double>(one.outliers) > Phases::MOST * static_cast<double>(one.count))
      one.limit = one.most, one.outliers = 0;
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    if (time <= out.clusters[find_cluster(out.clusters, time)].limit) return;
    ++out.outliers;
    out.outlying += static_cast<double>(time);
    out.outlying_ranks += last != rank;
    last = rank;
  });
  for (const Interrupted& one : measured.interrupted) {
    out.waited += static_cast<double>(one.waited);
    if (one.time <= 0 || one.time > out.clusters.back().most) continue;
    const Time limit = out.clusters[find_cluster(out.clusters, one.time)].limit;
    out.looked += one.time > limit;
    out.explained += one.time > limit && one.time - one.waited <= limit;
  }
}

inline Phases phases(const Schedule& schedule, const Measured& measured, std::uint32_t most_rows) {
  Phases out;
  out.together = std::max<std::uint32_t>((schedule.ranks + most_rows - 1) / most_rows, 1);
  out.rows.resize((schedule.ranks + out.together - 1) / out.together);
  std::vector<Cluster> fine;
  std::size_t bins = 0;
  out.first = ~std::size_t{0};
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    const std::size_t at = bin(time, Phases::BINS), finely = bin(time, FINE);
    count_in_bin(out.rows[rank / out.together], at);
    if (fine.size() <= finely) fine.resize(finely + 1);
    Cluster& one = fine[finely];
    one.least = std::min(one.least, time), one.most = std::max(one.most, time);
    ++one.count, ++out.count;
    one.computing += static_cast<double>(time), out.computing += static_cast<double>(time);
    out.first = std::min(out.first, at), bins = std::max(bins, at + 1);
  });
  out.first = std::min(out.first, bins);
  for (auto& row : out.rows) {
    row.resize(bins);
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(out.first));
  }
  if (!out.count) return out;
  out.clusters = separate_clusters(fine);
  merge(schedule, measured, out.clusters);
  find_limits(schedule, measured, out.clusters);
  count_phases(schedule, measured, out);
  return out;
}

inline std::string said(const Counts& rows) { return json::list(rows, json::list<std::uint64_t>); }

inline std::string describe_cluster(const Cluster& one) {
  return json::Object()
      .add("count", one.count)
      .add("outliers", one.outliers)
      .add("computing", one.computing)
      .add("typical", one.typical)
      .add("limit", one.limit)
      .add("least", one.least)
      .add("width", one.width())
      .add("rows", said(one.rows))
      .str();
}

// In JSON.
inline std::string said(const Phases& phases) {
  return json::Object()
      .add("count", phases.count)
      .add("computing", phases.computing)
      .add("waited", phases.waited)
      .add("outliers", phases.outliers)
      .add("looked", phases.looked)
      .add("explained", phases.explained)
      .add("outlying", phases.outlying)
      .add("outlying_ranks", phases.outlying_ranks)
      .add("bins", Phases::BINS)
      .add("first", phases.first)
      .add("together", phases.together)
      .add("rows", said(phases.rows))
      .add("clusters", json::list(phases.clusters, describe_cluster))
      .str();
}

}  // namespace steelyard::whatif
