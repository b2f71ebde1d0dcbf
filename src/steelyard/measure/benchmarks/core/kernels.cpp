// 31 loops in ten groups over vectors of any length. Each is compiled normally, and once more kept scalar.
#include "pass.h"

using namespace steelyard;
using namespace steelyard::loops;

namespace {

// Each expression computes y[i] from the scalars a and b and from x1[i], x2[i] …
struct Broadcast : Words<0, 0, 0, 1> {
  static auto at(auto a, auto...) { return a; }
};
struct Copied : Words<1, 0, 1, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto...) { return x; }
};
struct Added : Words<2, 1, 2, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto y, auto...) { return x + y; }
};
struct Subtracted : Words<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x - y; }
};
struct Multiplied : Words<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x * y; }
};
struct Divided : Words<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x / y; }
};
struct Scaled : Words<1, 1, 1, 1> {
  static auto at(auto a, auto, auto x, auto...) { return a * x; }
};
struct Linear : Words<1, 2, 1, 1> {
  static auto at(auto a, auto b, auto x, auto...) { return a * x + b; }
};
struct LinkedTriad : Words<2, 2, 2, 1> {
  static auto at(auto a, auto, auto x, auto y, auto...) { return x + a * y; }
};
struct MultipliedAndAdded : Words<3, 2, 3, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto y, auto w, auto...) { return x * y + w; }
};
struct TwoProducts : Words<4, 3, 4, 1> {
  static auto at(auto, auto, auto x1, auto x2, auto x3, auto x4, auto...) { return x1 * x2 + x3 * x4; }
};
struct TwoProductsAndAdded : Words<5, 4, 5, 1> {
  static auto at(auto, auto, auto x1, auto x2, auto x3, auto x4, auto x5) { return x1 * x2 + x3 * x4 + x5; }
};
struct SquareRoot : Words<1, 1, 1, 1> {
  static auto at(auto, auto, auto x, auto...) { return std::sqrt(x); }
};
struct Exponential : Words<1, 0, 1, 1> {  // counts results and not flops, in which libraries differ
  static auto at(auto, auto, auto x, auto...) { return std::exp(x); }
};
// A polynomial by Horner's rule; coefficients ±1, ∓1/2, ±1/3 …
template <int degree>
struct Horner : Words<1, 2 * degree, 1, 1> {
  static constexpr double coefficient(int k) { return (k % 2 ? -1.0 : 1.0) / (k + 1); }
  template <class T>
  STEELYARD_INSIDE T at(T, T, T x, auto...) {
    T sum = coefficient(degree);
#pragma GCC unroll 17
    for (int k = degree - 1; k >= 0; --k) sum = sum * x + coefficient(k);
    return sum;
  }
};
struct Sum : Words<1, 1, 1, 0> {
  static auto term(auto x, auto) { return x; }
};
struct Dot : Words<2, 2, 2, 0> {
  static auto term(auto x, auto y) { return x * y; }
};
struct Squares : Words<1, 2, 1, 0> {
  static auto term(auto x, auto) { return x * x; }
};

template <class Expression>
Loop each(const char* name) {
  return loop<Elementwise<Expression>>(name);
}

}  // namespace

// In the order of the groups: data movement, dyads, scalar and vector, linked triads, reductions, recurrences,
// differences, intensity series, special functions, rotation.
const std::vector<Loop>& loops::all_loops() {
  static const std::vector<Loop> all{each<Broadcast>("broadcast"),
                                     each<Copied>("copy"),
                                     loop<Moved<Way::strided>>("strided_copy"),
                                     loop<Moved<Way::gather>>("gather"),
                                     loop<Moved<Way::scatter>>("scatter"),
                                     each<Added>("add"),
                                     each<Subtracted>("subtract"),
                                     each<Multiplied>("multiply"),
                                     each<Divided>("divide"),
                                     each<Scaled>("scale"),
                                     each<Linear>("linear"),
                                     loop<Axpy>("axpy"),
                                     each<LinkedTriad>("triad"),
                                     each<MultipliedAndAdded>("multiply_add"),
                                     each<TwoProducts>("two_products"),
                                     each<TwoProductsAndAdded>("two_products_add"),
                                     loop<Reduction<Sum>>("sum"),
                                     loop<Reduction<Dot>>("dot"),
                                     loop<Reduction<Squares>>("sum_of_squares"),
                                     loop<Recurrence<1>>("recurrence1"),
                                     loop<Recurrence<2>>("recurrence2"),
                                     loop<Difference<2>>("difference2"),
                                     loop<Difference<4>>("difference4"),
                                     each<Horner<1>>("horner1"),
                                     each<Horner<3>>("horner3"),
                                     each<Horner<5>>("horner5"),
                                     each<Horner<9>>("horner9"),
                                     each<Horner<17>>("horner17"),
                                     each<SquareRoot>("sqrt"),
                                     each<Exponential>("exp"),
                                     loop<Rotation>("rotation")};
  return all;
}

int main() {
  std::vector<NamedKernel> kernels;
  for (const Loop& loop : all_loops()) kernels.push_back(kernel<Pass>(loop.name));
  return serve(kernels);
}
