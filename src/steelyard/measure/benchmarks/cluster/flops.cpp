// Known work, split evenly over all ranks: each rank integrates its part of the interval. Either the ranks are
// independent from a common start on, or rank 0 distributes the work and collects the results.
#include "../core/integrals.h"
#include "rank_kernel.h"

using namespace steelyard;

// Module 1 of core.flops: f′/f, whose integral over any part is ln f(end) − ln f(begin).
struct Integral {
  Coefficients coefficients;
  std::size_t intervals, ranks, rank, done = 0;
  double h;

  Integral(Params& p, Ranks& all)
      : intervals(p.count("intervals", std::size_t{1} << 25)),
        ranks(static_cast<std::size_t>(all.size())),
        rank(static_cast<std::size_t>(all.rank())),
        h(Logarithm::end / static_cast<double>(intervals)) {
    constexpr std::size_t most = std::size_t{1} << 40;
    if (intervals < 100 * ranks || intervals > most)
      throw CaseError(join({"parameter intervals='", intervals, "' must be at least 100 for each of the ", ranks,
                            " ranks, and at most 2^40"}));
  }
  // Returns the first of a rank's pieces; `amount` is the total. A part ends where that of the next rank begins.
  std::size_t first_of(std::size_t of_rank, std::size_t amount) const {
    return amount / ranks * of_rank + std::min(of_rank, amount % ranks);
  }
  // The left end of each interval; the trapezoidal rule's halves at the ends are put right in `compare`.
  double over(std::size_t first, std::size_t last) const { return h * Logarithm::sum(coefficients, h, first, last); }
  // Returns the work of all ranks together.
  Work work() const { return {{"flops", Logarithm::operations.all() * static_cast<double>(intervals)}, {"bytes", 0}}; }

  struct Error {
    double relative, allowed;
    // Returns the error relative to the allowed error; at least 2 if the result is NaN.
    double share() const { return relative <= allowed ? relative / allowed : std::max(2.0, relative / allowed); }
  };
  Error compare(double result, std::size_t first, std::size_t last) const {
    double begin = h * static_cast<double>(first), end = h * static_cast<double>(last);
    double exact = std::log(Logarithm::cubic(end) / Logarithm::cubic(begin));
    double halves =
        h / 2 * (Logarithm::sum(coefficients, h, last, last + 1) - Logarithm::sum(coefficients, h, first, first + 1));
    double passes = static_cast<double>(last - first), error = std::abs(result + halves - exact) / exact;
    // The error of the rule itself, and the rounding of the logarithm's argument and of the additions.
    double rule = h * h / 12 * std::abs(Logarithm::slope(end) - Logarithm::slope(begin)) / exact;
    return {error, 2 * rule + (passes / 2 + 4 / exact) * std::numeric_limits<double>::epsilon()};
  }
  static Check verdict(const Error& error) {
    return {error.relative <= error.allowed, join({"relative error ", error.relative, ", allowed ", error.allowed})};
  }
  static double integrate_without_one(std::size_t passes) { return 1 - 1 / static_cast<double>(passes); }
};

// No rank sends a message.
struct Independent : Integral {
  std::size_t first, last;
  double result = unknown;

  Independent(Params& p, Ranks& all)
      : Integral(p, all), first(first_of(rank, intervals)), last(first_of(rank + 1, intervals)) {}
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      result = over(first, last);
      ++done;
      clobber();
    }
  }
  void corrupt() { result *= integrate_without_one(last - first); }  // as if one pass were missing
  Check check() const { return done ? verdict(compare(result, first, last)) : Check{false, "nothing was computed"}; }
};

// A parallel task: rank 0 sends each rank the beginnings of its strips, and collects the integral of each strip.
struct Task : Integral {
  static constexpr std::size_t most_strips = 1 << 24;  // 128 MiB in each direction
  static constexpr std::size_t most_kept = 4096;       // latest operations whose times are kept

  std::size_t strip, strips;
  std::vector<double> begins, mine, integrals, all_begins, collected;
  std::vector<int> counts, shifts, counts_back, shifts_back;  // the way back has the seconds of each rank, too
  std::vector<double> computing, communication;
  double integral = unknown;

