// Fourier transforms of many lines side by side: eight lines to a block, each in a lane of the vectors.
//
// The numbers of a line may lie anywhere: tables of offsets say where. The transform uses decimation in frequency in
// the worker's own memory, one radix after the other. The last radix writes the results to their final places, so no
// separate reordering is needed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../../../measure/benchmarks/node/transform.h"

namespace steelyard::npb {

using fourier::Complex, fourier::Root, fourier::lanes, fourier::short_transform, fourier::times;
constexpr std::size_t block = 2 * lanes;  // doubles: the real parts of eight numbers, then the imaginary ones
constexpr std::size_t packs = lanes / pack_doubles;

using Offsets = std::vector<std::size_t>;  // in doubles

// A block of eight lines in memory. The element j of each line is at offsets[j] from the beginning of the line.
struct From {
  const double* base;
  const std::size_t* offsets;
  std::size_t next = 0;  // distance to the next block in doubles, for the prefetch; 0: no prefetch

  Complex load(std::size_t j, std::size_t pack) const {
    const double* at = base + offsets[j] + pack * pack_doubles;
    if (next != 0 && pack == 0) __builtin_prefetch(at + next), __builtin_prefetch(at + next + lanes);
    return {pack_at(at), pack_at(at + lanes)};
  }
};
// Loads the numbers, and multiplies each with the factor of its place j and with that of its lane.
struct Weighted {
  From from;
  const double* factors;
  const double* lane_factors;

  Complex load(std::size_t j, std::size_t pack) const {
    Complex a = from.load(j, pack);
    Pack weight = pack_at(lane_factors + pack * pack_doubles) * factors[j];
    return {a.re * weight, a.im * weight};
  }
};
// A worker's own memory, or a row: the first number of all lines, then the second number of all lines, and so on.
struct Own {
  double* base;
  Complex load(std::size_t j, std::size_t pack) const {
    const double* at = base + j * block + pack * pack_doubles;
    return {pack_at(at), pack_at(at + lanes)};
  }
  void store(std::size_t j, std::size_t pack, const Complex& a) const {
    double* at = base + j * block + pack * pack_doubles;
    pack_at(at) = a.re, pack_at(at + lanes) = a.im;
  }
};
// Writes results to base + offsets[place]. `swapped`: imaginary parts come first. The transform of swapped numbers is
// the inverse transform, also swapped.
template <bool swapped, bool streaming = false>
struct To {
  double* base;
  const std::size_t* offsets;
  void store(std::size_t place, std::size_t pack, const Complex& a) const {
    double* at = base + offsets[place] + pack * pack_doubles;
    put(at + (swapped ? lanes : 0), a.re), put(at + (swapped ? 0 : lanes), a.im);
  }

