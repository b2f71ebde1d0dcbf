// The begins of APEX-MAP's blocks: random numbers with a power law, and a test of their distribution.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace steelyard {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 64 random bits with few instructions.
struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
};

// Block numbers floor(r^(1/alpha) · blocks) with uniform r: with alpha 1 all blocks are equally likely, and with alpha
// → 0 nearly always the first.
struct PowerLaw {
  double alpha;
  std::size_t blocks;

  std::uint32_t draw(Random& random) const {
    double r = random.uniform();
    if (alpha != 1) r = std::exp2(std::log2(r) / alpha);  // r = 0: log2 gives -inf, exp2 of that 0
    return static_cast<std::uint32_t>(r * static_cast<double>(blocks));
  }
  double probability_up_to(double block) const {
    return block < 0 ? 0 : std::pow(std::min(1.0, (block + 1) / static_cast<double>(blocks)), alpha);
  }

  // Returns Kolmogorov's distance between the drawn numbers and the law. Both are step functions. Between two drawn
  // numbers the sample is constant and the law rises, so they are compared at each number and just below the next
  // one.
  double distance(std::vector<std::uint32_t> drawn) const {
    std::sort(drawn.begin(), drawn.end());
    double n = static_cast<double>(drawn.size()), worst = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      double block = drawn[i];
      if (i == 0 || drawn[i - 1] != drawn[i])
        worst = std::max(worst, std::abs(static_cast<double>(i) / n - probability_up_to(block - 1)));
      if (i + 1 == drawn.size() || drawn[i + 1] != drawn[i])
        worst = std::max(worst, std::abs(static_cast<double>(i + 1) / n - probability_up_to(block)));
    }
    return worst;
  }
};

}  // namespace steelyard
