// The parts of a merge sort: one thread sorts keys and merges sorted runs, both with vectors.
//
// A bitonic network separates the lower from the upper keys of two sorted vectors (K. E.
// Batcher, 1968; for vectors J. Chhugani et al., VLDB 2008). Such a step waits for the one before it: two runs are
// merged side by side.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "simd.h"

namespace steelyard::merging {

using Key = std::int64_t;
constexpr Key no_key = std::numeric_limits<Key>::max();  // above all keys: marks the end of a run in a block's table
constexpr Key last_key = no_key - 2;
constexpr std::size_t width = pack_bytes / sizeof(Key), rows = 16;
typedef Key Keys __attribute__((vector_size(pack_bytes), aligned(8), may_alias));

inline Keys load(const Key* p) { return *reinterpret_cast<const Keys*>(p); }
inline void store(Key* p, Keys v) { *reinterpret_cast<Keys*>(p) = v; }
inline Keys lower_keys(Keys a, Keys b) { return a < b ? a : b; }
inline Keys upper_keys(Keys a, Keys b) { return a < b ? b : a; }

using Lanes = std::make_index_sequence<width>;
template <std::size_t... I>
inline Keys reverse_lanes(Keys v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (width - 1 - I)...);
}
// Sorts a bitonic vector: compares lanes that are `apart` from each other, then lanes half as far apart.
template <std::size_t apart, std::size_t... I>
inline Keys order_bitonic(Keys v, std::index_sequence<I...> lanes) {
  Keys other = __builtin_shufflevector(v, v, (I ^ apart)...), low = lower_keys(v, other), high = upper_keys(v, other);
  v = __builtin_shufflevector(low, high, (I & apart ? I + width : I)...);
  if constexpr (apart > 1)
    return order_bitonic<apart / 2>(v, lanes);
  else
    return v;
}

// Two sorted runs during their merge. `carry` holds the greatest keys that were taken.
struct MergePair {
  const Key *a, *a_end, *b, *b_end;
  Key* out;
  Keys carry = {};

  std::size_t steps() const { return static_cast<std::size_t>(std::min(a_end - a, b_end - b)) / width; }
  // Takes a vector from the run with the smaller next key. If both keys are equal, either run is right.
  [[gnu::always_inline]] void step() {
    bool left = *a <= *b;
    Keys next = reverse_lanes(load(left ? a : b), Lanes{}), low = lower_keys(carry, next);
    carry = order_bitonic<width / 2>(upper_keys(carry, next), Lanes{});
    a += left ? width : 0, b += left ? 0 : width;
    store(out, order_bitonic<width / 2>(low, Lanes{}));
    out += width;
  }
  // Merges the carry and the rest of both runs, one of which has less than a vector.
  void finish() {
    Key held[width], some[2 * width];
    store(held, carry);
    if (b_end - b < a_end - a) std::swap(a, b), std::swap(a_end, b_end);
    Key* end = std::merge(held, held + width, a, a_end, some);
    out = std::merge(some, end, b, b_end, out);
  }
};

// Merges two pairs of runs side by side until a run may end, then one pair after the other.
inline void merge(MergePair x, MergePair y) {
  bool carried[2] = {};
  MergePair* both[] = {&x, &y};
  for (int i = 0; i < 2; ++i)
    if (MergePair& m = *both[i]; m.a_end - m.a >= static_cast<std::ptrdiff_t>(width))
      m.carry = load(m.a), m.a += width, carried[i] = true;
  if (carried[0] && carried[1])
    while (std::size_t steps = std::min(x.steps(), y.steps()))
      for (std::size_t i = 0; i < steps; ++i) x.step(), y.step();
  for (int i = 0; i < 2; ++i) {
    MergePair& m = *both[i];
    if (!carried[i]) {
      std::merge(m.a, m.a_end, m.b, m.b_end, m.out);
      continue;
    }
    while (std::size_t steps = m.steps())
      for (std::size_t k = 0; k < steps; ++k) m.step();
    m.finish();
  }
}