 private:
  static void put(double* at, Pack value) {
    if constexpr (streaming) {
      alignas(pack_bytes) double whole[pack_doubles];
      pack_at(whole) = value;
      for (std::size_t i = 0; i < pack_doubles; i += streamed_doubles) store_streaming(at + i, streamed_at(whole + i));
    } else {
      pack_at(at) = value;
    }
  }
};

// The plan of the transforms of one length.
class Lines {
 public:
  explicit Lines(std::size_t n) : length(n), frequency(n) {
    for (std::size_t rest = n; rest > 1;) {
      std::size_t radix = rest % 8 == 0 && rest != 16 ? 8 : rest % 4 == 0 ? 4 : 2;
      rest /= radix;
      steps_.push_back({radix, rest, std::vector<Root>(rest * (radix - 1))});
    }
    for (std::size_t p = 0; p < n; ++p) frequency[p] = frequency_at(p);
  }
  // Returns the operations for the roots of unity, which are not part of a transform.
  void compute_roots() {
    for (Step& s : steps_)
      for (std::size_t j = 0; s.apart > 1 && j < s.apart; ++j)
        for (std::size_t t = 1; t < s.radix; ++t)
          s.roots[j * (s.radix - 1) + t - 1] = fourier::root(j * t, s.radix * s.apart);
  }
  // Returns the offsets of the frequencies in the order of the last step.
  Offsets targets(const Offsets& of_frequency) const {
    Offsets out(length);
    for (std::size_t p = 0; p < length; ++p) out[p] = of_frequency[frequency[p]];
    return out;
  }
  // Transforms the lines of a block. `work` has room for length × block doubles.
  template <class Source, class Target>
  void transform(const Source& source, double* work, const Target& target) const {
    if (steps_.size() == 1) return dispatch(0, [&]<std::size_t radix> { last<radix>(source, target, 0, length); });
    dispatch(0, [&]<std::size_t radix> { turn<radix>(source, Own{work}, steps_[0]); });
    for (std::size_t t = 0; t < steps_[0].radix; ++t) part(1, t * steps_[0].apart, work, target);
  }
  // Returns the floating-point operations for each line.
  double flops() const {
    double sum = 0, n = static_cast<double>(length);
    for (const Step& s : steps_) {
      double radix = static_cast<double>(s.radix);
      sum += n / radix * (s.radix == 8 ? 56 : s.radix == 4 ? 16 : 4);
      if (s.apart > 1) sum += n / radix * (radix - 1) * 6;
    }
    return sum;
  }

  std::size_t length;
  std::vector<std::size_t> frequency;  // frequency of the result at each place of the last step

 private:
  struct Step {
    std::size_t radix, apart;
    std::vector<Root> roots;
  };
  std::size_t frequency_at(std::size_t place) const {
    std::size_t k = 0, weight = 1;
    for (const Step& s : steps_) k += place / s.apart * weight, place %= s.apart, weight *= s.radix;
    return k;
  }
  template <class Do>
  void dispatch(std::size_t number, Do what) const {
    switch (steps_[number].radix) {
      case 8:
        return what.template operator()<8>();
      case 4:
        return what.template operator()<4>();
      default:
        return what.template operator()<2>();
    }
  }
  // Computes all further steps of the part that begins at `first`, while the caches hold it.
  template <class Target>
  void part(std::size_t number, std::size_t first, double* work, const Target& target) const {
    const Step& s = steps_[number];
    if (s.apart == 1)
      return dispatch(number, [&]<std::size_t radix> { last<radix>(Own{work}, target, first, first + radix); });
    Own own{work + first * block};
    dispatch(number, [&]<std::size_t radix> { turn<radix>(own, own, s); });
    if (number + 2 == steps_.size())
      return dispatch(number + 1,
                      [&]<std::size_t radix> { last<radix>(Own{work}, target, first, first + s.radix * s.apart); });
    for (std::size_t t = 0; t < s.radix; ++t) part(number + 1, first + t * s.apart, work, target);
  }
  template <std::size_t radix, class Source>
  [[gnu::always_inline]] static void turn(const Source& source, Own to, const Step& s) {
    const Root* w = s.roots.data();
    for (std::size_t j = 0; j < s.apart; ++j, w += radix - 1)
      for (std::size_t pack = 0; pack < packs; ++pack) {
        Complex a[radix];
#pragma GCC unroll 8
        for (std::size_t t = 0; t < radix; ++t) a[t] = source.load(j + t * s.apart, pack);
        short_transform<radix>(a);
        to.store(j, pack, a[0]);
#pragma GCC unroll 8
        for (std::size_t t = 1; t < radix; ++t) to.store(j + t * s.apart, pack, times(a[t], w[t - 1]));
      }
  }
  // The last step needs no roots.
  template <std::size_t radix, class Source, class Target>
  [[gnu::always_inline]] static void last(const Source& source, const Target& target, std::size_t first,
                                          std::size_t end) {
    for (std::size_t p = first; p < end; p += radix)
      for (std::size_t pack = 0; pack < packs; ++pack) {
        Complex a[radix];
#pragma GCC unroll 8
        for (std::size_t t = 0; t < radix; ++t) a[t] = source.load(p + t, pack);
        short_transform<radix>(a);
#pragma GCC unroll 8
        for (std::size_t t = 0; t < radix; ++t) target.store(p + t, pack, a[t]);
      }
  }

