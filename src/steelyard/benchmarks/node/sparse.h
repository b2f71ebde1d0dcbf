// A sparse matrix in compressed rows whose lengths follow a power law, and its product with a vector.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "kernel.h"
#include "scattered.h"
#include "simd.h"

namespace steelyard {

// Each row has its entries near the diagonal, in ascending columns. All is known from the row's number, so that a
// product can be verified without the stored matrix.
class PowerLaw {
 public:
  static constexpr std::size_t longest = 4096, window = 8192;  // entries; columns among which a row's entries lie
  explicit PowerLaw(std::size_t rows) : rows_(rows), width_(std::min(window, rows)) {}

  std::size_t length(std::size_t row) const {
    constexpr double exponent = 1.8104;  // of the density: the mean length is 16
    static const double rest = std::pow(longest + 1.0, 1 - exponent);
    double u = static_cast<double>(scattered(row) >> 11) * 0x1p-53;
    return std::min(static_cast<std::size_t>(std::pow(1 - u * (1 - rest), 1 / (1 - exponent))),
                    std::min(longest, width_));
  }
  // Calls use(k, column, value) for the row's entries; values are whole numbers from 1 to 8.
  template <class Use>
  void each(std::size_t row, std::size_t length, Use use) const {
    std::size_t start = std::min(row - std::min(row, width_ / 2), rows_ - width_), stride = width_ / length;
    for (std::size_t k = 0; k < length; ++k) {
      std::uint64_t random = scattered(~(row * longest + k));
      use(k, start + k * stride + (random & 0xFFFFFFFF) % stride, static_cast<double>((random >> 61) + 1));
    }
  }

 private:
  std::size_t rows_, width_;
};

// The sum of values[k] x[columns[k]] for k in [first, last).
inline double times(const double* __restrict values, const std::uint32_t* __restrict columns,
                    const double* __restrict x, std::size_t first, std::size_t last) {
  constexpr std::size_t ahead = 512;  // entries; best of 128 to 2048
#if defined(__AVX512F__) && defined(__AVX512VL__)
  // Most rows are shorter than a register: one masked turn for them, without a branch to mispredict.
  __m512d sum = _mm512_setzero_pd();
  for (std::size_t k = first; k < last; k += 8) {
    __builtin_prefetch(values + k + ahead), __builtin_prefetch(columns + k + ahead);
    auto mask = static_cast<__mmask8>(_bzhi_u32(0xFF, static_cast<unsigned>(std::min<std::size_t>(last - k, 8))));
    __m256i at = _mm256_maskz_loadu_epi32(mask, columns + k);
    __m512d from = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, at, x, 8);
    sum = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, values + k), from, sum);
  }
  sum += _mm512_maskz_shuffle_f64x2(0xFF, sum, sum, 0x4E);  // halves, quarters, neighbours exchanged
  sum += _mm512_maskz_permutex_pd(0xFF, sum, 0x4E);
  sum += _mm512_maskz_permute_pd(0xFF, sum, 0x55);
  return sum[0];
#else
  double sum[4] = {};
  std::size_t k = first;
  __builtin_prefetch(values + k + ahead), __builtin_prefetch(columns + k + ahead);
  for (; k + 4 <= last; k += 4) {
    __builtin_prefetch(values + k + ahead), __builtin_prefetch(columns + k + ahead);
    for (std::size_t i = 0; i < 4; ++i) sum[i] += values[k + i] * x[columns[k + i]];
  }
  for (; k < last; ++k) sum[0] += values[k] * x[columns[k]];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
#endif
}

}  // namespace steelyard
