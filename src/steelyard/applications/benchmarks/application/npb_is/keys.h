// IS: its classes, its keys, and the ranks of five test keys that are published for each of ten iterations.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../npb/generator.h"
#include "../npb/problem.h"
#include "../npb/verification.h"

namespace steelyard::npb {

using Key = std::uint32_t;

constexpr std::size_t iterations = 10, test_keys = 5;

// The rank of test key i is ranks[i] + slopes[i]·iteration + offsets[i] (NPB 3.4.1).
struct IsClass {
  char letter;
  int log2_keys, log2_range;
  std::array<std::size_t, test_keys> indices;
  std::array<std::int64_t, test_keys> ranks;
  std::array<int, test_keys> slopes, offsets;
  std::size_t scale = 1;  // factor of the class's number of keys and of values

  std::size_t keys() const { return std::size_t{1} << log2_keys; }
  std::size_t range() const { return std::size_t{1} << log2_range; }
  double expected(std::size_t test, std::size_t iteration) const {
    return static_cast<double>(ranks[test] + slopes[test] * static_cast<std::int64_t>(iteration) + offsets[test]);
  }
};
constexpr IsClass is_classes[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, {1, 1, 1, -1, -1}, {0, 0, 0, 0, 0}},
    {'W',
     20,
     16,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1},
     {-2, -2, 0, 0, 0}},
    {'A',
     23,
     19,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1},
     {-1, -1, -1, 1, 1}},
    {'B',
     25,
     21,
     {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1},
     {0, 0, 0, 0, 0}},
    {'C',
     27,
     23,
     {44172927, 72999161, 74326391, 129606274, 21736814},
     {61147, 882988, 266290, 133997595, 133525895},
     {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    {'D',
     31,
     27,
     {1317351170, 995930646, 1157283250, 1503301535, 1453734525},
     {1, 36538729, 1978098519, 2145192618, 2147425337},
     {1, 1, -1, -1, -1},
     {0, 0, 0, 0, 0}},
};

// Returns the class with its number of keys and values multiplied by `scale`, a power of two.
inline IsClass is_class(const Problem& problem) {
  constexpr int most = 31;  // bits of the number of keys
  for (IsClass c : is_classes)
    if (c.letter == problem.letter) {
      if (problem.scale == 1) return c;
      int times = std::countr_zero(problem.scale);
      if (c.log2_keys + times > most)
        throw CaseError(join({"scale='", problem.scale, "' cannot be used: it gives more than 2^31 keys"}));
      c.scale = problem.scale, c.log2_keys += times, c.log2_range += times;
      for (std::size_t i = 0; i < test_keys; ++i) c.indices[i] = (2 * i + 1) * c.keys() / (2 * test_keys);
      return c;
    }
  throw CaseError(join({"IS has no class '", problem.letter, "'"}));
}

// Generates keys first … last − 1: ⌊range/4 · (sum of four numbers)⌋. Integers are exact, because the sum has 48 bits.
inline void generate_keys(const IsClass& c, std::size_t first, std::size_t last, Key* keys) {
  Generator generator;
  generator.skip(4 * first);
  for (std::size_t i = first; i < last; ++i) {
    std::uint64_t sum = 0;
    for (int number = 0; number < 4; ++number) generator.next(), sum += generator.state();
    *keys++ = static_cast<Key>(sum >> (48 - c.log2_range));
  }
}

// Changes the first keys, as each iteration does before it ranks.
constexpr std::size_t edited = 2 * iterations + 1;
inline void edit_keys(const IsClass& c, Key* keys, std::size_t iteration) {
  keys[iteration] = static_cast<Key>(iteration);
  keys[iteration + iterations] = static_cast<Key>(c.range() - iteration);
}

using TestKeys = std::array<Key, test_keys>;

// Returns the sum of the keys modulo 2^32, so that sums of parts in doubles are exact.
inline double key_sum(const Key* keys, std::size_t count) {
  return static_cast<double>(std::accumulate(keys, keys + count, Key{0}));
}

// For sizes without published ranks: generates keys first … last − 1 again, counts those below each test key in each
// iteration, and sums the keys after the last iteration. The counts of all processes give the ranks of the test keys.
inline std::vector<double> rank_plainly(const IsClass& c, std::size_t first, std::size_t last) {
  std::vector<double> out(iterations * test_keys + 1);
  TestKeys tests;
  for (std::size_t i = 0; i < test_keys; ++i) generate_keys(c, c.indices[i], c.indices[i] + 1, &tests[i]);
  std::array<double, test_keys> always{};
  std::array<Key, 4096> some;
  for (std::size_t at = first; at < last; at += some.size()) {
    std::size_t count = std::min(some.size(), last - at);
    generate_keys(c, at, at + count, some.data());
    std::size_t unedited = at < edited ? std::min(edited - at, count) : 0;
    out.back() += key_sum(&some[unedited], count - unedited);
    for (std::size_t i = unedited; i < count; ++i)
      for (std::size_t t = 0; t < test_keys; ++t) always[t] += some[i] < tests[t];
  }
  std::array<Key, edited> keys;
  generate_keys(c, 0, edited, keys.data());
  for (std::size_t iteration = 1; iteration <= iterations; ++iteration) {
    edit_keys(c, keys.data(), iteration);
    for (std::size_t t = 0; t < test_keys; ++t) {
      double& below = out[(iteration - 1) * test_keys + t] = always[t];
      for (std::size_t i = first; i < std::min(edited, last); ++i) below += keys[i] < tests[t];
    }
  }
  if (first < edited) out.back() += key_sum(&keys[first], std::min(edited, last) - first);
  return out;
}

// The ranks of the test keys in each iteration, the number of keys that the final sort put into their places, and the
// sum of these keys.
struct Ranked {
  std::vector<double> tests, expected{};  // expected: for sizes without published ranks
  double sorted = 0, sum = 0;

  Verification verification(const IsClass& c) const {
    Verification out{0, {}, c.scale == 1};
    for (std::size_t i = 0; i < tests.size(); ++i) {
      std::size_t test = i % test_keys, iteration = i / test_keys + 1;
      std::string name = join({"rank of test key ", test + 1, " in iteration ", iteration});
      if (out.published)
        out.quantities.emplace_back(std::move(name), tests[i], c.expected(test, iteration));
      else
        out.require(std::move(name), tests[i], expected[i], 0, 1);
    }
    if (!tests.empty() && !out.published)
      out.require("sum of the keys in order, modulo 2^32", std::fmod(sum, 0x1p32), std::fmod(expected.back(), 0x1p32),
                  0, 1);
    if (!tests.empty()) out.quantities.emplace_back("keys in order", sorted, static_cast<double>(c.keys()));
    return out;
  }
};

// Returns the number of keys before `end` in order: not below their predecessors, and within [low, high).
inline std::size_t count_in_order(const Key* keys, std::size_t end, Key low, Key high) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < end; ++i) count += keys[i] >= (i == 0 ? low : keys[i - 1]) && keys[i] < high;
  return count;
}

}  // namespace steelyard::npb
