// Scalars and vectors of 128 to 512 bits. A compiler cannot widen, split or remove their arithmetic.
#pragma once
#include <cmath>
#include <cstddef>
#include <type_traits>
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace steelyard {

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__) || defined(__FP_FAST_FMA)
constexpr bool has_fma = true;
#else
constexpr bool has_fma = false;
#endif

// Registers for chains, besides two for constants: 32 in all with AVX-512VL and on Arm, otherwise 16. A processor needs
// as many chains as its latency times its pipes: at most 5 × 2 on Haswell, 4 × 4 on Neoverse V2.
#if defined(__AVX512VL__) || defined(__aarch64__)
constexpr std::size_t chains = 24;
#else
constexpr std::size_t chains = 12;
#endif

// `bits` 0 means a scalar.
template <class T, std::size_t bits>
struct LanesOf {
  typedef T type __attribute__((vector_size(bits / 8)));
};
template <class T>
struct LanesOf<T, 0> {
  typedef T type;
};
template <class T, std::size_t bits>
using Lanes = typename LanesOf<T, bits>::type;

// Hides the value of `x` from the compiler and keeps it in its register, so that chains of scalars stay scalar.
template <class V>
void hide_from_compiler(V& x) {
#if defined(__x86_64__)
  asm volatile("" : "+v"(x));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(x));
#else
  asm volatile("" : "+m"(x));
#endif
}

// One fused multiply-add whose result replaces an operand, as in the instruction set:
// x·a + b on x86, x + a·b on Arm.
template <class T>
T fused_scalar(T x, T a, T b) {
#if defined(__aarch64__)
  return std::fma(a, b, x);
#else
  return std::fma(x, a, b);
#endif
}

#if defined(__x86_64__) && (defined(__FMA__) || defined(__AVX512F__))
template <class T, class V>
void fuse(V& x, const V& a, const V& b) {
  if constexpr (std::is_same_v<V, double>)
    asm volatile("vfmadd213sd %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
  else if constexpr (std::is_same_v<V, float>)
    asm volatile("vfmadd213ss %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
  else if constexpr (std::is_same_v<T, double>)
    asm volatile("vfmadd213pd %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
  else
    asm volatile("vfmadd213ps %2, %1, %0" : "+v"(x) : "v"(a), "v"(b));
}
#elif defined(__aarch64__)
template <class T, class V>
void fuse(V& x, const V& a, const V& b) {
  if constexpr (std::is_same_v<V, T>)
    x = fused_scalar(x, a, b);
  else if constexpr (std::is_same_v<T, double>)
    x = reinterpret_cast<V>(vfmaq_f64(reinterpret_cast<float64x2_t>(x), reinterpret_cast<float64x2_t>(a),
                                      reinterpret_cast<float64x2_t>(b)));
  else
    x = reinterpret_cast<V>(vfmaq_f32(reinterpret_cast<float32x4_t>(x), reinterpret_cast<float32x4_t>(a),
                                      reinterpret_cast<float32x4_t>(b)));
  hide_from_compiler(x);
}
#else
// The compiler fuses these operations. If it does not, the check fails, because one rounding differs from two.
template <class T, class V>
void fuse(V& x, const V& a, const V& b) {
  x = x * a + b;
  hide_from_compiler(x);
}
#endif

}  // namespace steelyard
