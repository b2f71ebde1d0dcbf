// The Fourier transform of a long vector as two sets of short ones: of the columns, then of the rows, of a matrix.
//
// Index j = j1 C + j2 of the input, k = k1 + R k2 of the output, n = R C: each column j2 is transformed along j1,
// turned by w^(j2 k1), w = exp(-2 pi i / n), and each row k1 then along j2 (D. Bailey's "four steps"). Eight columns,
// or rows, go side by side through a worker's own memory, each in a lane of the vectors.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "simd.h"

namespace steelyard::fourier {

constexpr std::size_t lanes = 8, line = 2 * lanes;  // doubles: the real parts of eight numbers, then the others

struct Root {
  double re, im;
};
// Returns exp(-2 pi i k / n). The last bit is rarely wrong.
inline Root root(std::size_t k, std::size_t n) {
  long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}
inline Root operator*(Root a, Root b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// All the roots of n in two tables of about its square root.
struct Roots {
  std::size_t shift = 0;
  std::vector<Root> fine, coarse;
  explicit Roots(std::size_t n) {
    while (std::size_t{1} << (2 * shift) < n) ++shift;
    for (std::size_t i = 0; i < std::size_t{1} << shift; ++i) fine.push_back(root(i, n));
    for (std::size_t i = 0; i << shift < n; ++i) coarse.push_back(root(i << shift, n));
  }
  Root operator[](std::size_t k) const { return coarse[k >> shift] * fine[k & (fine.size() - 1)]; }
};

struct Complex {
  Pack re, im;
};
inline Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
inline Complex rotate_quarter(const Complex& a) { return {a.im, -a.re}; }  // times -i
inline Complex times(const Complex& a, const Root& w) { return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re}; }

template <std::size_t radix>
[[gnu::always_inline]] inline void short_transform(Complex* a) {
  if constexpr (radix == 2) {
    Complex first = a[0] + a[1], second = a[0] - a[1];
    a[0] = first, a[1] = second;
  } else if constexpr (radix == 4) {
    Complex s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], u = rotate_quarter(a[1] - a[3]);
    a[0] = s + t, a[1] = d + u, a[2] = s - t, a[3] = d - u;
  } else {
    constexpr double h = std::numbers::sqrt2 / 2;
    Complex even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    short_transform<4>(even), short_transform<4>(odd);
    Complex w1{h * (odd[1].re + odd[1].im), h * (odd[1].im - odd[1].re)};
    Complex w3{h * (odd[3].im - odd[3].re), -h * (odd[3].re + odd[3].im)};
    Complex w[4] = {odd[0], w1, rotate_quarter(odd[2]), w3};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) a[i] = even[i] + w[i], a[i + 4] = even[i] - w[i];
  }
}

// Where a transform finds its numbers at first: `stride` doubles from row to row; interleaved: real and imaginary parts
// in turn, as the input has them, otherwise eight of one and then of the other.
template <bool interleaved>
struct Source {
  const double* at;
  std::size_t stride;
  Complex load(std::size_t row, std::size_t pack) const {
    const double* from = at + row * stride;
    if constexpr (!interleaved) {
      return {pack_at(from + pack * pack_doubles), pack_at(from + lanes + pack * pack_doubles)};
    } else {
      from += 2 * pack * pack_doubles;
      Complex a;
      for (std::size_t i = 0; i < pack_doubles; ++i) a.re[i] = from[2 * i], a.im[i] = from[2 * i + 1];
      return a;
    }
  }
};

// Eight transforms of one length side by side, by decimation in frequency: the results come in another order.
class Batch {
 public:
  explicit Batch(std::size_t n) : length(n), position(n) {
    for (std::size_t rest = n; rest > 1;) {
      std::size_t radix = rest % 8 == 0 && rest != 16 ? 8 : rest % 4 == 0 ? 4 : 2;
      std::size_t apart = rest / radix;
      steps_.push_back({radix, apart, {}});
      for (std::size_t j = 0; j < apart; ++j)
        for (std::size_t t = 1; t < radix; ++t) steps_.back().roots.push_back(root(j * t, rest));
      rest = apart;
    }
    for (std::size_t p = 0; p < n; ++p) position[frequency(p)] = p;
  }
  // Transforms the numbers of `source` into `work`. The line position[k] then has the numbers of frequency k.
  template <bool interleaved>
  void transform(const Source<interleaved>& source, double* work) const {
    step(source, work, 0);
  }

  std::size_t length;
  std::vector<std::size_t> position;

