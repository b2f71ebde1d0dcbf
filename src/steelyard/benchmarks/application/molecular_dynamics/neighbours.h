// Neighbour lists (L. Verlet, Phys. Rev. 159, 1967): for each particle all others nearer than the cutoff and a skin.
#pragma once
#include "cells.h"

namespace steelyard::md {

class Neighbours {
 public:
  static constexpr std::size_t group = 4;  // lists are filled up to a multiple of it by a particle that is far away

  Neighbours(const Block& block, const MemoryPolicy& policy, Team& team)
      : room_(block.own_room()), lists_(room_ * each + slack * team.size(), policy, team), of_(room_, policy, team) {}

  const std::uint32_t* list(std::size_t i) const { return lists_.data() + of_[i].first; }
  std::size_t count(std::size_t i) const { return of_[i].count; }  // a multiple of `group`

  // This worker's part of the lists of `n` particles. False where they do not fit into the memory set aside.
  bool build(Worker w, const Cells& cells, const Point* points, std::size_t n, std::uint32_t far) {
    auto [first, end] = w.part(n);
    // Each thread's region follows from its first particle; they do not overlap, as parts do not.
    std::size_t at = first * each + w.index * slack;
    const std::size_t limit = end * each + (w.index + 1) * slack;
    for (std::size_t i = first; i < end; ++i) {
      if (at + slack > limit) return false;
      std::uint32_t* const list = lists_.data() + at;
      const std::size_t found = look(cells, points[i], static_cast<std::uint32_t>(i), list);
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
  // Of one particle 78 lie within reach on average; and in no liquid or solid as many as 500.
  static constexpr std::size_t each = 96, slack = 512;
  struct List {
    std::uint64_t first;
    std::uint32_t count;
  };

  static std::size_t look(const Cells& cells, const Point& p, std::uint32_t self, std::uint32_t* list) {
    const auto at = cells.place(p);
    std::size_t found = 0;
    for (int k = std::max(at[2] - Cells::around, 0); k <= std::min(at[2] + Cells::around, cells.size(2) - 1); ++k)
      for (int j = std::max(at[1] - Cells::around, 0); j <= std::min(at[1] + Cells::around, cells.size(1) - 1); ++j) {
        auto [begin, end] = cells.row(at[0] - Cells::around, at[0] + Cells::around, j, k);
        // What stands behind the last one found is written over: no branch depends on a distance.
        if (found + (end - begin) + group > slack) return slack;
        for (std::uint32_t c = begin; c < end; ++c) {
          const double dx = p.c[0] - cells.x[c], dy = p.c[1] - cells.y[c], dz = p.c[2] - cells.z[c];
          const std::uint32_t other = cells.number[c];
          list[found] = other;
          found += static_cast<std::size_t>((dx * dx + dy * dy + dz * dz < reach * reach) & (other != self));
        }
      }
    return found;
  }

  const std::size_t room_;
  Buffer<std::uint32_t> lists_;
  Buffer<List> of_;
};

}  // namespace steelyard::md
