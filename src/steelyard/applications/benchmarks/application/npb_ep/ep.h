// EP: sums and counts of normally distributed pairs. The batches do not depend on the number of threads or ranks.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "../npb/problem.h"
#include "../npb/verification.h"
#include "pairs.h"

namespace steelyard::npb {

constexpr std::uint64_t ep_seed = 271828183;
constexpr std::size_t bins = 10;

// The published sums of NPB 3.4.1.
struct EpClass {
  char letter;
  int log2_pairs;
  double x, y;
  std::size_t scale = 1;  // factor of the class's pairs

  std::size_t pairs() const { return scale << log2_pairs; }
};
constexpr EpClass ep_classes[] = {
    {'S', 24, -3.247834652034740e+3, -6.958407078382297e+3}, {'W', 25, -2.863319731645753e+3, -6.320053679109499e+3},
    {'A', 28, -4.295875165629892e+3, -1.580732573678431e+4}, {'B', 30, 4.033815542441498e+4, -2.660669192809235e+4},
    {'C', 32, 4.764367927995374e+4, -8.084072988043731e+4},  {'D', 36, 1.982481200946593e+5, -1.020596636361769e+5}};
constexpr std::array<double, 6> counts_of_s = {6140517, 5865300, 1100361, 68546, 1648, 17};

// Returns the class, or a multiple of its pairs, which continues the same random sequence.
inline EpClass ep_class(const Problem& problem) {
  constexpr std::size_t most = std::size_t{1} << 43;  // pairs: with more, the random sequence repeats
  for (EpClass c : ep_classes)
    if (c.letter == problem.letter) {
      if (problem.scale > most >> c.log2_pairs)
        throw CaseError(
            join({"scale='", problem.scale, "' cannot be used: the random numbers begin again after 2^43 pairs"}));
      c.scale = problem.scale;
      return c;
    }
  throw CaseError(join({"EP has no class '", problem.letter, "'"}));
}

// The sums of both numbers of the pairs so far, and the counts of pairs whose greater number lies in [l, l + 1).
struct PairCounts {
  Pack x{}, y{};
  Bits counts[bins] = {};
};

// The pairs of one batch: generates them side by side, gathers those inside the circle, and transforms these.
class Batch {
 public:
  // `state`: the state of the generator before the first number. `pairs`: a multiple of 4 lanes.
  static void add(std::uint64_t state, std::size_t pairs, PairCounts& tally) {
    Batch batch(state, tally);
    constexpr std::size_t round = 2 * lanes;
    for (std::size_t done = 0; done < pairs; done += most) {
      for (std::size_t i = done; i < std::min(pairs, done + most); i += round) batch.generate();
      batch.transform(batch.inside_ / lanes);
    }
    batch.finish();
  }

 private:
  static constexpr std::size_t most = 32 * lanes;  // pairs generated in a row, limited by the fields of `ones`

  Batch(std::uint64_t state, PairCounts& tally) : tally_(tally), streams_(streams(state)) {}

  // Two registers of pairs with their own streams, so that a multiplication need not wait for the one before.
  static std::array<Streams, 4> streams(std::uint64_t state) {
    std::array<std::array<std::uint64_t, lanes>, 4> first;
    Generator generator(state);
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t lane = 0; lane < lanes; ++lane)
        for (std::size_t which = 0; which < 2; ++which) {
          generator.next();
          first[2 * half + which][lane] = generator.state();
        }
    static constexpr std::uint64_t factor = Generator::power(4 * lanes);
    return {Streams(factor, first[0]), Streams(factor, first[1]), Streams(factor, first[2]), Streams(factor, first[3])};
  }
  void generate() {
    inside_ += gather_inside(streams_[0].next(), streams_[1].next(), &x_[inside_], &y_[inside_]);
    inside_ += gather_inside(streams_[2].next(), streams_[3].next(), &x_[inside_], &y_[inside_]);
  }
  // Transforms the first `packs` registers of gathered pairs, and moves the rest to the front.
  void transform(std::size_t packs) {
    static const Logarithm logarithm;
    static const std::array<std::uint64_t, 16> ones = one_per_bin();
    Bits counted{};
    Pack sum_x = tally_.x, sum_y = tally_.y;
    for (std::size_t i = 0; i < packs; ++i) {
      Pack x = pack_at(&x_[i * lanes]), y = pack_at(&y_[i * lanes]), t = x * x + y * y;
      Pack f = take_root_of_ratio(-2.0 * logarithm(t), t);
      x *= f, y *= f;
      sum_x += x, sum_y += y;
      counted += look_up<Bits>(ones, __builtin_convertvector(greater_of(magnitude(x), magnitude(y)), Whole));
    }
    tally_.x = sum_x, tally_.y = sum_y;
    for (std::size_t l = 0; l < bins; ++l) tally_.counts[l] += (counted >> (6 * l)) & 63;
    inside_ -= packs * lanes;
    for (std::size_t i = 0; i < inside_; ++i) x_[i] = x_[packs * lanes + i], y_[i] = y_[packs * lanes + i];
  }
  // Transforms the rest. Pairs on the circle fill the register: they become (0, 0) and are subtracted from the count.
  void finish() {
    std::size_t missing = lanes - inside_;
    for (std::size_t i = inside_; i < lanes; ++i) x_[i] = 1, y_[i] = 0;
    inside_ = lanes;
    transform(1);
    tally_.counts[0][0] -= missing;
  }
  // Each bin has a field of 6 bits.
  static std::array<std::uint64_t, 16> one_per_bin() {
    std::array<std::uint64_t, 16> out{};
    for (std::size_t l = 0; l < bins; ++l) out[l] = std::uint64_t{1} << (6 * l);
    return out;
  }

