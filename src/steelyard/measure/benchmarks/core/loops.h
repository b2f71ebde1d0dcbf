// The loops: element by element, through an index, sums, recurrences, differences, and the rotation.
#pragma once
#include <array>
#include <cmath>
#include <complex>

#include "operands.h"

namespace steelyard::loops {

// y[k·i] = at(a, b, x1[k·i], x2[k·i] …)
template <class E>
struct ElementwiseLoop : E {
  template <bool Vectors, bool Unit>
  STEELYARD_INSIDE void loop(double* __restrict y, const double* __restrict p, const double* __restrict q,
                             const double* __restrict r, const double* __restrict s, const double* __restrict t,
                             double a, double b, std::size_t n, std::size_t stride) {
    const std::size_t k = Unit ? 1 : stride;
    constexpr std::size_t inputs = E::inputs;  // inputs that an expression does not use are not read
    for (std::size_t i = 0; i < n; ++i)
      y[i * k] = keep_scalar<Vectors>(E::at(a, b, inputs > 0 ? p[i * k] : 0.0, inputs > 1 ? q[i * k] : 0.0,
                                            inputs > 2 ? r[i * k] : 0.0, inputs > 3 ? s[i * k] : 0.0,
                                            inputs > 4 ? t[i * k] : 0.0));
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    if constexpr (E::strided)
      if (o.stride != 1) {
        loop<Vectors, false>(o.y, o.x[0], o.x[1], o.x[2], o.x[3], o.x[4], o.a, o.b, o.n, o.stride);
        return 0;
      }
    loop<Vectors, true>(o.y, o.x[0], o.x[1], o.x[2], o.x[3], o.x[4], o.a, o.b, o.n, 1);
    return 0;
  }
  static Long expected(const Operands& o, std::size_t, std::size_t i, std::size_t) {
    return E::at(Long{o.a}, Long{o.b}, input(o, 0, i), input(o, 1, i), input(o, 2, i), input(o, 3, i), input(o, 4, i));
  }
};

// y[i] = x[k·i], y[i] = x[index[i]], y[index[i]] = x[i]
enum class AccessPattern { strided, gather, scatter };
template <AccessPattern way>
struct MovedPattern : WordsPerElement<1, 0, 1, 1> {
  static constexpr bool strided = way == AccessPattern::strided, indexed = !strided;
  static constexpr std::size_t usual_stride = strided ? 3 : 1;
  static std::size_t place(const Operands& o, std::size_t i) { return way == AccessPattern::scatter ? o.index[i] : i; }
  template <bool Vectors>
  STEELYARD_INSIDE void loop(double* __restrict y, const double* __restrict x, const std::uint32_t* __restrict index,
                             std::size_t n, std::size_t k) {
    for (std::size_t i = 0; i < n; ++i)
      if constexpr (way == AccessPattern::scatter)
        y[index[i]] = keep_scalar<Vectors>(x[i]);
      else
        y[i] = keep_scalar<Vectors>(x[way == AccessPattern::gather ? index[i] : i * k]);
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    loop<Vectors>(o.y, o.x[0], o.index, o.n, o.stride);
    return 0;
  }
  static Long expected(const Operands& o, std::size_t, std::size_t i, std::size_t) {
    return input(o, 0, way == AccessPattern::gather ? o.index[i] : i);
  }
};

// The type of one addition in a reduction: a vector, or one double.
template <bool Vectors>
struct Lanes {
  typedef Pack Type;
  static constexpr std::size_t width = pack_doubles;
  STEELYARD_INSIDE const Pack& at(const double* p) { return pack_at(p); }
  STEELYARD_INSIDE Pack keep_lanes(Pack x) { return x; }
  STEELYARD_INSIDE double total(Pack x) {
    double sum = 0;
    for (std::size_t k = 0; k < width; ++k) sum += x[k];
    return sum;
  }
};
template <>
struct Lanes<false> {
  typedef double Type;
  static constexpr std::size_t width = 1;
  STEELYARD_INSIDE double at(const double* p) { return *p; }
  STEELYARD_INSIDE double keep_lanes(double x) { return keep_scalar<false>(x); }
  STEELYARD_INSIDE double total(double x) { return x; }
};

// s = Σ term(x, y). A compiler that keeps to IEEE arithmetic may not reorder a sum, so that the order is written here:
// eight partial sums of vectors take turns (an addition takes some four cycles, and two can begin in each), then what
// is left of whole vectors goes to the first seven of them; the eight are added pairwise, then the places of the vector
// from the first to the last, then the elements that fill no vector, one by one. Scalar: vectors of one double.
template <class E>
struct ReductionLoop : E {
  static constexpr bool reduction = true;
  static constexpr std::size_t sums = 8;
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    const double *x = o.x[0], *y = o.x[E::inputs - 1];
    using L = Lanes<Vectors>;
    constexpr std::size_t width = L::width;
    typename L::Type s[sums] = {};
    std::size_t i = 0;
    for (; i + sums * width <= o.n; i += sums * width) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < sums; ++k)
        s[k] = L::keep_lanes(s[k] + E::term(L::at(x + i + k * width), L::at(y + i + k * width)));
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k + 1 < sums; ++k) {
      if (i + width > o.n) break;
      s[k] = L::keep_lanes(s[k] + E::term(L::at(x + i), L::at(y + i)));
      i += width;
    }
    double whole = L::total(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
    for (; i < o.n; ++i) whole = keep_scalar<false>(whole + E::term(x[i], y[i]));
    return whole;
  }
  static Long expected(const Operands& o, std::size_t, std::size_t, std::size_t) {
    Long sum = 0, lost = 0;  // W. Kahan's compensated summation
    for (std::size_t i = 0; i < o.n; ++i) {
      Long next = E::term(input(o, 0, i), input(o, E::inputs - 1, i)) - lost, total = sum + next;
      lost = (total - sum) - next;
      sum = total;
    }
    return sum;
  }
};