  std::vector<Step> steps_;
};

// Transposes eight registers: the register i of the result has number i of each register.
inline void transpose(Pack* a) {
#if defined(__AVX512F__)
  Pack b[8], c[8];
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i : {0, 1, 4, 5}) {
    c[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5, 8, 9, 12, 13);
    c[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7, 10, 11, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    a[i] = __builtin_shufflevector(c[i], c[i + 4], 0, 1, 4, 5, 8, 9, 12, 13);
    a[i + 4] = __builtin_shufflevector(c[i], c[i + 4], 2, 3, 6, 7, 10, 11, 14, 15);
  }
#else
  double* numbers = reinterpret_cast<double*>(a);
  for (std::size_t i = 0; i < lanes; ++i)
    for (std::size_t j = 0; j < i; ++j) std::swap(numbers[i * lanes + j], numbers[j * lanes + i]);
#endif
}

// Transforms one line that lies in blocks of eight neighbours: first every eighth number, in all eight lanes side by
// side, then across the lanes ("four steps", D. Bailey 1990, with the short length 8).
class Row {
 public:
  explicit Row(std::size_t n) : length(n), along_(n / lanes), straight_(n / lanes), roots_(2 * n) {
    for (std::size_t k = 0; k < n / lanes; ++k) straight_[k] = k * block;
    places_ = Offsets(n / lanes);
    for (std::size_t p = 0; p < n / lanes; ++p) places_[along_.frequency[p]] = p;
  }
  void compute_roots() {
    along_.compute_roots();
    for (std::size_t k = 0; k < length / lanes; ++k)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        Root w = fourier::root(k * lane, length);
        roots_[k * block + lane] = w.re, roots_[k * block + lanes + lane] = w.im;
      }
  }
  // Transforms in place; `work` has room for as many numbers. `next`: distance to the next row in doubles.
  void transform(double* row, std::size_t next, double* work) const {
    along_.transform(From{row, straight_.data(), next}, work, Own{work});
    std::size_t blocks = length / lanes;
    for (std::size_t k = 0; k < blocks; k += lanes) {
      alignas(64) Pack re[lanes * packs], im[lanes * packs];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < lanes; ++i)
        for (std::size_t pack = 0; pack < packs; ++pack) {
          Complex a = load_rotated(k + i, pack, work);
          re[i * packs + pack] = a.re, im[i * packs + pack] = a.im;
        }
      transpose(re), transpose(im);
      for (std::size_t pack = 0; pack < packs; ++pack) {
        Complex a[lanes];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < lanes; ++i) a[i] = {re[i * packs + pack], im[i * packs + pack]};
        short_transform<lanes>(a);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < lanes; ++i) Own{row}.store((k + i * blocks) / lanes, pack, a[i]);
      }
    }
  }
  double flops() const {
    return static_cast<double>(lanes) * along_.flops() + static_cast<double>(length) * (6 + 56.0 / 8);
  }

  std::size_t length;

 private:
  Complex load_rotated(std::size_t k, std::size_t pack, double* work) const {
    Complex a = Own{work}.load(places_[k], pack);
    const double* w = roots_.data() + k * block + pack * pack_doubles;
    Pack re, im;
    __builtin_memcpy(&re, w, pack_bytes), __builtin_memcpy(&im, w + lanes, pack_bytes);
    return {a.re * re - a.im * im, a.re * im + a.im * re};
  }

  Lines along_;
  Offsets straight_, places_;
  std::vector<double> roots_;
};

}  // namespace steelyard::npb