 private:
  struct Step {
    std::size_t radix, apart;
    std::vector<Root> roots;
  };
  std::size_t frequency(std::size_t p) const {
    std::size_t k = 0, weight = 1;
    for (const Step& s : steps_) k += p / s.apart * weight, p %= s.apart, weight *= s.radix;
    return k;
  }
  // One step for all, then all others for each part, while the caches have it.
  template <bool interleaved>
  void step(const Source<interleaved>& source, double* work, std::size_t number) const {
    const Step& s = steps_[number];
    if (s.radix == 8)
      compute_butterflies<8>(source, work, s);
    else if (s.radix == 4)
      compute_butterflies<4>(source, work, s);
    else
      compute_butterflies<2>(source, work, s);
    if (number + 1 == steps_.size()) return;
    for (std::size_t t = 0; t < s.radix; ++t) {
      double* part = work + t * s.apart * line;
      step(Source<false>{part, line}, part, number + 1);
    }
  }
  template <std::size_t radix, bool interleaved>
  static void compute_butterflies(const Source<interleaved>& source, double* work, const Step& s) {
    constexpr std::size_t ahead = 4;
    const Root* w = s.roots.data();
    for (std::size_t j = 0; j < s.apart; ++j, w += radix - 1) {
      if (interleaved && j + ahead < s.apart)  // rows are far apart: the processor does not foresee them
        for (std::size_t t = 0; t < radix; ++t) {
          const double* next = source.at + (j + ahead + t * s.apart) * source.stride;
          __builtin_prefetch(next, 0, 2), __builtin_prefetch(next + 8, 0, 2);
        }
      for (std::size_t pack = 0; pack < lanes / pack_doubles; ++pack) {
        Complex a[radix];
#pragma GCC unroll 8
        for (std::size_t t = 0; t < radix; ++t) a[t] = source.load(j + t * s.apart, pack);
        short_transform<radix>(a);
#pragma GCC unroll 8
        for (std::size_t t = 0; t < radix; ++t) {
          Complex to = t == 0 ? a[0] : times(a[t], w[t - 1]);
          double* at = work + (j + t * s.apart) * line + pack * pack_doubles;
          pack_at(at) = to.re, pack_at(at + lanes) = to.im;
        }
      }
    }
  }

  std::vector<Step> steps_;
};

// Writes two neighbouring cache lines; past the caches (`streaming`) if the vectors are larger than the caches.
inline void put_line(double* to, const double* from, bool streaming) {
  if (streaming)
    for (std::size_t i = 0; i < line; i += streamed_doubles) store_streaming(to + i, streamed_at(from + i));
  else
    for (std::size_t i = 0; i < line; i += pack_doubles) pack_at(to + i) = pack_at(from + i);
}

// The two steps of a transform of n = rows × columns numbers. Between them the numbers lie in tiles: for eight
// frequencies k1 and one column a line each, all columns one after the other.
struct Transform {
  std::size_t n, rows, columns;
  bool streaming;
  Roots roots;
  Batch down, along;
  std::vector<Root> turns;  // w^(b k1), b < 8: real parts of a line together, then the others

  static std::size_t columns_of(std::size_t n) {
    std::size_t c = 1;
    while (4 * c * c <= 2 * n && c * c < n) c *= 2;
    return c * c > n ? c / 2 : c;
  }
  Transform(std::size_t size, bool stream)
      : n(size),
        rows(n / columns_of(n)),
        columns(columns_of(n)),
        streaming(stream),
        roots(n),
        down(rows),
        along(columns),
        turns(rows * lanes) {
    double* to = &turns[0].re;
    for (std::size_t k = 0; k < rows; ++k)
      for (std::size_t b = 0; b < lanes; ++b) {
        Root w = root(b * k, n);
        to[k * line + b] = w.re, to[k * line + lanes + b] = w.im;
      }
  }
  // Columns [column, column + 8) of x into the tiles.
  void transform_columns(const double* x, double* tiles, double* work, std::size_t column) const {
    down.transform(Source<true>{x + 2 * column, 2 * columns}, work);
    alignas(64) double straight[lanes][line], crossed[lanes][line];
    for (std::size_t k = 0; k < rows; k += lanes) {
      for (std::size_t i = 0; i < lanes; ++i) transpose(work + down.position[k + i] * line, column, k + i, straight[i]);
      for (std::size_t b = 0; b < lanes; ++b)
        for (std::size_t i = 0; i < lanes; ++i)
          crossed[b][i] = straight[i][b], crossed[b][lanes + i] = straight[i][lanes + b];
      for (std::size_t b = 0; b < lanes; ++b)
        put_line(tiles + (k / lanes * columns + column + b) * line, crossed[b], streaming);
    }
    if (streaming) drain_stores();
  }
  // Rows [row, row + 8), of the frequencies k1, into the result.
  void transform_rows(const double* tiles, double* result, double* work, std::size_t row) const {
    along.transform(Source<false>{tiles + row * columns * 2, line}, work);
    alignas(64) double woven[line];
    for (std::size_t k = 0; k < columns; ++k) {
      const double* from = work + along.position[k] * line;
      for (std::size_t i = 0; i < lanes; ++i) woven[2 * i] = from[i], woven[2 * i + 1] = from[lanes + i];
      put_line(result + 2 * (k * rows + row), woven, streaming);
    }
    if (streaming) drain_stores();
  }

 private:
  void transpose(const double* from, std::size_t column, std::size_t k, double* to) const {
    const Root common = roots[column * k];
    const double* own = &turns[0].re + k * line;
    for (std::size_t i = 0; i < lanes; i += pack_doubles) {
      Pack wr, wi;
      __builtin_memcpy(&wr, own + i, pack_bytes), __builtin_memcpy(&wi, own + lanes + i, pack_bytes);
      Complex w = times(Complex{wr, wi}, common), a{pack_at(from + i), pack_at(from + lanes + i)};
      pack_at(to + i) = a.re * w.re - a.im * w.im, pack_at(to + lanes + i) = a.re * w.im + a.im * w.re;
    }
  }
};

}  // namespace steelyard::fourier
