// Divides the values among processes that hold the keys, and selects the keys that a process must count.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "counting.h"
#include "keys.h"

namespace steelyard::npb {

// A bucket has all values with the same highest bits. One rank takes all keys of a bucket.
constexpr std::size_t buckets = 1024;

inline int bucket_shift(const IsClass& c) { return c.log2_range - 10; }

// Adds the number of keys of each bucket to `counts`. Four tables take turns, because a counter that was just stored is
// slow to read again.
inline void count_buckets(const Key* first, const Key* last, int shift, std::uint32_t* counts) {
  std::array<std::array<std::uint32_t, buckets>, 4> tables{};
  for (; last - first >= 4; first += 4)
    for (std::size_t i = 0; i < 4; ++i) ++tables[i][first[i] >> shift];
  for (; first < last; ++first) ++counts[*first >> shift];
  for (const auto& table : tables)
    for (std::size_t b = 0; b < buckets; ++b) counts[b] += table[b];
}

// Returns the borders between the ranks' buckets, with nearly equal keys: rank r has borders[r] … borders[r + 1] − 1.
inline void share_buckets(const std::uint32_t* counts, std::size_t keys, std::vector<std::size_t>& borders) {
  std::size_t ranks = borders.size() - 1, rank = 0, before = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    // A bucket goes to the rank whose share contains the middle of the bucket.
    while (rank * keys <= (before + counts[b] / 2) * ranks && rank < ranks) borders[rank++] = b;
    before += counts[b];
  }
  while (rank <= ranks) borders[rank++] = buckets;
}

// Copies the keys in [low, high) to `to`, which needs room for one more register. Returns the end of the copies.
inline Key* pick_keys(const Key* keys, std::size_t count, Key low, Key high, Key* to) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  const __m512i from = _mm512_set1_epi32(static_cast<int>(low)),
                width = _mm512_set1_epi32(static_cast<int>(high - low));
  for (; i + 16 <= count; i += 16) {
    __m512i some = _mm512_loadu_si512(keys + i);
    __mmask16 wanted = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(some, from), width);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(wanted, some));
    to += __builtin_popcount(wanted);
  }
#endif
  for (; i < count; ++i) {
    *to = keys[i];
    to += keys[i] - low < high - low;
  }
  return to;
}
constexpr std::size_t register_keys = 16;  // keys that `pick` may write beyond the end

}  // namespace steelyard::npb