// Returns how many of the first `wanted` merged keys come from a.
inline std::size_t split(const Key* a, std::size_t a_size, const Key* b, std::size_t b_size, std::size_t wanted) {
  std::size_t low = wanted > b_size ? wanted - b_size : 0, high = std::min(wanted, a_size);
  while (low < high) {
    std::size_t middle = (low + high) / 2;
    if (a[middle] <= b[wanted - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Merges the runs a and b, and writes places [first, last) of the result to out[0] and on: two halves side by side.
inline void merge_part(const Key* a, std::size_t a_size, const Key* b, std::size_t b_size, std::size_t first,
                       std::size_t last, Key* out) {
  std::size_t middle = (first + last) / 2, i[3], k = 0;
  for (std::size_t place : {first, middle, last}) i[k++] = split(a, a_size, b, b_size, place);
  merge(MergePair{a + i[0], a + i[1], b + first - i[0], b + middle - i[1], out},
        MergePair{a + i[1], a + i[2], b + middle - i[1], b + last - i[2], out + middle - first});
}

// Batcher's network of odd-even merging for this number of registers: the pairs to compare.
constexpr auto network = [] {
  std::array<std::pair<std::size_t, std::size_t>, 63> pairs{};
  std::size_t n = 0;
  for (std::size_t p = 1; p < rows; p *= 2)
    for (std::size_t k = p; k > 0; k /= 2)
      for (std::size_t j = k % p; j + k < rows; j += 2 * k)
        for (std::size_t i = j; i < j + k && i + k < rows; ++i)
          if (i / (2 * p) == (i + k) / (2 * p)) pairs[n++] = {i, i + k};
  return pairs;
}();

// A table of 16 rows of vectors, sorted column by column, and each column laid out as a run with its end.
inline void sort_columns(const Key* from, Key* runs) {
  Keys v[rows];
  for (std::size_t r = 0; r < rows; ++r) v[r] = load(from + r * width);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto order = [](Keys& a, Keys& b) {
      Keys low = lower_keys(a, b);
      b = upper_keys(a, b), a = low;
    };
    (order(v[network[I].first], v[network[I].second]), ...);
  }(std::make_index_sequence<network.size()>{});
  for (std::size_t c = 0; c < width; ++c, runs += rows + width) {
    for (std::size_t r = 0; r < rows; ++r) runs[r] = v[r][c];
    runs[rows] = no_key;
  }
}

// Returns the keys of scratch memory for the sort of `size` keys: two tables of runs with their ends.
constexpr std::size_t table(std::size_t size) {
  return std::max(std::bit_ceil(size), 4 * rows * width) / rows * (rows + width);
}

// Sorts keys into `to` (which is not `from`), with tables in `scratch`, which a core's own cache should hold.
inline void sort(const Key* from, std::size_t size, Key* to, Key* scratch) {
  constexpr std::size_t batch = rows * width;
  std::size_t all = std::max(std::bit_ceil(size), 4 * batch);
  Key *here = scratch, *there = scratch + table(size);
  for (std::size_t i = 0; i < all; i += batch) {
    Key rest[batch];
    const Key* keys = from + i;
    if (i + batch > size) {
      std::fill(rest, rest + batch, last_key + 1);
      if (i < size) std::copy(from + i, from + size, rest);
      keys = rest;
    }
    sort_columns(keys, here + i / rows * (rows + width));
  }
  std::size_t run = rows;
  for (; 2 * run < all; run *= 2, std::swap(here, there))
    for (std::size_t i = 0; i < all / run; i += 4) {
      const Key* a = here + i * (run + width);
      Key* out = there + i / 2 * (2 * run + width);
      std::size_t next = run + width;
      MergePair x{a + width, a, a + next, a, out, load(a)};
      MergePair y{a + 2 * next + width, a, a + 3 * next, a, out + 2 * run + width, load(a + 2 * next)};
      for (std::size_t k = 1; k < 2 * run / width; ++k) x.step(), y.step();
      store(x.out, x.carry), store(y.out, y.carry);
      x.out[width] = y.out[width] = no_key;
    }
  merge_part(here, run, here + run + width, run, 0, size, to);
}

}  // namespace steelyard::merging
