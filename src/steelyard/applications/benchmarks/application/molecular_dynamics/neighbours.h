// Neighbour lists (L. Verlet, Phys. Rev. 159, 1967): for each particle, all others within the cutoff and a skin.
#pragma once
#include <bit>

#include "cells.h"

namespace steelyard::md {

class Neighbours {
 public:
  static constexpr std::size_t group = lanes;  // a distant particle fills lists up to a multiple of `group`

  Neighbours(const Block& block, const MemoryPolicy& policy, Team& team)
      : room_(block.own_room()), lists_(room_ * each + slack * team.size(), policy, team), of_(room_, policy, team) {}

  const std::uint32_t* list(std::size_t i) const { return lists_.data() + of_[i].first; }
  std::size_t count(std::size_t i) const { return of_[i].count; }  // a multiple of `group`

  // Builds this worker's part of the lists of `n` particles. Returns false if they do not fit into their memory.
  bool build(Worker w, const Cells& cells, const Point* points, std::size_t n, std::uint32_t far) {
    auto [first, end] = w.part(n);
    // Each thread's region follows from its first particle. The regions do not overlap, like the parts.
    std::size_t at = first * each + w.index * slack;
    const std::size_t limit = end * each + (w.index + 1) * slack;
    for (std::size_t i = first; i < end; ++i) {
      if (at + slack > limit) return false;
      std::uint32_t* const list = lists_.data() + at;
      const std::size_t found = find_neighbours(cells, points[i], static_cast<std::uint32_t>(i), list);
      if (found + group > slack) return false;
      const std::size_t filled = (found + group - 1) / group * group;
      std::fill(list + found, list + filled, far);
      of_[i] = {static_cast<std::uint64_t>(at), static_cast<std::uint32_t>(filled)};
      at += filled;
    }
    return true;
  }
  static std::size_t bytes(const Block& block) { return block.own_room() * (4 * each + sizeof(List)); }

 private:
  // A particle has 78 neighbours on average, and fewer than 500 in every liquid or solid.
  static constexpr std::size_t each = 96, slack = 512;
  struct List {
    std::uint64_t first;
    std::uint32_t count;
  };

  static constexpr std::size_t beyond = 8;  // places behind the last neighbour that the code may overwrite

  // Appends the particles of a part of the sorted arrays that are near enough, without a branch on the distance.
  static std::size_t select(const Cells& cells, std::uint32_t begin, std::uint32_t end, const Point& p,
                            std::uint32_t self, std::uint32_t* list) {
    const double *const x = cells.x.data(), *const y = cells.y.data(), *const z = cells.z.data();
    const std::uint32_t* const number = cells.number.data();
    std::size_t found = 0;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    const __m512d px = _mm512_set1_pd(p.c[0]), py = _mm512_set1_pd(p.c[1]), pz = _mm512_set1_pd(p.c[2]);
    const __m512d most = _mm512_set1_pd(reach * reach);
    const __m256i own = _mm256_set1_epi32(static_cast<int>(self));
    for (std::uint32_t c = begin; c < end; c += 8) {
      const auto there = static_cast<__mmask8>((1u << std::min(8u, end - c)) - 1);
      const __m512d dx = _mm512_sub_pd(px, _mm512_maskz_loadu_pd(there, x + c));
      const __m512d dy = _mm512_sub_pd(py, _mm512_maskz_loadu_pd(there, y + c));
      const __m512d dz = _mm512_sub_pd(pz, _mm512_maskz_loadu_pd(there, z + c));
      const __m512d r2 = _mm512_fmadd_pd(dz, dz, _mm512_fmadd_pd(dy, dy, _mm512_mul_pd(dx, dx)));
      const __m256i numbers = _mm256_maskz_loadu_epi32(there, number + c);
      const __mmask8 near = _mm512_mask_cmp_pd_mask(there, r2, most, _CMP_LT_OQ);
      const __mmask8 chosen = _mm256_mask_cmpneq_epi32_mask(near, numbers, own);
      // Uses a register: compressing stores are slow on some processors that have them.
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(list + found), _mm256_maskz_compress_epi32(chosen, numbers));
      found += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(chosen)));
    }
#else
    for (std::uint32_t c = begin; c < end; ++c) {
      const double dx = p.c[0] - x[c], dy = p.c[1] - y[c], dz = p.c[2] - z[c];
      list[found] = number[c];
      found += static_cast<std::size_t>((dx * dx + dy * dy + dz * dz < reach * reach) & (number[c] != self));
    }
#endif
    return found;
  }
  static std::size_t find_neighbours(const Cells& cells, const Point& p, std::uint32_t self, std::uint32_t* list) {
    const auto at = cells.place(p);
    std::size_t found = 0;
    for (int k = std::max(at[2] - Cells::around, 0); k <= std::min(at[2] + Cells::around, cells.size(2) - 1); ++k)
      for (int j = std::max(at[1] - Cells::around, 0); j <= std::min(at[1] + Cells::around, cells.size(1) - 1); ++j) {
        auto [begin, end] = cells.row(at[0] - Cells::around, at[0] + Cells::around, j, k);
        if (found + (end - begin) + beyond > slack) return slack;
        found += select(cells, begin, end, p, self, list + found);
      }
    return found;
  }

  const std::size_t room_;
  Buffer<std::uint32_t> lists_;
  Buffer<List> of_;
};

}  // namespace steelyard::md
