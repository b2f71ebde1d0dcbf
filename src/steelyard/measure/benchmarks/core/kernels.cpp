// 31 loops in ten groups over vectors of any length. Each is compiled normally, and once more kept scalar.
#include "pass.h"

using namespace steelyard;
using namespace steelyard::loops;

namespace {

// Each expression computes y[i] from the scalars a and b and from x1[i], x2[i] …
struct BroadcastScalar : WordsPerElement<0, 0, 0, 1> {
  static auto at(auto a, auto...) { return a; }
};
struct CopyLoop : WordsPerElement<1, 0, 1, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto...) { return x; }
};
struct AddLoop : WordsPerElement<2, 1, 2, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto y, auto...) { return x + y; }
};
struct SubtractLoop : WordsPerElement<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x - y; }
};
struct MultiplyLoop : WordsPerElement<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x * y; }
};
struct DivideLoop : WordsPerElement<2, 1, 2, 1> {
  static auto at(auto, auto, auto x, auto y, auto...) { return x / y; }
};
struct ScaleLoop : WordsPerElement<1, 1, 1, 1> {
  static auto at(auto a, auto, auto x, auto...) { return a * x; }
};
struct LinearLoop : WordsPerElement<1, 2, 1, 1> {
  static auto at(auto a, auto b, auto x, auto...) { return a * x + b; }
};
struct LinkedTriadLoop : WordsPerElement<2, 2, 2, 1> {
  static auto at(auto a, auto, auto x, auto y, auto...) { return x + a * y; }
};
struct MultiplyAddLoop : WordsPerElement<3, 2, 3, 1> {
  static constexpr bool strided = true;
  static auto at(auto, auto, auto x, auto y, auto w, auto...) { return x * y + w; }
};
struct TwoProductsLoop : WordsPerElement<4, 3, 4, 1> {
  static auto at(auto, auto, auto x1, auto x2, auto x3, auto x4, auto...) { return x1 * x2 + x3 * x4; }
};
struct TwoProductsAddLoop : WordsPerElement<5, 4, 5, 1> {
  static auto at(auto, auto, auto x1, auto x2, auto x3, auto x4, auto x5) { return x1 * x2 + x3 * x4 + x5; }
};
struct SquareRootLoop : WordsPerElement<1, 1, 1, 1> {
  static auto at(auto, auto, auto x, auto...) { return std::sqrt(x); }
};
struct Exponential : WordsPerElement<1, 0, 1, 1> {  // counts results and not flops, in which libraries differ
  static auto at(auto, auto, auto x, auto...) { return std::exp(x); }
};
// A polynomial by Horner's rule; coefficients ±1, ∓1/2, ±1/3 …
template <int degree>
struct Horner : WordsPerElement<1, 2 * degree, 1, 1> {
  static constexpr double coefficient(int k) { return (k % 2 ? -1.0 : 1.0) / (k + 1); }
  template <class T>
  STEELYARD_INSIDE T at(T, T, T x, auto...) {
    T sum = coefficient(degree);
#pragma GCC unroll 17
    for (int k = degree - 1; k >= 0; --k) sum = sum * x + coefficient(k);
    return sum;
  }
};
struct Sum : WordsPerElement<1, 1, 1, 0> {
  static auto term(auto x, auto) { return x; }
};
struct Dot : WordsPerElement<2, 2, 2, 0> {
  static auto term(auto x, auto y) { return x * y; }
};
struct Squares : WordsPerElement<1, 2, 1, 0> {
  static auto term(auto x, auto) { return x * x; }
};

template <class Expression>
Loop each(const char* name) {
  return loop<ElementwiseLoop<Expression>>(name);
}

}  // namespace

// In the order of the groups: data movement, dyads, scalar and vector, linked triads, reductions, recurrences,
// differences, intensity series, special functions, rotation.
const std::vector<Loop>& loops::all_loops() {
  static const std::vector<Loop> all{each<BroadcastScalar>("broadcast"),
                                     each<CopyLoop>("copy"),
                                     loop<MovedPattern<AccessPattern::strided>>("strided_copy"),
                                     loop<MovedPattern<AccessPattern::gather>>("gather"),
                                     loop<MovedPattern<AccessPattern::scatter>>("scatter"),
                                     each<AddLoop>("add"),
                                     each<SubtractLoop>("subtract"),
                                     each<MultiplyLoop>("multiply"),
                                     each<DivideLoop>("divide"),
                                     each<ScaleLoop>("scale"),
                                     each<LinearLoop>("linear"),
                                     loop<AxpyLoop>("axpy"),
                                     each<LinkedTriadLoop>("triad"),
                                     each<MultiplyAddLoop>("multiply_add"),
                                     each<TwoProductsLoop>("two_products"),
                                     each<TwoProductsAddLoop>("two_products_add"),
                                     loop<ReductionLoop<Sum>>("sum"),
                                     loop<ReductionLoop<Dot>>("dot"),
                                     loop<ReductionLoop<Squares>>("sum_of_squares"),
                                     loop<RecurrenceLoop<1>>("recurrence1"),
                                     loop<RecurrenceLoop<2>>("recurrence2"),
                                     loop<DifferenceLoop<2>>("difference2"),
                                     loop<DifferenceLoop<4>>("difference4"),
                                     each<Horner<1>>("horner1"),
                                     each<Horner<3>>("horner3"),
                                     each<Horner<5>>("horner5"),
                                     each<Horner<9>>("horner9"),
                                     each<Horner<17>>("horner17"),
                                     each<SquareRootLoop>("sqrt"),
                                     each<Exponential>("exp"),
                                     loop<RotationLoop>("rotation")};
  return all;
}

int main() {
  std::vector<NamedKernel> kernels;
  for (const Loop& loop : all_loops()) kernels.push_back(kernel<Pass>(loop.name));
  return serve(kernels);
}
