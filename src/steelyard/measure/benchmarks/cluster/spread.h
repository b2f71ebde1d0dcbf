// An array that is spread over all ranks. Each rank draws blocks of it by APEX-MAP's law of locality.
#pragma once
#include "../memory/locality.h"
#include "../network/windows.h"
#include "simd.h"

namespace steelyard {

constexpr double factor = 0.1;  // c of the definition: W += c · data[x + k]

// A block of L words: the rank that holds it, and its number on this rank.
struct Block {
  std::uint32_t owner, number;
};

// Uses several accumulators: dependent additions would take longer than the network.
inline double sum_of(const double* p, std::size_t words) {
  constexpr std::size_t chains = 4;
  Pack sums[chains] = {};
  std::size_t i = 0;
  for (; i + chains * pack_doubles <= words; i += chains * pack_doubles)
    for (std::size_t k = 0; k < chains; ++k) {
      Pack next;  // a block may begin at any word
      std::memcpy(&next, p + i + k * pack_doubles, sizeof next);
      sums[k] += next;
    }
  double sum = 0;
  for (const Pack& s : sums)
    for (std::size_t k = 0; k < pack_doubles; ++k) sum += s[k];
  for (; i < words; ++i) sum += p[i];
  return sum;
}

// The rank's part of the array, the blocks that it reads in an operation, and the right sum.
struct SpreadVector {
  static constexpr std::size_t most_words = 1 << 18;     // of an operation: at most 2 MiB arrive at the same time
  static constexpr std::size_t test_blocks = 1024;       // of an operation, like APEX-MAP's buffer of indices
  static constexpr std::size_t most_prepared = 1 << 20;  // blocks: 8 MiB; longer samples repeat them
  static constexpr double allowed_deviation = 5;         // standard deviations: by chance once in 1.7 million checks

  std::size_t M, L, ranks, count;
  std::uint32_t rank;
  PowerLaw law{1, 0};
  Random random{0};
  std::vector<Block> blocks;
  std::vector<double> places;         // by operation: the sum of all indices that it reads, exact below 2^53
  std::size_t drawn = 0, remote = 0;  // blocks drawn so far, and those that other ranks hold
  double worst = 0;                   // greatest error of a sum, divided by the error that rounding may cause
  std::size_t runs = 0;

  SpreadVector(Params& p, const Ranks& all)
      : M(p.count("elements", std::size_t{1} << 21)),
        L(p.count("L", 1)),
        ranks(static_cast<std::size_t>(all.size())),
        rank(static_cast<std::uint32_t>(all.rank())) {
    law.alpha = p.number("alpha", 1);
    if (L < 1 || M % std::max<std::size_t>(L, 1) != 0 || M / L < 2 || ranks * (M / L) > (std::size_t{1} << 32))
      throw CaseError(join({"parameter L='", L, "' must divide elements='", M,
                            "' into at least 2 blocks, and all ranks together may have at most 2^32 blocks"}));
    if (!(law.alpha > 0 && law.alpha <= 1)) throw CaseError("parameter alpha must be above 0 and at most 1");
    law.blocks = ranks * (M / L) - 1;  // as in the definition: the last block is never read
    count = std::clamp<std::size_t>(most_words / L, 1, test_blocks);
    random.state = 1 + rank;
  }

  double value(std::size_t place) const { return 0.1 * static_cast<double>(place) / static_cast<double>(M * ranks); }
  std::size_t place(Block b) const { return b.owner * M + b.number * L; }  // of its first word in the whole array
  void fill(double* mine) const {
    for (std::size_t i = 0; i < M; ++i) mine[i] = value(rank * M + i);
  }

  // Draws new blocks for the operations. The law begins at the rank's own part.
  void draw(std::size_t operations) {
    std::size_t prepared = std::clamp<std::size_t>(operations, 1, std::max<std::size_t>(1, most_prepared / count));
    double words = static_cast<double>(L), inside = words * (words - 1) / 2;
    blocks.resize(prepared * count);
    places.assign(prepared, static_cast<double>(count) * inside);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::size_t global = (rank * (M / L) + law.draw(random)) % (ranks * (M / L));
      blocks[i] = {static_cast<std::uint32_t>(global / (M / L)), static_cast<std::uint32_t>(global % (M / L))};
      places[i / count] += words * static_cast<double>(place(blocks[i]));
      remote += blocks[i].owner != rank;
    }
    drawn += blocks.size();
  }

  // P − 1 of P ranks at alpha 1, fewer as alpha falls: 1 − P^(−alpha), but for the one block that is never read.
  double expected_remote() const { return 1 - law.probability_up_to(static_cast<double>(M / L) - 1); }
  double remote_share() const { return drawn ? static_cast<double>(remote) / static_cast<double>(drawn) : unknown; }

  // The exact result of data[i] = 0.1·i/G, times c. Rounding errors of n additions grow like a random walk.
  void judge(double sum, double read_places, std::size_t operations) {
    if (operations == 0) return;
    double expected = factor * 0.1 / static_cast<double>(M * ranks) * read_places;
    double allowed = 1e-10 * std::sqrt(static_cast<double>(operations * count * L)) * expected;
    double error = std::abs(factor * sum - expected);
    worst = std::max(worst, error == 0 ? 0 : error / allowed);
    ++runs;
  }
  Check verdict(bool contents) const {
    if (runs == 0 || drawn == 0) return {false, "nothing was read"};
    double n = static_cast<double>(drawn), f = expected_remote();
    double deviation = std::abs(static_cast<double>(remote) - n * f);
    bool as_expected = deviation <= allowed_deviation * std::sqrt(n * f * (1 - f)) + 1;
    return {contents && worst <= 1 && as_expected,
            join({contents ? "every word read is right" : "a word read is wrong",
                  ", error of the sum over what rounding allows ", worst, ", remote share ", remote_share(),
                  ", expected ", f, " (1 - P^-alpha)"})};
  }
  std::string details() const {
    return json::Object().add("remote", remote_share()).add("expected", expected_remote()).str();
  }
  Work work() const {
    double accesses = static_cast<double>(count * L * ranks);
    return {{"accesses", accesses}, {"bytes", 8 * accesses}, {"flops", accesses}};
  }
};

}  // namespace steelyard
