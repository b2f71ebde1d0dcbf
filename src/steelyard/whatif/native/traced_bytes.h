// The numbers of our own traces as bytes (../tracer/format.h), for what makes such traces of others.
#pragma once
#include <cstdint>
#include <string>

namespace steelyard::trace {

inline void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}
// Numbers that may be negative.
inline void put_folded(std::string& out, std::int64_t number) {
  put(out, static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63));
}

}  // namespace steelyard::trace