// y[i] = x1[i]·y[i−1] + x2[i], and y[i] = x1[i]·y[i−1] + x2[i]·y[i−2] + x3[i]; before the first lie a and b.
template <int order>
struct RecurrenceLoop : WordsPerElement<order + 1, 2 * order, order + 1, 1> {
  template <class T>
  STEELYARD_INSIDE T next(T p, T q, T r, T last, T before) {
    if constexpr (order == 1) return p * last + q;
    return p * last + (q * before + r);  // the product that does not wait for the last element comes first
  }
  template <bool Vectors>
  STEELYARD_INSIDE void loop(double* __restrict y, const double* __restrict p, const double* __restrict q,
                             const double* __restrict r, double a, double b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      double here = keep_scalar<Vectors>(next(p[i], q[i], order > 1 ? r[i] : 0.0, a, b));
      b = a, a = here;
      y[i] = here;
    }
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    loop<Vectors>(o.y, o.x[0], o.x[1], o.x[2], o.a, o.b, o.n);
    return 0;
  }
  // The effect of an element 1024 places back is below 2^−60: the sum of the coefficients is below 0.875.
  static Long expected(const Operands& o, std::size_t, std::size_t i, std::size_t) {
    constexpr std::size_t memory = 1024;
    std::size_t first = i > memory ? i - memory : 0;
    Long last = first ? 0 : Long{o.a}, before = first ? 0 : Long{o.b};
    for (std::size_t k = first; k <= i; ++k) {
      Long here = next(input(o, 0, k), input(o, 1, k), input(o, 2, k), last, before);
      before = last, last = here;
    }
    return last;
  }
};

// y[i] = x[i−1] − 2·x[i] + x[i+1], and 6·x[i] − 4·(x[i−1] + x[i+1]) + (x[i−2] + x[i+2]); neighbours come from the
// cache.
template <int order>
struct DifferenceLoop : WordsPerElement<1, order == 2 ? 3 : 6, 1, 1> {
  template <class T>
  STEELYARD_INSIDE T at(T further, T before, T here, T after, T beyond) {
    if constexpr (order == 2) return before - 2 * here + after;
    return 6 * here - 4 * (before + after) + (further + beyond);
  }
  template <bool Vectors>
  STEELYARD_INSIDE void loop(double* __restrict y, const double* __restrict further, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      y[i] = keep_scalar<Vectors>(at(order > 2 ? further[i] : 0.0, further[i + 1], further[i + 2], further[i + 3],
                                     order > 2 ? further[i + 4] : 0.0));
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    loop<Vectors>(o.y, o.x[0] - 2, o.n);
    return 0;
  }
  static Long expected(const Operands& o, std::size_t, std::size_t i, std::size_t) {
    return at(input(o, 0, i, -2), input(o, 0, i, -1), input(o, 0, i), input(o, 0, i, 1), input(o, 0, i, 2));
  }
};

// y[i] = y[i] + a·x[i]. The result grows with each pass, so it shows the number of passes.
struct AxpyLoop : WordsPerElement<1, 2, 2, 1> {
  static constexpr bool in_place = true;
  template <bool Vectors>
  STEELYARD_INSIDE void loop(double* __restrict y, const double* __restrict x, double a, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = keep_scalar<Vectors>(y[i] + a * x[i]);
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    loop<Vectors>(o.y, o.x[0], o.a, o.n);
    return 0;
  }
  static Long expected(const Operands& o, std::size_t, std::size_t i, std::size_t passes) {
    return input(o, inputs, i) + static_cast<Long>(passes) * o.a * input(o, 0, i);
  }
};

// (y, z) ← (c·y + s·z, c·z − s·y): as y + z·i times c − s·i, whose power tells where so many passes lead.
struct RotationLoop : WordsPerElement<0, 6, 2, 2> {
  static constexpr bool in_place = true;
  static constexpr double a = 0.7648421872844885, b = 0.644217687237691;  // cos 0.7 and sin 0.7
  template <bool Vectors>
  STEELYARD_INSIDE void loop(double* __restrict y, double* __restrict z, double c, double s, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      double u = y[i], v = z[i];
      y[i] = keep_scalar<Vectors>(c * u + s * v);
      z[i] = keep_scalar<Vectors>(c * v - s * u);
    }
  }
  template <bool Vectors>
  STEELYARD_INSIDE double pass(const Operands& o) {
    loop<Vectors>(o.y, o.z, o.a, o.b, o.n);
    return 0;
  }
  static Long expected(const Operands& o, std::size_t output, std::size_t i, std::size_t passes) {
    std::complex<Long> turned{1, 0}, power{o.a, -o.b};
    for (; passes; passes /= 2, power *= power)
      if (passes % 2) turned *= power;
    turned *= std::complex<Long>{input(o, inputs, i), input(o, inputs + 1, i)};
    return output == 0 ? turned.real() : turned.imag();
  }
};

}  // namespace steelyard::loops
