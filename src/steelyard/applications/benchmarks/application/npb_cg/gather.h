// The innermost loop of CG: multiplies entries of 8 rows by the elements of the vector at their columns.
#pragma once
#include <cstddef>
#include <cstdint>

#include "simd.h"

namespace steelyard::npb::cg {

constexpr std::size_t lanes = 8;
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double)), may_alias));

inline Lanes gather(const double* from, const std::uint16_t* columns) {
#if defined(__AVX512F__)
  __m128i narrow = _mm_load_si128(reinterpret_cast<const __m128i*>(columns));
  __m512d zero = _mm512_setzero_pd();  // the unmasked form warns of a value never set (GCC 12)
  return reinterpret_cast<Lanes>(_mm512_mask_i32gather_pd(zero, 0xff, _mm256_cvtepu16_epi32(narrow), from, 8));
#else
  return Lanes{from[columns[0]], from[columns[1]], from[columns[2]], from[columns[3]],
               from[columns[4]], from[columns[5]], from[columns[6]], from[columns[7]]};
#endif
}

// Distance of the prefetch in entries for a matrix that is larger than the caches: 4 KiB of values. With the
// processor's own prefetching a core reads some 12 of the possible 16 GB/s (Sapphire Rapids).
constexpr std::size_t ahead = 512;

// Computes two sums at once, so that additions of one need not wait for those of the other.
template <bool prefetch>
Lanes slice_product(const double* values, const std::uint16_t* columns, std::size_t depth, const double* from) {
  Lanes even{}, odd{};
  auto product = [&](std::size_t at) {
    return *reinterpret_cast<const Lanes*>(values + at) * gather(from, columns + at);
  };
  std::size_t at = 0, end = lanes * depth;
  for (; at + 2 * lanes <= end; at += 2 * lanes) {
    if constexpr (prefetch) {
      __builtin_prefetch(values + at + ahead);
      __builtin_prefetch(values + at + ahead + lanes);
      __builtin_prefetch(columns + at + ahead);
    }
    even += product(at);
    odd += product(at + lanes);
  }
  if (at < end) even += product(at);
  return even + odd;
}

}  // namespace steelyard::npb::cg
