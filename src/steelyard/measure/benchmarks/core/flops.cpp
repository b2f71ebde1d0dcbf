// Eight small calculations with exact counts of their operations, compiled from plain scalar loops.
#include "integrals.h"
#include "kernel.h"

using namespace steelyard;

// The calculation of one thread: its input, and its last result.
struct alignas(128) Own {
  Coefficients coefficients;
  double result = unknown;
  std::size_t runs = 0;
};

template <class M>
struct Integral {
  using Computation = FlopModule<M>;
  std::size_t intervals;
  std::vector<Own> own;

  Integral(Params& p, Team& team) : intervals(p.count("intervals", 20'000)), own(team.size()) {
    constexpr std::size_t least = 100, most = 1 << 30;
    if (intervals < least || intervals > most)
      throw CaseError(join({"parameter intervals='", intervals, "' must be from ", least, " to ", most}));
  }
  void run(Worker w, std::size_t operations) {
    Own& mine = own[w.index];
    for (std::size_t i = 0; i < operations; ++i) {
      mine.result = Computation::compute(mine.coefficients, intervals);
      ++mine.runs;
      clobber();
    }
  }
  // Only the operations of the loop count, not the few around it. The loop uses no memory, so `bytes` is 0.
  Work work() const {
    double passes = static_cast<double>((intervals - 1) * own.size());
    return {{"flops", Computation::operations.all() * passes}, {"bytes", 0}, {"passes", passes}};
  }
  Check check() {
    double worst = 0, allowed = Computation::allowed(intervals), expected = Computation::expected(intervals);
    std::size_t idle = 0;
    for (const Own& o : own) {
      idle += o.runs == 0 || std::isnan(o.result);
      worst = std::max(worst, std::abs(o.result - expected));
    }
    if (idle > 0) return {false, "nothing was computed"};
    return {worst <= allowed,
            join({"the result misses the theory of ", intervals, " intervals by ", worst, ", allowed ", allowed})};
  }
  // Changes the result as if one pass were missing.
  void corrupt() { own.back().result *= 1 - 1 / number(intervals); }
  std::string details() const {
    double result = own[0].result;
    return json::Object()
        .add("result", result)
        .add("exact", Computation::exact())
        .add("error", result - Computation::exact())
        .str();
  }
};

int main() {
  return serve({kernel<Integral<Logarithm>>("module1"), kernel<Integral<Series>>("module2"),
                kernel<Integral<Sine>>("module3"), kernel<Integral<Cosine>>("module4"),
                kernel<Integral<Tangent>>("module5"), kernel<Integral<SineCosine>>("module6"),
                kernel<Integral<Fractions>>("module7"), kernel<Integral<SineCosineSquared>>("module8")});
}
