// Eight small computations whose floating-point operations can be counted: a series for π, and seven integrals by the
// trapezoidal rule. They follow the mathematical definitions; the operations of a pass are counted beside each loop.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

namespace steelyard {

// The calculation of one pass of a loop.
struct OperationCounts {
  int add, sub, mul, div;
  constexpr double all() const { return add + sub + mul + div; }
};

// Every loop reads the constants from memory: a compiler that knows them may turn a subtraction into an addition, or
// leave an operation out. `sine` and `cosine` belong to powers of x²; module 3 subtracts two of them.
struct Coefficients {
  double d1 = 0.03999999946405, d2 = 0.96e-3, d3 = 0.1233153e-5, e2 = 0.48e-3, e3 = 0.411051e-6;
  double sine[7] = {1,
                    -0.1666666666671334,
                    0.833333333809067e-2,
                    -0.198412715551283e-3,
                    0.27557589750762e-5,
                    -0.2507059876207e-7,
                    0.164105986683e-9};
  double cosine[7] = {
      1, -0.4999999999982, 0.4166666664651e-1, -0.1388888805755e-2, 0.24801428034e-4, -0.2754213324e-6, 0.20189405e-8};
  double positive3 = 0.198412715551283e-3, positive5 = 0.2507059876207e-7, minus_one = -1;
};

// A pass has six multiplications and six additions. The factor x of the sine is a seventh multiplication.
inline double polynomial(const double (&c)[7], double w) {
  return (((((c[6] * w + c[5]) * w + c[4]) * w + c[3]) * w + c[2]) * w + c[1]) * w + 1.0;
}
inline double number(std::size_t i) { return static_cast<double>(static_cast<std::int32_t>(i)); }

// Each integral knows: its upper end (the lower one is 0); `sum`, the timed loop, which adds the integrand at the
// points first·h … (last − 1)·h; the exact result; the first term of Euler and Maclaurin's formula, f′(end) − f′(0), by
// which the trapezoidal rule errs with h²/12; and a bound of the next one, |f‴(end) − f‴(0)|.
struct Logarithm {  // module 1: f′/f for a cubic f
  static constexpr OperationCounts operations{7, 0, 6, 1};
  static constexpr double end = 1, next = 1;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0, v = static_cast<double>(first);
    for (std::size_t i = first; i < last; ++i) {
      double x = v * h;
      s = s + (c.d1 + x * (c.d2 + x * c.d3)) / (1.0 + x * (c.d1 + x * (c.e2 + x * c.e3)));
      v = v + 1.0;
    }
    return s;
  }
  static double cubic(double x) {
    constexpr Coefficients c;
    return 1 + x * (c.d1 + x * (c.e2 + x * c.e3));
  }
  static double slope(double x) {
    constexpr Coefficients c;
    double f = cubic(x), f1 = c.d1 + x * (c.d2 + x * c.d3), f2 = c.d2 + 2 * c.d3 * x;
    return (f2 * f - f1 * f1) / (f * f);
  }
  static double exact() { return std::log(cubic(end)); }
  static double slope_difference() { return slope(end) - slope(0); }
};

struct Sine {  // module 3
  static constexpr OperationCounts operations{6, 2, 9, 0};
  static constexpr double end = std::numbers::pi / 3, next = 1;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0, v = static_cast<double>(first);
    for (std::size_t i = first; i < last; ++i) {
      double x = v * h, w = x * x;
      s = s +
          ((((((c.sine[6] * w - c.positive5) * w + c.sine[4]) * w - c.positive3) * w + c.sine[2]) * w + c.sine[1]) * w +
           1.0) *
              x;
      v = v + 1.0;
    }
    return s;
  }
  static double exact() { return 0.5; }
  static double slope_difference() { return std::cos(end) - 1; }
};

struct Cosine {  // module 4
  static constexpr OperationCounts operations{7, 0, 8, 0};
  static constexpr double end = std::numbers::pi / 3, next = 1;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0;
    for (std::size_t i = first; i < last; ++i) {
      double x = number(i) * h;
      s = s + polynomial(c.cosine, x * x);
    }
    return s;
  }
  static double exact() { return std::sin(end); }
  static double slope_difference() { return -std::sin(end); }
};

struct Tangent {  // module 5
  static constexpr OperationCounts operations{13, 0, 15, 1};
  static constexpr double end = std::numbers::pi / 3, next = 80;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0;
    for (std::size_t i = first; i < last; ++i) {
      double x = number(i) * h, w = x * x;
      s = s + x * polynomial(c.sine, w) / polynomial(c.cosine, w);
    }
    return s;
  }
  static double exact() { return std::numbers::ln2; }
  static double slope_difference() { return 3; }
};