  PairCounts& tally_;
  std::array<Streams, 4> streams_;
  std::size_t inside_ = 0;
  alignas(64) double x_[most + 2 * lanes];
  alignas(64) double y_[most + 2 * lanes];
};

// The result of a run, which does not depend on the number of threads or ranks: the sums of each batch in a fixed
// order, and the counts, which are exact in any order.
class EpSums {
 public:
  static constexpr std::size_t batches = 1024;  // more than cores on a node; 16 KiB to exchange between ranks
  using Counts = std::array<double, bins>;

  explicit EpSums(const EpClass& c) : class_(c) {}

  // Computes the batches first … last − 1: sums[2b] and sums[2b + 1] are those of batch b. Returns the counts.
  Counts add(std::size_t first, std::size_t last, double* sums) const {
    std::size_t pairs = class_.pairs() / batches;
    Generator generator(seed_);
    generator.skip(2 * pairs * first);
    Bits counted[bins] = {};
    for (std::size_t b = first; b < last; ++b) {
      PairCounts tally;
      Batch::add(generator.state(), pairs, tally);
      generator.skip(2 * pairs);
      sums[2 * b] = sum(tally.x), sums[2 * b + 1] = sum(tally.y);
      for (std::size_t l = 0; l < bins; ++l) counted[l] += tally.counts[l];
    }
    Counts out;
    for (std::size_t l = 0; l < bins; ++l) out[l] = sum(__builtin_convertvector(counted[l], Pack));
    return out;
  }
  // Computes the result from the sums and counts of all batches.
  void finish(const double* sums, const Counts& counts) {
    x_ = y_ = 0;
    for (std::size_t b = 0; b < batches; ++b) x_ += sums[2 * b], y_ += sums[2 * b + 1];
    counts_ = counts;
    for (std::size_t i = 0; i < compared_.size(); ++i)
      compared_[i] = {sums[2 * compared[i]], sums[2 * compared[i] + 1]};
    done_ = true;
  }
  double operations() const { return 2.0 * static_cast<double>(class_.pairs()); }
  // Starts another sequence of random numbers.
  void make_wrong() { seed_ += 2; }

  Verification verification() const {
    Verification out{1e-8, {}};
    if (!done_) return out;
    if (class_.scale > 1) return verify_invariants();
    out.quantities = {{"sum of x", x_, class_.x}, {"sum of y", y_, class_.y}};
    if (class_.letter == 'S')
      for (std::size_t l = 0; l < counts_of_s.size(); ++l)
        out.quantities.emplace_back(join({"pairs in bin ", l}), counts_[l], counts_of_s[l]);
    return out;
  }
  json::Object details(const Problem& problem, const PhaseTimes& phases) const {
    return details_of(problem, verification(), phases)
        .add("counts", json::list(std::vector<double>(counts_.begin(), counts_.end())));
  }

 private:
  static constexpr std::array<std::size_t, 2> compared = {0, batches - 1};  // batches that plain loops compute again

  // Verifies any number of pairs: plain loops repeat some batches, and each statistical test fails once in 10^9 runs.
  Verification verify_invariants() const {
    constexpr double rare = 6;  // in standard deviations
    Verification out{0, {}, false};
    std::size_t pairs = class_.pairs() / batches;
    for (std::size_t i = 0; i < compared.size(); ++i) {
      auto [x, y] = sum_plainly(compared[i] * pairs, pairs);
      std::string of = join({" of batch ", compared[i] + 1, " by plain loops"});
      double unit = std::sqrt(static_cast<double>(pairs));
      out.require(join({"sum of x", of}), compared_[i].first, x, 1e-9, unit);
      out.require(join({"sum of y", of}), compared_[i].second, y, 1e-9, unit);
    }
    double all = static_cast<double>(class_.pairs()), share = std::acos(-1.0) / 4, kept = 0;
    for (double count : counts_) kept += count;
    out.require("pairs inside the circle", kept, all * share, rare, std::sqrt(all * share * (1 - share)));
    out.require("sum of x", x_, 0, rare, std::sqrt(kept));
    out.require("sum of y", y_, 0, rare, std::sqrt(kept));
    for (std::size_t l = 0; l < bins; ++l) {
      double below = std::erf(static_cast<double>(l) / std::sqrt(2.0));
      double until = std::erf(static_cast<double>(l + 1) / std::sqrt(2.0)), chance = until * until - below * below;
      if (kept * chance > 100)
        out.require(join({"pairs in bin ", l}), counts_[l], kept * chance, rare,
                    std::sqrt(kept * chance * (1 - chance)));
    }
    return out;
  }
  // Computes `count` pairs from the first one on, one after the other, with the C library's logarithm.
  static std::pair<double, double> sum_plainly(std::size_t first, std::size_t pairs) {
    Generator generator(ep_seed);
    generator.skip(2 * first);
    double sum_x = 0, sum_y = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      double x = 2 * generator.next() - 1, y = 2 * generator.next() - 1, t = x * x + y * y;
      if (t > 1) continue;
      double f = std::sqrt(-2 * std::log(t) / t);
      sum_x += x * f, sum_y += y * f;
    }
    return {sum_x, sum_y};
  }

  static double sum(Pack p) {
    double out = 0;
    for (std::size_t i = 0; i < lanes; ++i) out += p[i];
    return out;
  }

  EpClass class_;
  std::uint64_t seed_ = ep_seed;
  double x_ = 0, y_ = 0;
  std::array<std::pair<double, double>, compared.size()> compared_{};
  Counts counts_{};
  bool done_ = false;
};

}  // namespace steelyard::npb
