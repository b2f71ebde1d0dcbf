// NPB's random numbers: x ← a·x mod 2^46, a = 5^13, u = x·2^-46 in (0, 1), with a jump over any number of them.
#pragma once
#include <cstdint>

namespace steelyard::npb {

class Generator {
 public:
  static constexpr std::uint64_t a = 1220703125, mask = (std::uint64_t{1} << 46) - 1;  // RNR-94-007, section 2.3
  static constexpr std::uint64_t usual_seed = 314159265;                               // of all programs but EP
  static constexpr double scale = 0x1p-46;

  explicit constexpr Generator(std::uint64_t seed = usual_seed) : x_(seed) {}

  // The low 64 bits of the product contain its low 46 bits exactly.
  constexpr double next() { return static_cast<double>(x_ = x_ * a & mask) * scale; }
  constexpr void skip(std::uint64_t numbers) { x_ = x_ * power(numbers) & mask; }
  constexpr std::uint64_t state() const { return x_; }

  // Returns a^n mod 2^46.
  static constexpr std::uint64_t power(std::uint64_t n) {
    std::uint64_t out = 1;
    for (std::uint64_t square = a; n; n /= 2, square = square * square & mask)
      if (n % 2) out = out * square & mask;
    return out;
  }

 private:
  std::uint64_t x_;
};

}  // namespace steelyard::npb
