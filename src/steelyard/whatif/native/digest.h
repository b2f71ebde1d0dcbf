// A digest of 128 bits of a content. It is not cryptographic: an attacker can make two contents with the same digest.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace steelyard::whatif {

class Digest {
 public:
  using Value = std::array<std::uint64_t, 2>;

  // Adds a piece. The value does not depend on how the content is divided into pieces.
  void add(std::string_view piece) {
    bytes_ += piece.size();
    if (held_ > 0) {
      const std::size_t more = std::min(sizeof block_ - held_, piece.size());
      std::memcpy(block_ + held_, piece.data(), more);
      held_ += more;
      piece.remove_prefix(more);
      if (held_ < sizeof block_) return;
      mix(block_);
      held_ = 0;
    }
    for (; piece.size() >= sizeof block_; piece.remove_prefix(sizeof block_)) mix(piece.data());
    if (!piece.empty()) std::memcpy(block_, piece.data(), held_ = piece.size());
  }
  Value value() const {
    Digest last = *this;
    std::memset(last.block_ + held_, 0, sizeof block_ - held_);
    last.mix(last.block_);
    Value found{bytes_, ~bytes_};
    for (std::size_t lane = 0; lane < LANES; ++lane) {
      found[0] = whole(found[0] ^ last.lanes_[lane]);
      found[1] = whole(found[1] + last.lanes_[lane]);
    }
    return found;
  }

 private:
  static constexpr std::size_t LANES = 4;

  // The last step of the mixer of SplitMix (Steele, Lea, Flood, OOPSLA 2014).
  static std::uint64_t whole(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  // Each lane takes 8 bytes; all steps can be undone, so that no content is lost in one.
  void mix(const char* block) {
    for (std::size_t lane = 0; lane < LANES; ++lane) {
      std::uint64_t word;
      std::memcpy(&word, block + 8 * lane, 8);
      std::uint64_t& x = lanes_[lane];
      x = (x ^ word * 0x9e3779b97f4a7c15u) * 0xd1342543de82ef95u;
      x = x << 29 | x >> 35;
    }
  }

  std::array<std::uint64_t, LANES> lanes_{1, 2, 3, 4};
  std::uint64_t bytes_ = 0;
  std::size_t held_ = 0;
  char block_[8 * LANES] = {};
};

}  // namespace steelyard::whatif
