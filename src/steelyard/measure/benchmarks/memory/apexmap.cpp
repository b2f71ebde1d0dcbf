// APEX-MAP: blocks of L consecutive words are read, their starts drawn by a power law of temporal locality alpha.
#include "kernel.h"
#include "locality.h"
#include "simd.h"

using namespace steelyard;

constexpr double factor = 0.1;  // c of the definition: W += c · data[x + k]

// Reads `count` blocks of L words and adds them to `sum`.
using Walk = double (*)(const double* data, const std::uint32_t* blocks, std::size_t count, std::size_t L, double sum);

// Adds with one accumulator, as in the original: every addition waits for the one before.
double read_serially(const double* data, const std::uint32_t* blocks, std::size_t count, std::size_t L, double sum) {
  for (std::size_t i = 0; i < count; ++i) {
    const double* block = data + L * blocks[i];
    for (std::size_t k = 0; k < L; ++k) sum += factor * block[k];
  }
  return sum;
}

// Adds with A accumulators along each block.
template <std::size_t A>
double read_along_block(const double* data, const std::uint32_t* blocks, std::size_t count, std::size_t L, double sum) {
  constexpr std::size_t packs = A / pack_doubles;
  Pack sums[packs] = {}, all = {};
  const Pack c = pack_of(factor);
  for (std::size_t i = 0; i < count; ++i) {
    const double* block = data + L * blocks[i];
    for (std::size_t k = 0; k < L; k += A)
#pragma GCC unroll 16
      for (std::size_t j = 0; j < packs; ++j) sums[j] += c * pack_at(block + k + j * pack_doubles);
  }
  for (const Pack& s : sums) all += s;
  for (std::size_t j = 0; j < pack_doubles; ++j) sum += all[j];
  return sum;
}

// Adds A blocks at the same time, each with its own accumulator, for blocks that are too short to be split.
template <std::size_t A>
double read_across(const double* data, const std::uint32_t* blocks, std::size_t count, std::size_t L, double sum) {
  double sums[A] = {};
  std::size_t i = 0;
  for (; i + A <= count; i += A)
    for (std::size_t k = 0; k < L; ++k)
#pragma GCC unroll 32
      for (std::size_t j = 0; j < A; ++j) sums[j] += factor * data[L * blocks[i + j] + k];
  for (double s : sums) sum += s;
  return read_serially(data, blocks + i, count - i, L, sum);
}

template <std::size_t A>
Walk choose_walk(std::size_t L) {
  return L % A == 0 ? read_along_block<A> : read_across<A>;
}

// One operation is one test of the original: 1024 blocks, or fewer so that it has at most a million words.
struct Gather {
  static constexpr std::size_t most_words = 1 << 20, test_blocks = 1024;
  static constexpr std::size_t most_prepared = 1 << 22;  // blocks: 16 MiB of indices; longer samples repeat them
  struct alignas(128) Own {
    Random random{0};
    std::vector<std::uint32_t> blocks;
    std::vector<double> places;  // by operation: the sum of all indices that it reads, exact below 2^53
    std::size_t runs = 0;
    double worst = 0;  // greatest error of a sum, divided by the error that rounding may cause
  };
  std::size_t M, L, count;
  PowerLaw law;
  Walk walk;
  std::vector<Buffer<double>> data;
  std::vector<Own> own;

  Gather(Params& p, Team& team)
      : M(p.count("elements", std::size_t{64} << 20)), L(p.count("L", 1)), law{p.number("alpha", 1), 0} {
    if (L < 1 || M / L < 2 || M / L > (std::size_t{1} << 32))
      throw CaseError(join({"parameter L=", L, " must lie between elements / 2^32 and elements / 2; elements=", M}));
    if (!(law.alpha > 0 && law.alpha <= 1)) throw CaseError("parameter alpha must be above 0 and at most 1");
    law.blocks = M / L - 1;  // as in the definition: the last block is never read
    count = std::min(std::max(most_words, L), test_blocks * L) / L;
    std::string accumulators = p.choice("accumulators", "1", {"1", "8", "32"});
    walk = accumulators == "1" ? read_serially : accumulators == "8" ? choose_walk<8>(L) : choose_walk<32>(L);
    data = Buffer<double>::one_each(M, MemoryPolicy(p), team, team.size());
    own.resize(team.size());
    team.each([&](Worker w) {
      own[w.index].random.state = 1 + w.index;
      Buffer<double>& mine = data[w.index];
      if (mine.still_holds("ramp")) return;
      for (std::size_t i = 0; i < M; ++i) mine[i] = 0.1 * static_cast<double>(i) / static_cast<double>(M);
    });
    for (auto& each : data) each.promise("ramp");
  }

  // Draws new blocks for every sample, as the original does before every test.
  void prepare(Worker w, std::size_t operations) {
    Own& mine = own[w.index];
    std::size_t prepared = std::clamp<std::size_t>(operations, 1, std::max<std::size_t>(1, most_prepared / count));
    mine.blocks.resize(prepared * count);
    mine.places.assign(prepared, static_cast<double>(count) * static_cast<double>(L) * static_cast<double>(L - 1) / 2);
    for (std::size_t i = 0; i < mine.blocks.size(); ++i) {
      mine.blocks[i] = law.draw(mine.random);
      mine.places[i / count] += static_cast<double>(L) * static_cast<double>(L) * mine.blocks[i];
    }
  }

  void run(Worker w, std::size_t operations) {
    Own& mine = own[w.index];
    double sum = 0, places = 0;
    for (std::size_t i = 0, at = 0; i < operations; ++i, at = at + 1 == mine.places.size() ? 0 : at + 1) {
      sum = walk(data[w.index].data(), mine.blocks.data() + at * count, count, L, sum);
      places += mine.places[at];
    }
    if (operations == 0) return;
    // The exact result of data[i] = 0.1·i/M, times c. Rounding errors of n additions grow like a random walk.
    double expected = factor * 0.1 / static_cast<double>(M) * places,
           additions = static_cast<double>(operations * count * L);
    double error = std::abs(sum - expected), allowed = 1e-10 * std::sqrt(additions) * expected;
    mine.worst = std::max(mine.worst, error == 0 ? 0 : error / allowed);
    ++mine.runs;
  }

  Work work() const {
    double accesses = static_cast<double>(count * L * own.size());
    return {{"accesses", accesses}, {"bytes", 8 * accesses}, {"flops", 2 * accesses}};
  }

  Check check() {
    double error = 0, distance = 0;
    for (const Own& one : own) {
      if (one.runs == 0) return {false, "nothing was read"};
      error = std::max(error, one.worst);
      std::vector<std::uint32_t> drawn(
          one.blocks.begin(),
          one.blocks.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(one.blocks.size(), 1 << 16)));
      double n = static_cast<double>(drawn.size());
      distance = std::max(distance, law.distance(std::move(drawn)) * std::sqrt(n));
    }
    constexpr double critical = 2.5;  // Kolmogorov: exceeded by chance once in 130 000 tests
    return {error <= 1 && distance <= critical,
            join({"error of the sum over what rounding allows ", error, ", Kolmogorov's distance times the root of n ",
                  distance, ", allowed ", critical})};
  }
  // The check follows the sum at once: one more operation reads a wrong word. The word is restored, because the array
  // is kept for the next case.
  void corrupt() {
    double& word = data.back()[L * own.back().blocks.front()];
    const double right = std::exchange(word, word + static_cast<double>(count * L));  // above the rounding error
    run({own.size() - 1, own.size()}, 1);
    word = right;
  }
};

int main() { return serve({kernel<Gather>("gather")}); }
