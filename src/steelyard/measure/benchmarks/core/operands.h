// What a pass of a loop works on, the values in its vectors, and how a loop is kept from becoming vectors.
#pragma once
#include <cstdint>

#include "../memory/vectors.h"  // STEELYARD_NO_MEMCPY

namespace steelyard::loops {

#define STEELYARD_INSIDE [[gnu::always_inline]] inline static

struct Operands {
  double *y, *z;       // written; z by the rotation alone
  const double* x[5];  // read
  const std::uint32_t* index;
  std::size_t n, stride;
  double a, b;
};

using Long = long double;  // in which results are evaluated a second time

// Doubles before and after each vector, since differences look at neighbours; a whole line, for the alignment.
constexpr std::size_t margin = 8;

// What input vector `which` holds at `place` of its buffer: 20 bits within [0.125, 0.4375). Two of them are less than 1
// together, so that recurrences stay bounded; and no two places are alike, so that a wrong one shows.
inline double value(std::size_t which, std::size_t place) {
  std::uint64_t mixed = (place + 1) * 0x9e3779b97f4a7c15u * (2 * which + 1);  // 2^64 over the golden ratio
  return 0.125 + 0.3125 * 0x1p-20 * static_cast<double>(mixed >> 44);
}

// Element `i` of input vector `which`, and `shift` further; each element is `stride` doubles from the next.
inline Long input(const Operands& o, std::size_t which, std::size_t i, std::ptrdiff_t shift = 0) {
  return value(which, margin + i * o.stride + static_cast<std::size_t>(shift));
}

// In the scalar variant each result passes through an empty instruction for one double. It costs nothing, and no
// compiler can put several of them into a vector: the same loop otherwise, without flags that each compiler names in
// its own way.
template <bool Vectors>
STEELYARD_INSIDE double alone(double x) {
  if constexpr (!Vectors)
#if defined(__x86_64__)
    asm volatile("" : "+x"(x));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(x));
#else
    asm volatile("" : "+f"(x));
#endif
  return x;
}

// Per element: input vectors, flops as everybody counts them, and words read and written in memory (w = 8 B).
template <std::size_t Inputs, int Flops, int Loads, int Stores>
struct Words {
  static constexpr std::size_t inputs = Inputs, outputs = Stores;
  static constexpr int flops = Flops, loads = Loads, stores = Stores;
  static constexpr bool in_place = false, strided = false, indexed = false, reduction = false;
  static constexpr std::size_t usual_stride = 1;
  static constexpr double a = 0.75, b = 0.5;
  static std::size_t place(const Operands& o, std::size_t i) { return i * o.stride; }  // of result i
};

}  // namespace steelyard::loops
