// Choices that depend on the machine, for kernels of large arrays: stores, blocks, and the shape of device code.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "params.h"
#include "simd.h"

namespace steelyard {

// A vector at any address, by memcpy: Clang 14 forgets that a reference to a type is unaligned.
template <class V>
V load_unaligned(const double* p) {
  V value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <bool streaming>
void put(double* p, Streamed value) {
  if constexpr (streaming)
    store_streaming(p, value);
  else
    *reinterpret_cast<Streamed*>(p) = value;
}

// Returns the bytes of a cache from sysconf(3), or `otherwise` if the system does not report them.
inline std::size_t cache_bytes(int level, std::size_t otherwise) {
  long known = sysconf(level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE);
  return known > 0 ? static_cast<std::size_t>(known) : otherwise;
}

// The parameter `stores`. Stores that bypass the caches spare the memory a third of its work, but slow down data that
// a cache would hold. "fitting" bypasses the caches if the arrays (in bytes) are larger than the last one.
[[gnu::cold]] inline bool streams(Params& p, std::size_t bytes) {
  std::string stores = p.choice("stores", "fitting", {"fitting", "ordinary", "streaming"});
  if (stores == "streaming" && !has_streaming_stores())
    throw CaseError("stores='streaming': this compiler offers no streaming stores for this processor");
  if (stores != "fitting") return stores == "streaming";
  return has_streaming_stores() && bytes > std::max(cache_bytes(2, 1 << 20), cache_bytes(3, 8 << 20));
}

// Data that only one worker writes, on separate cache lines (two, because lines are fetched in pairs).
template <class T>
struct alignas(128) PerThread {
  T value{};
};

// The head of device code with PACKs: a work item of a processor takes eight doubles at once, a GPU's one.
[[gnu::cold]] inline std::string packs(bool processor) {
  return processor ? "#define PACK double8\n#define LANES 8\n#define LOAD(p) vload8(0, p)\n"
                     "#define STORE(v, p) vstore8(v, 0, p)\n"
                   : "#define PACK double\n#define LANES 1\n#define LOAD(p) (*(p))\n#define STORE(v, p) (*(p) = (v))\n";
}
[[gnu::cold]] inline std::string define(const std::string& name, std::size_t value) {
  return join({"#define ", name, " ", value, "u\n"});
}

}  // namespace steelyard
