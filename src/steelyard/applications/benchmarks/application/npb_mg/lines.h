// MG's three operators on one line of points along x: 27-point stencil, restriction and prolongation.
#pragma once
#include <array>
#include <type_traits>
#include <utility>

#include "grid.h"

// These functions of the inner loops are always inlined: in a large program GCC would call them instead.
namespace steelyard::npb {

typedef double Loose __attribute__((vector_size(pack_bytes), may_alias, aligned(8)));
inline Pack load(const double* p) { return *reinterpret_cast<const Loose*>(p); }
inline void store(double* p, Pack value) { *reinterpret_cast<Loose*>(p) = value; }

// Selects lanes of two neighbouring registers: `Choice` gives the index of each lane.
template <class Choice, std::size_t... lane>
Pack shuffle(Pack a, Pack b, std::index_sequence<lane...>) {
  return __builtin_shufflevector(a, b, Choice::of(lane)...);
}
struct NextLanes {
  static constexpr int of(std::size_t i) { return static_cast<int>(i) + 1; }
};
struct PreviousLanes {
  static constexpr int of(std::size_t i) { return static_cast<int>(i) + lanes - 1; }
};
struct EvenLanes {
  static constexpr int of(std::size_t i) { return 2 * static_cast<int>(i); }
};
struct OddLanes {
  static constexpr int of(std::size_t i) { return 2 * static_cast<int>(i) + 1; }
};
struct InterleavedLow {
  static constexpr int of(std::size_t i) { return static_cast<int>(i / 2 + i % 2 * pack_doubles); }
};
struct InterleavedHigh {
  static constexpr int of(std::size_t i) { return InterleavedLow::of(i) + lanes / 2; }
};
template <class Choice>
Pack shuffle(Pack a, Pack b) {
#if defined(__AVX512F__)
  // GCC takes the instruction for any choice, which overwrites an operand and wants its indices in a register.
  constexpr int by = std::is_same_v<Choice, NextLanes> ? 1 : std::is_same_v<Choice, PreviousLanes> ? lanes - 1 : 0;
  if constexpr (by > 0)
    return reinterpret_cast<Pack>(
        _mm512_maskz_alignr_epi64(0xff, reinterpret_cast<__m512i>(b), reinterpret_cast<__m512i>(a), by));
#endif
  return shuffle<Choice>(a, b, std::make_index_sequence<pack_doubles>{});
}

// A line and its neighbours, [z][y]. The loops use copies: the compiler assumes that stores may change references.
struct NineLines {
  const double* at[3][3];
};

// The weights of the point itself, its 6 faces, 12 edges and 8 corners.
struct Weights {
  double centre, face, edge, corner;
};

inline Pack add_faces(const NineLines& n, int x) {
  return (load(n.at[0][1] + x) + load(n.at[2][1] + x)) + (load(n.at[1][0] + x) + load(n.at[1][2] + x));
}
inline Pack add_edges(const NineLines& n, int x) {
  return (load(n.at[0][0] + x) + load(n.at[0][2] + x)) + (load(n.at[2][0] + x) + load(n.at[2][2] + x));
}

// out = add + W·(nine lines) for x in [first, last). Without faces or corners their weights are 0. All that counts one
// point to the left or right is added up before it is moved there. `next` is a line that will be needed soon, from
// memory: it is fetched while the loop computes. `out` may be `add`.
template <bool faces, bool corners>
void apply(const NineLines& lines, const double* add, double* out, int first, int last, const Weights& weights,
           const double* next) {
  const NineLines n = lines;
  const Weights k = weights;
  Pack aside, here;
  auto sums = [&](int x) __attribute__((always_inline)) {
    Pack face = add_faces(n, x), edge = add_edges(n, x), centre = load(n.at[1][1] + x);
    aside = k.edge * face, here = k.centre * centre + k.edge * edge;
    if constexpr (faces) aside += k.face * centre, here += k.face * face;
    if constexpr (corners) aside += k.corner * edge;
  };
  sums(first - lanes);
  Pack before = aside;
  sums(first);
  Pack now = aside, kept = here;
  for (int x = first; x < last; x += lanes) {
    sums(x + lanes);
    store(out + x, load(add + x) + kept + (shuffle<PreviousLanes>(before, now) + shuffle<NextLanes>(now, aside)));
    __builtin_prefetch(next + x, 0, 2);
    before = now, now = aside, kept = here;
  }
}

// Restricts to coarse points [0, last): full weighting around the fine points 2x + 1 of these nine lines.
inline void restrict_line(const NineLines& lines, double* out, int last) {
  const NineLines n = lines;
  auto half = [&](int x) __attribute__((always_inline)) {
    return 0.5 * load(n.at[1][1] + x) + 0.25 * add_faces(n, x) + 0.125 * add_edges(n, x);
  };
  Pack a = half(0), b = half(lanes), evens = shuffle<EvenLanes>(a, b);
  for (int x = 0; x < last; x += lanes) {
    Pack odds = shuffle<OddLanes>(a, b);
    a = half(2 * x + 2 * lanes), b = half(2 * x + 3 * lanes);
    Pack next = shuffle<EvenLanes>(a, b);
    store(out + x, odds + 0.5 * (evens + shuffle<NextLanes>(evens, next)));
    evens = next;
  }
}

// Sets out = old + the mean of `count` coarse lines, at the fine points [first, last) and up to a register more.
template <int count, bool plus>
void prolong_line(const std::array<const double*, 4>& lines, const double* old, double* out, int first, int last) {
  const std::array<const double*, 4> coarse = lines;
  auto mean = [&](int x) __attribute__((always_inline)) {
    Pack sum = load(coarse[0] + x);
    if constexpr (count > 1) sum += load(coarse[1] + x);
    if constexpr (count > 2) sum += load(coarse[2] + x) + load(coarse[3] + x);
    return count > 1 ? sum * (1.0 / count) : sum;
  };
  // Two registers of fine points come from one register of coarse points.
  int x = first % (2 * lanes) ? first - lanes : first;
  Pack before = mean(x / 2 - lanes);
  for (; x < last; x += 2 * lanes) {
    Pack odd = mean(x / 2), even = 0.5 * (shuffle<PreviousLanes>(before, odd) + odd);
    Pack left = shuffle<InterleavedLow>(even, odd), right = shuffle<InterleavedHigh>(even, odd);
    if constexpr (plus) left += load(old + x), right += load(old + x + lanes);
    store(out + x, left), store(out + x + lanes, right);
    before = odd;
  }
}

// The coarse lines around the fine line (y, z): fine 2j + 1 is coarse j, and fine 2j is the mean of j − 1 and j.
template <bool plus>
void prolong(const Grid& coarse, int y, int z, int x_from, const double* old, double* out, int first, int last) {
  int j = y >> 1, k = z >> 1, dy = y & 1 ? 0 : 1, dz = z & 1 ? 0 : 1;
  std::array<const double*, 4> lines{coarse.line(j, k) + x_from};
  int count = 1;
  if (dy) lines[static_cast<std::size_t>(count++)] = coarse.line(j - 1, k) + x_from;
  if (dz) lines[static_cast<std::size_t>(count++)] = coarse.line(j, k - 1) + x_from;
  if (dy && dz) lines[static_cast<std::size_t>(count++)] = coarse.line(j - 1, k - 1) + x_from;
  if (count == 1) return prolong_line<1, plus>(lines, old, out, first, last);
  if (count == 2) return prolong_line<2, plus>(lines, old, out, first, last);
  prolong_line<4, plus>(lines, old, out, first, last);
}

}  // namespace steelyard::npb