  Task(Params& p, Ranks& all)
      // A rank has at least one strip.
      : Integral(p, all), strip(std::min(p.count("strip", 1024), intervals / ranks)), group_(all.world()) {
    if (strip < 1) throw CaseError("parameter strip='0' must be at least 1");
    strips = (intervals + strip - 1) / strip;
    if (strips > most_strips)
      throw CaseError(join({"parameter strip='", strip, "' divides intervals='", intervals, "' into ", strips,
                            " strips. The most are 2^24: set a larger strip."}));
    mine.resize(first_of(rank + 1, strips) - first_of(rank, strips));
    integrals.resize(mine.size() + 1);
    if (rank != 0) return;
    for (std::size_t r = 0; r < ranks; ++r) {
      std::size_t first = first_of(r, strips), count = first_of(r + 1, strips) - first;
      counts.push_back(static_cast<int>(count)), shifts.push_back(static_cast<int>(first));
      counts_back.push_back(static_cast<int>(count + 1)), shifts_back.push_back(static_cast<int>(first + r));
    }
    for (std::size_t s = 0; s < strips; ++s) all_begins.push_back(static_cast<double>(s * strip));
    collected.assign(strips + ranks, unknown);
  }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      const std::uint64_t start = Clock::get().ticks();
      distribute();
      const std::uint64_t ready = Clock::get().ticks();
      for (std::size_t s = 0; s < mine.size(); ++s) {
        auto first = static_cast<std::size_t>(mine[s]);
        integrals[s] = over(first, std::min(first + strip, intervals));
      }
      integrals.back() = Clock::get().seconds(Clock::get().ticks() - ready);
      collect();
      if (rank == 0) add(start);
      ++done;
      clobber();
    }
  }
  Check check() const {
    if (done == 0) return {false, "nothing was computed"};
    if (rank != 0) return {true, "rank 0 has the results"};
    Error worst = compare(integral, 0, intervals);
    for (std::size_t s = 0; s < strips; ++s) {
      Error error = compare(collected[place_of(s)], s * strip, std::min((s + 1) * strip, intervals));
      if (!(error.share() <= worst.share())) worst = error;
    }
    return verdict(worst);
  }
  // Changes the result as if one pass of the last strip were missing.
  void corrupt() {
    if (rank == 0) collected[place_of(strips - 1)] *= integrate_without_one(intervals - (strips - 1) * strip);
  }
  // Seconds of an operation, medians: `computing` until the slowest rank has computed, `communication` is the rest.
  // `bytes` pass between ranks.
  std::string details() const {
    if (computing.empty()) return "null";
    double moved = 8.0 * static_cast<double>(2 * (strips - mine.size()) + ranks - 1);
    return json::Object()
        .add("computing", take_median(computing))
        .add("communication", take_median(communication))
        .add("bytes", moved)
        .str();
  }

 private:
  void distribute() {
    MPI_Request request;
    MPI_Iscatterv(all_begins.data(), counts.data(), shifts.data(), MPI_DOUBLE, mine.data(),
                  static_cast<int>(mine.size()), MPI_DOUBLE, 0, group_.comm(), &request);
    complete(1, &request);
  }
  void collect() {
    MPI_Request request;
    MPI_Igatherv(integrals.data(), static_cast<int>(integrals.size()), MPI_DOUBLE, collected.data(), counts_back.data(),
                 shifts_back.data(), MPI_DOUBLE, 0, group_.comm(), &request);
    complete(1, &request);
  }
  // Index of a strip's integral in `collected`, behind the seconds of each earlier rank.
  std::size_t place_of(std::size_t s) const {
    std::size_t more = strips % ranks, fewer = strips / ranks;
    return s + (s < more * (fewer + 1) ? s / (fewer + 1) : more + (s - more * (fewer + 1)) / fewer);
  }
  void add(std::uint64_t start) {
    integral = 0;
    double longest = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      const double* at = collected.data() + shifts_back[r];
      for (std::size_t s = 0; s + 1 < static_cast<std::size_t>(counts_back[r]); ++s) integral += at[s];
      longest = std::max(longest, at[counts_back[r] - 1]);
    }
    if (computing.size() < most_kept) computing.push_back(0), communication.push_back(0);
    const std::size_t at = done % most_kept;
    computing[at] = longest;
    communication[at] = Clock::get().seconds(Clock::get().ticks() - start) - longest;
  }
  static double take_median(std::vector<double> values) {
    auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
  const Group& group_;
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv, {rank_kernel<Independent>("flops"), rank_kernel<Task>("task")});
}
