// The widest vectors that the compiler flags allow, and stores that bypass the caches.
#pragma once
#include <cstddef>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace steelyard {

#if defined(__AVX512F__)
constexpr std::size_t pack_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t pack_bytes = 32;
#else
constexpr std::size_t pack_bytes = 16;
#endif
constexpr std::size_t pack_doubles = pack_bytes / sizeof(double);

// The doubles of one register; may_alias, because arrays of double are read through it.
typedef double Pack __attribute__((vector_size(pack_bytes), may_alias));

inline Pack& pack_at(double* p) { return *reinterpret_cast<Pack*>(p); }
inline const Pack& pack_at(const double* p) { return *reinterpret_cast<const Pack*>(p); }
inline Pack pack_of(double x) { return Pack{} + x; }

// What is stored around the caches is stored in halves of a line at most: on Sapphire Rapids whole lines of AVX-512 are
// slower by some 6 %.
constexpr std::size_t streamed_bytes = pack_bytes < 32 ? pack_bytes : 32;
constexpr std::size_t streamed_doubles = streamed_bytes / sizeof(double);
typedef double Streamed __attribute__((vector_size(streamed_bytes), may_alias));

inline const Streamed& streamed_at(const double* p) { return *reinterpret_cast<const Streamed*>(p); }

// Non-temporal: the line is written without being read first. `p` is aligned to the type.
inline void store_streaming(double* p, Streamed value) {
#if defined(__AVX__)
  _mm256_stream_pd(p, reinterpret_cast<__m256d>(value));
#elif defined(__x86_64__)
  _mm_stream_pd(p, reinterpret_cast<__m128d>(value));
#elif defined(__clang__)
  __builtin_nontemporal_store(value, reinterpret_cast<Streamed*>(p));
#else
  *reinterpret_cast<Streamed*>(p) = value;
#endif
}

// Returns whether store_streaming really bypasses the caches in this build.
constexpr bool has_streaming_stores() {
#if defined(__x86_64__) || defined(__clang__)
  return true;
#else
  return false;
#endif
}

// Streaming stores are weakly ordered: they must be out before another thread, or the clock, looks.
inline void drain_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace steelyard
