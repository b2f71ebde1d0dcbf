// Counting keys in bytes, and the ranks that follow from the counts.
//
// A table of bytes is a quarter of a table of words, so caches hold it for keys of 2^19 or 2^21 values. A count above
// 255 loses 256. Then the sum of all counts is less than the number of keys, which always reveals the overflow. In this
// case the keys are counted again in the words of the ranks.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "keys.h"
#include "simd.h"

namespace steelyard::npb {

using Count = std::uint8_t;

// Adds to counts[key − low] for all keys from `first` to before `last`.
inline void count_keys(const Key* first, const Key* last, Key low, Count* counts) {
  constexpr std::ptrdiff_t ahead = 64;  // distance of the prefetch in keys: some hundred nanoseconds
#pragma GCC unroll 4
  for (const Key* end = last - std::min(last - first, ahead); first < end; ++first) {
    __builtin_prefetch(counts + (first[ahead] - low), 1);
    ++counts[*first - low];
  }
  for (; first < last; ++first) ++counts[*first - low];
}

inline std::uint32_t total(const Count* first, const Count* last) {
  std::uint32_t sum = 0;
  for (; first < last; ++first) sum += *first;
  return sum;
}

// Computes ranks[v] of the values from `first` to before `last`: `before` plus the counts of lower values in all
// `tables`. Clears the tables.
template <class Tables>
void rank_values(const Tables& tables, std::size_t first, std::size_t last, std::uint32_t before,
                 std::uint32_t* ranks) {
  constexpr std::size_t block = 512;
  std::array<std::uint32_t, block> sums;
  for (std::size_t at = first; at < last; at += block) {
    std::size_t length = std::min(block, last - at);
    sums.fill(0);
    for (Count* table : tables) {
      for (std::size_t i = 0; i < length; ++i) sums[i] += table[at + i];
      std::fill_n(table + at, length, 0);
    }
    for (std::size_t i = 0; i < length; ++i) {
      ranks[at + i] = before;
      before += sums[i];
    }
  }
}

// Replaces each count by the rank of its first key: `before` and the sum of the counts in front of it.
inline void rank_counts(std::uint32_t* first, std::uint32_t* last, std::uint32_t before) {
  for (; first < last; ++first) {
    std::uint32_t count = *first;
    *first = before;
    before += count;
  }
}

}  // namespace steelyard::npb
