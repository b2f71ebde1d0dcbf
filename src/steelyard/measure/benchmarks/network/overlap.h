// The share of a nonblocking operation that passes while the processor computes, by the formulas of IMB and of OSU.
#pragma once
#include "rank_kernel.h"

namespace steelyard {

// Arithmetic in registers that no compiler can shorten: each round needs the result of the one before.
[[gnu::noinline]] inline void compute(std::size_t rounds) {
  std::uint64_t x = rounds;
  for (std::size_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  keep(x);
}

class Overlap {
 public:
  // `begin(request)` begins the operation; while computing, MPI_Test is called `tests` times.
  Overlap(const Ranks& ranks, std::size_t tests) : ranks_(ranks), tests_(tests) {}

  // JSON at rank 0, of the means over the ranks of each rank's median: seconds of the operation alone ("pure"), of a
  // computation as long ("compute"), of both at once ("together"), of the computation within it without the tests
  // ("net"); and the share of the operation's time that was hidden: "imb" (IMB-NBC), "osu" (osu_ibcast and its like).
  template <class Begin>
  std::string measure(Begin begin) const {
    auto alone = [&] {
      MPI_Request request;
      begin(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    double first = ranks_.world().greatest(time_job(alone));
    auto times = static_cast<std::size_t>(std::clamp(phase / first, 5.0, 200.0));
    double pure = median(times, [&] { return time_job(alone); });
    auto rounds = static_cast<std::size_t>(ranks_.world().greatest(pure) / compute_pace());
    double computing = median(times, [&] { return time_job([&] { compute(rounds); }); });
    std::vector<double> nets;
    double together = median(times, [&] {
      double net = 0, took = time_job([&] { net = overlap_with_compute(begin, rounds); });
      nets.push_back(net);
      return took;
    });
    return json_of({pure, computing, together, take_median(nets)}, times);
  }

  static double imb(double pure, double computing, double together) {
    return std::clamp((pure + computing - together) / std::max(pure, computing), 0.0, 1.0);
  }
  // `net` is the computation within `together`, without the tests.
  static double osu(double pure, double net, double together) { return std::max(0.0, 1 - (together - net) / pure); }

 private:
  static constexpr double phase = 5e-3;  // s, the duration of each of the three parts

  static double now_seconds() { return 1e-9 * static_cast<double>(monotonic_nanoseconds()); }
  static double take_median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  }
  // Measures the seconds of a round of `compute`. Interruptions can only lengthen an attempt.
  static double compute_pace() {
    constexpr std::size_t rounds = 20'000;  // some 30 µs
    double least = INFINITY;
    for (int i = 0; i < 5; ++i) {
      double from = now_seconds();
      compute(rounds);
      least = std::min(least, now_seconds() - from);
    }
    return least / rounds;
  }
  template <class Job>
  double time_job(Job job) const {
    ranks_.world().barrier();
    double from = now_seconds();
    job();
    return now_seconds() - from;
  }
  template <class Take>
  double median(std::size_t times, Take take) const {
    std::vector<double> taken;
    for (std::size_t i = 0; i < times; ++i) taken.push_back(take());
    return take_median(taken);
  }
  // Returns the seconds of the computation within the operation, without the tests.
  template <class Begin>
  double overlap_with_compute(Begin begin, std::size_t rounds) const {
    MPI_Request request;
    begin(&request);
    double testing = 0, began = now_seconds();
    for (std::size_t i = 0; i < tests_; ++i) {
      compute(rounds / (tests_ + 1));
      int done;
      double from = now_seconds();
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      testing += now_seconds() - from;
    }
    compute(rounds - tests_ * (rounds / (tests_ + 1)));
    double net = now_seconds() - began - testing;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return net;
  }
  [[gnu::cold]] std::string json_of(const std::vector<double>& mine, std::size_t times) const {
    std::vector<double> all = ranks_.world().gather(mine), mean(mine.size());
    if (ranks_.rank() != 0) return "";
    for (std::size_t i = 0; i < all.size(); ++i) mean[i % mine.size()] += all[i] / ranks_.size();
    double pure = mean[0], computing = mean[1], together = mean[2], net = mean[3];
    return json::Object()
        .add("repetitions", times)
        .add("pure", pure)
        .add("compute", computing)
        .add("together", together)
        .add("net", net)
        .add("imb", imb(pure, computing, together))
        .add("osu", osu(pure, net, together))
        .str();
  }

  const Ranks& ranks_;
  std::size_t tests_;
};

}  // namespace steelyard
