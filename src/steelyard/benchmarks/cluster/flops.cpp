// Known work, split evenly over all ranks: each integrates its part of the interval, all from a common start.
#include "../core/integrals.h"
#include "rank_kernel.h"

using namespace steelyard;

// Module 1 of core.flops: f′/f, whose integral over any part is ln f(end) − ln f(begin).
struct Shared {
  Coefficients coefficients;
  std::size_t intervals, first, last, done = 0;
  double h, result = unknown;

  Shared(Params& p, Ranks& all) : intervals(p.count("intervals", std::size_t{1} << 25)) {
    auto ranks = static_cast<std::size_t>(all.size()), rank = static_cast<std::size_t>(all.rank());
    constexpr std::size_t most = std::size_t{1} << 40;
    if (intervals < 100 * ranks || intervals > most)
      throw CaseError(join({"parameter intervals='", intervals, "' must be at least 100 for each of the ", ranks,
                            " ranks, and at most 2^40"}));
    first = intervals / ranks * rank + std::min(rank, intervals % ranks);
    last = first + intervals / ranks + (rank < intervals % ranks);
    h = Logarithm::end / static_cast<double>(intervals);
  }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      // The left end of each interval; the trapezoidal rule's halves at the ends are put right in the check.
      result = h * Logarithm::sum(coefficients, h, first, last);
      ++done;
      clobber();
    }
  }
  // Of all ranks together.
  Work work() const { return {{"flops", Logarithm::operations.all() * static_cast<double>(intervals)}, {"bytes", 0}}; }
  void corrupt() { result *= 1 - 1 / static_cast<double>(last - first); }  // as if one pass had been left out
  Check check() const {
    if (done == 0) return {false, "nothing was computed"};
    double begin = h * static_cast<double>(first), end = h * static_cast<double>(last);
    double exact = std::log(Logarithm::cubic(end) / Logarithm::cubic(begin));
    double halves =
        h / 2 * (Logarithm::sum(coefficients, h, last, last + 1) - Logarithm::sum(coefficients, h, first, first + 1));
    double passes = static_cast<double>(last - first), error = std::abs(result + halves - exact) / exact;
    // What the rule itself leaves, and the rounding: of the logarithm's argument, and of as many additions.
    double rule = h * h / 12 * std::abs(Logarithm::slope(end) - Logarithm::slope(begin)) / exact;
    double allowed = 2 * rule + (passes / 2 + 4 / exact) * std::numeric_limits<double>::epsilon();
    return {error <= allowed, join({"relative error ", error, ", allowed ", allowed})};
  }
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<Shared>("flops")}); }
