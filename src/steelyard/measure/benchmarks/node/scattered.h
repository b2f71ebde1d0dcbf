// Words without a pattern that any thread can compute: contents of vectors and matrices.
#pragma once
#include <cstdint>

namespace steelyard {

// The i-th of a fixed sequence of evenly distributed words (the finaliser of A. Appleby's MurmurHash3).
inline std::uint64_t scatter_index(std::uint64_t i) {
  i = (i + 1) * 0x9E3779B97F4A7C15u;
  i = (i ^ (i >> 33)) * 0xFF51AFD7ED558CCDu;
  i = (i ^ (i >> 33)) * 0xC4CEB9FE1A85EC53u;
  return i ^ (i >> 33);
}

}  // namespace steelyard
