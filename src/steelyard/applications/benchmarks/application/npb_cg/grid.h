// How ranks share CG's matrix: a grid of blocks, in which each rank also owns one piece of every vector.
//
// The vectors are cut into as many pieces as ranks. Ranks that follow each other form a column of the grid; its columns
// of the matrix are theirs together, and its rows are every n-th piece, n ranks being a column. So what a row of the
// grid adds up is, piece by piece, what its ranks own, and nothing need be transposed: a product moves (n - 1 + m - 1)
// pieces to and from each of n x m ranks.
#pragma once
#include <bit>
#include <string>

#include "generation.h"

namespace steelyard::npb::cg {

struct Grid {
  std::uint32_t ranks, rank, high, wide;  // high: ranks in a column of the grid; wide: ranks in a row

  Grid(int all, int own)
      : ranks(static_cast<std::uint32_t>(all)), rank(static_cast<std::uint32_t>(own)), high(1), wide(1) {
    if (!std::has_single_bit(ranks))
      throw CaseError(
          join({"ranks='", ranks, "' cannot be used by CG, which needs a power of two: 1, 2, 4, 8, 16, 32, ..."}));
    auto stages = static_cast<std::uint32_t>(std::countr_zero(ranks));
    high <<= (stages + 1) / 2;
    wide <<= stages / 2;
  }
  std::uint32_t row() const { return rank % high; }
  std::uint32_t column() const { return rank / high; }
  Part rows(std::uint32_t order) const { return {order, ranks, row(), high, wide}; }
  Part columns(std::uint32_t order) const { return {order, ranks, column() * high, 1, high}; }
};

}  // namespace steelyard::npb::cg
