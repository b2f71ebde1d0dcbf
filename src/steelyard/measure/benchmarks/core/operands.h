// The operands of a loop, the values in its vectors, and the method that keeps a loop scalar.
#pragma once
#include <cstdint>

#include "../memory/vectors.h"  // STEELYARD_NO_MEMCPY

namespace steelyard::loops {

#define STEELYARD_INSIDE [[gnu::always_inline]] inline static

struct Operands {
  double *y, *z;       // written; only the rotation has z
  const double* x[5];  // read by the loop
  const std::uint32_t* index;
  std::size_t n, stride;
  double a, b;
};

using Long = long double;  // the type of the second evaluation

// Doubles before and after each vector, which differences read; a whole line, for the alignment.
constexpr std::size_t margin = 8;

// The value of input vector `which` at `place` of its buffer: 20 bits within [0.125, 0.4375). Two values add up to less
// than 1, so recurrences stay bounded. All places differ, so a wrong place is found.
inline double value(std::size_t which, std::size_t place) {
  std::uint64_t mixed = (place + 1) * 0x9e3779b97f4a7c15u * (2 * which + 1);  // 2^64 over the golden ratio
  return 0.125 + 0.3125 * 0x1p-20 * static_cast<double>(mixed >> 44);
}

// Returns element `i` of input vector `which`, displaced by `shift`; elements are `stride` doubles apart.
inline Long input(const Operands& o, std::size_t which, std::size_t i, std::ptrdiff_t shift = 0) {
  return value(which, margin + i * o.stride + static_cast<std::size_t>(shift));
}

// In the scalar variant each result passes through an empty instruction for one double. It costs nothing, and no
// compiler can combine several results into a vector. The loop is otherwise the same, without flags, whose names differ
// between compilers.
template <bool Vectors>
STEELYARD_INSIDE double keep_scalar(double x) {
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

// For each element: input vectors, flops by the usual count, and words read and written in memory (w = 8 B).
template <std::size_t Inputs, int Flops, int Loads, int Stores>
struct WordsPerElement {
  static constexpr std::size_t inputs = Inputs, outputs = Stores;
  static constexpr int flops = Flops, loads = Loads, stores = Stores;
  static constexpr bool in_place = false, strided = false, indexed = false, reduction = false;
  static constexpr std::size_t usual_stride = 1;
  static constexpr double a = 0.75, b = 0.5;
  static std::size_t place(const Operands& o, std::size_t i) { return i * o.stride; }  // place of result i
};

}  // namespace steelyard::loops