struct SineCosine {  // module 6
  static constexpr OperationCounts operations{13, 0, 16, 0};
  static constexpr double end = std::numbers::pi / 4, next = 4;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0;
    for (std::size_t i = first; i < last; ++i) {
      double x = number(i) * h, w = x * x;
      s = s + x * polynomial(c.sine, w) * polynomial(c.cosine, w);
    }
    return s;
  }
  static double exact() { return 0.25; }
  static double slope_difference() { return -1; }
};

struct Fractions {  // module 7: 1/(x + 1) + x/(x² + 1) + x²/(x³ + 1), times −36
  static constexpr OperationCounts operations{3, 3, 3, 3};
  static constexpr double end = 102.3321513995275, next = 12, scale = 36;
  static double sum(const Coefficients&, double h, std::size_t first, std::size_t last) {
    double s = 0;
    for (std::size_t i = first; i < last; ++i) {
      double x = number(i) * h, w = x * x;
      s = s - 1.0 / (x + 1.0) - x / (w + 1.0) - w / (x * w + 1.0);
    }
    return s;
  }
  static double exact() {
    return -scale * (std::log1p(end) + std::log1p(end * end) / 2 + std::log1p(end * end * end) / 3);
  }
  static double slope_difference() {
    double x = end, w = x * x, third = x * w + 1;
    return scale * (1 / ((x + 1) * (x + 1)) - (1 - w) / ((w + 1) * (w + 1)) - (2 * x - w * w) / (third * third));
  }
};

struct SineCosineSquared {  // module 8
  static constexpr OperationCounts operations{13, 0, 17, 0};
  static constexpr double end = std::numbers::pi / 3, next = 14;
  static double sum(const Coefficients& c, double h, std::size_t first, std::size_t last) {
    double s = 0;
    for (std::size_t i = first; i < last; ++i) {
      double x = number(i) * h, w = x * x, p = polynomial(c.cosine, w);
      s = s + x * polynomial(c.sine, w) * p * p;
    }
    return s;
  }
  static double exact() { return 7.0 / 24; }
  static double slope_difference() { return -1.625; }
};

// Module 2: π/4 = 1 − 1/3 + 1/5 − …. A second sum has the rounding errors of the additions.
struct Series {
  static constexpr OperationCounts operations{3, 2, 1, 1};
  struct Sum {
    double value, lost;
  };
  static Sum sum(const Coefficients& c, std::size_t terms) {
    double s = 1, u = 1, w = 0, lost = 0;
    for (std::size_t i = 0; i < terms; ++i) {
      double t = s / u, y = w + t;
      lost = lost + (t - (y - w));
      w = y;
      u = u + 2.0;
      s = s * c.minus_one;
    }
    return {w, lost};
  }
};

// A calculation whose loop has `intervals` − 1 passes, its right result, and the allowed error.
template <class M>
struct FlopModule {
  static constexpr OperationCounts operations = M::operations;
  // The trapezoidal rule counts the ends half; only the points between them are timed as passes.
  static double compute(const Coefficients& c, std::size_t intervals) {
    double h = M::end / number(intervals), inner = M::sum(c, h, 1, intervals);
    double ends = M::sum(c, h, 0, 1) + M::sum(c, h, intervals, intervals + 1);
    return h * (inner + ends / 2) * scale();
  }
  static double exact() { return M::exact(); }
  static double expected(std::size_t intervals) {
    double h = M::end / number(intervals);
    return M::exact() + h * h / 12 * M::slope_difference();
  }
  // The next term of the formula; the rounding of as many additions; and 10⁻¹², to which the polynomials are right.
  static double allowed(std::size_t intervals) {
    double h = M::end / number(intervals), rounding = number(intervals) * std::numeric_limits<double>::epsilon() / 2;
    return h * h * h * h / 720 * M::next * scale() * 1.5 + (rounding + 1e-12) * std::abs(M::exact());
  }
  static constexpr double scale() {
    if constexpr (requires { M::scale; })
      return M::scale;
    else
      return 1;
  }
};
template <>
struct FlopModule<Series> {
  static constexpr OperationCounts operations = Series::operations;
  // The rest of the series by Euler's numbers (J. Borwein, P. Borwein, K. Dilcher: Pi, Euler Numbers, and Asymptotic
  // Expansions, 1989): ± (1/N − 1/N³ + 5/N⁵ − …)/2 after N/2 terms.
  static double compute(const Coefficients& c, std::size_t intervals) {
    std::size_t terms = intervals - 1;
    Series::Sum sum = Series::sum(c, terms);
    double n = 2 * number(terms), rest = (1 - (1 - 5 / (n * n)) / (n * n)) / n / 2;
    return 4 * (sum.value + (sum.lost + (terms % 2 == 0 ? rest : -rest)));
  }
  static double exact() { return std::numbers::pi; }
  static double expected(std::size_t) { return exact(); }
  static double allowed(std::size_t intervals) {
    double n = 2 * number(intervals);
    return 200 / (n * n * n * n * n * n * n) + 1e-14 * exact();
  }
};

}  // namespace steelyard
