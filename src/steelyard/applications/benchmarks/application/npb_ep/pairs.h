// EP's normally distributed pairs by the polar method, a register at a time, and the logarithm that it needs.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../npb/generator.h"
#include "simd.h"

namespace steelyard::npb {

typedef std::uint64_t Bits __attribute__((vector_size(pack_bytes), may_alias));
typedef std::int64_t Whole __attribute__((vector_size(pack_bytes), may_alias));
constexpr std::size_t lanes = pack_doubles;

// Returns entries[index mod 16] for each lane.
template <class Vector>
Vector look_up(const std::array<std::uint64_t, 16>& entries, Whole index) {
#if defined(__AVX512F__)
  __m512i low = _mm512_loadu_si512(&entries[0]), high = _mm512_loadu_si512(&entries[8]);
  return reinterpret_cast<Vector>(_mm512_permutex2var_epi64(low, reinterpret_cast<__m512i>(index), high));
#else
  Bits out;
  for (std::size_t i = 0; i < lanes; ++i) out[i] = entries[static_cast<std::size_t>(index[i]) & 15];
  return reinterpret_cast<Vector>(out);
#endif
}

// ln x = e ln 2 − ln c + ln(1 + r) with x = 2^e m and r = c m − 1, where c ≈ 1/m is one of 16: |r| < 1/32. The
// sixteenth of a binade around 1 has c = 1, so that nothing is cancelled where the logarithm is near 0. For normal x >
// 0 the error is below 2 units in the last place, without fused multiply-add below 40.
struct Logarithm {
  // Where the first sixteenth begins, as the bits of a double: 1 lies 11/16 from the beginning of the ninth.
  static constexpr std::uint64_t step = std::uint64_t{1} << 48,
                                 begin = (std::uint64_t{1023} << 52) - 8 * step - step * 11 / 16;
  std::array<std::uint64_t, 16> factors, logarithms;  // c and −ln c, as bits

  Logarithm() {
    for (std::uint64_t i = 0; i < 16; ++i) {
      double low = as_double(begin + i * step), high = as_double(begin + (i + 1) * step);
      double factor = i == 8 ? 1.0 : 2 / (low + high);
      factors[i] = as_bits(factor), logarithms[i] = as_bits(-std::log(factor) + 0.0);
    }
  }
  Pack operator()(Pack x) const {
    Bits from = reinterpret_cast<Bits>(x) - begin;
    Whole exponent = reinterpret_cast<Whole>(from) >> 52, index = reinterpret_cast<Whole>(from >> 48);
    Pack m = reinterpret_cast<Pack>(reinterpret_cast<Bits>(x) - (from & ~((std::uint64_t{1} << 52) - 1)));
    Pack r = m * look_up<Pack>(factors, index) - 1.0, square = r * r, fourth = square * square;
    // The series of ln(1 + r). Its truncation error is below r^11/11 < 3e-18.
    Pack low = (r * (1.0 / 3) - 0.5) + square * (r * (1.0 / 5) - 1.0 / 4);
    Pack high = (r * (1.0 / 7) - 1.0 / 6) + square * (r * (1.0 / 9) - 1.0 / 8);
    Pack tail = low + fourth * (high - fourth * (1.0 / 10));
    Pack whole = __builtin_convertvector(exponent, Pack) * 0x1.62e42fefa39efp-1 + look_up<Pack>(logarithms, index);
    return whole + (r + square * tail);
  }

 private:
  static double as_double(std::uint64_t b) {
    double out;
    std::memcpy(&out, &b, sizeof out);
    return out;
  }
  static std::uint64_t as_bits(double x) {
    std::uint64_t out;
    std::memcpy(&out, &x, sizeof out);
    return out;
  }
};

inline Pack magnitude(Pack x) { return reinterpret_cast<Pack>(reinterpret_cast<Bits>(x) << 1 >> 1); }
inline Pack greater_of(Pack x, Pack y) { return x > y ? x : y; }

// Returns sqrt(s / t), or 0 if s is not positive.
inline Pack take_root_of_ratio(Pack s, Pack t) {
  s = greater_of(s, Pack{});
#if defined(__AVX512F__)
  // s/sqrt(st): 14 bits of the inverse root, doubled twice by Newton's method. A root that is 0 must stay finite.
  Pack product = greater_of(s * t, pack_of(0x1p-1000)), y = _mm512_maskz_rsqrt14_pd(0xff, product);
  y += 0.5 * y * (1.0 - product * y * y);
  Pack f = s * y;
  return f + 0.5 * f * (1.0 - product * y * y);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(s / t);
#elif defined(__x86_64__)
  return _mm_sqrt_pd(s / t);
#else
  Pack out = s / t;
  for (std::size_t i = 0; i < lanes; ++i) out[i] = std::sqrt(out[i]);
  return out;
#endif
}

// Each lane is a stream of its own with every n-th number u of the generator, as 2u − 1; n is the same for all lanes.
class Streams {
 public:
  // a^n mod 2^46
  Streams(std::uint64_t factor, const std::array<std::uint64_t, lanes>& first) : factor_(Bits{} + factor) {
    for (std::size_t i = 0; i < lanes; ++i) state_[i] = first[i] << shift;
    if (shift == 6) state_ |= two;
  }
  Pack next() {
#if defined(__AVX512IFMA__)
    // The 46 bits stand at the top of the 52 that the multiplication knows, which are a double's fraction.
    Bits out = state_;
    state_ = reinterpret_cast<Bits>(_mm512_madd52lo_epu64(reinterpret_cast<__m512i>(Bits{} + two),
                                                          reinterpret_cast<__m512i>(state_),
                                                          reinterpret_cast<__m512i>(factor_)));
#else
    Bits out = (state_ >> 12) | two;
    state_ *= factor_;
#endif
    return reinterpret_cast<Pack>(out) - 3.0;  // exact
  }

 private:
#if defined(__AVX512IFMA__)
  static constexpr int shift = 6;
#else
  static constexpr int shift = 18;
#endif
  static constexpr std::uint64_t two = std::uint64_t{1024} << 52;  // the exponent of [2, 4)
  Bits state_{}, factor_;
};

// Stores the lanes of x and y inside the unit circle at `to_x` and `to_y`, without gaps. Returns their number.
inline std::size_t gather_inside(Pack x, Pack y, double* to_x, double* to_y) {
#if defined(__AVX512F__)
  __mmask8 inside = _mm512_cmp_pd_mask(x * x + y * y, _mm512_set1_pd(1.0), _CMP_LE_OQ);
  _mm512_storeu_pd(to_x, _mm512_maskz_compress_pd(inside, x));
  _mm512_storeu_pd(to_y, _mm512_maskz_compress_pd(inside, y));
  return static_cast<std::size_t>(__builtin_popcount(inside));
#else
  Pack t = x * x + y * y;
  std::size_t count = 0;
  for (std::size_t i = 0; i < lanes; ++i) {
    to_x[count] = x[i], to_y[count] = y[i];
    count += t[i] <= 1.0;
  }
  return count;
#endif
}

}  // namespace steelyard::npb
