// The periodic cube, 2 pi wide: its points, the Fourier modes that are kept, and who has which of them.
//
// Of n points along an axis the modes below n / 3 are kept: the product of two of them is then computed without error
// (S. Orszag 1971). Velocities are real, so that half of the modes along x say all. Eight neighbours in x lie side by
// side: eight real parts, then eight imaginary ones.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

#include "../npb_ft/lines.h"
#include "kernel.h"

namespace steelyard::turbulence {

using npb::block, npb::lanes, npb::packs;

struct Axis {
  std::size_t n, most;  // points; the largest wave number
  explicit Axis(std::size_t points) : n(points), most((points - 1) / 3) {}

  std::size_t modes() const { return 2 * most + 1; }
  double wave(std::size_t mode) const {
    return mode <= most ? static_cast<double>(mode) : static_cast<double>(mode) - static_cast<double>(modes());
  }
  // A mode's place among all frequencies of a transform.
  std::size_t frequency(std::size_t mode) const { return mode <= most ? mode : n - (modes() - mode); }
};

constexpr std::size_t fewest = 32768, greatest = std::size_t{1} << 40;

// Powers of two along x, y and z, as near to each other as may be, and no more in all than `wanted`.
inline std::array<std::size_t, 3> edges(std::size_t wanted) {
  if (wanted < fewest || wanted > greatest)
    throw CaseError(join({"points='", wanted, "' cannot be used: expected ", fewest, " (32 x 32 x 32) to 2^40"}));
  std::size_t log = std::bit_width(wanted) - 1, x = log / 3, y = (log - x) / 2;
  return {std::size_t{1} << x, std::size_t{1} << y, std::size_t{1} << (log - x - y)};
}

// Part `index` of so many: the first and what follows the last.
struct Share {
  std::size_t first, end;
  Share(std::size_t all, std::size_t parts, std::size_t index)
      : first(all * index / parts), end(all * (index + 1) / parts) {}
  std::size_t count() const { return end - first; }
};

struct Grid {
  Axis x, y, z;
  std::size_t blocks;   // of eight modes along x; what is beyond the last mode stays zero
  std::size_t columns;  // of modes along z, eight side by side: those that are shared out

  explicit Grid(std::size_t wanted) : Grid(edges(wanted)) {}
  explicit Grid(const std::array<std::size_t, 3>& edge)
      : x(edge[0]), y(edge[1]), z(edge[2]), blocks(x.most / lanes + 1), columns(y.modes() * blocks) {}

  double points() const { return static_cast<double>(x.n) * static_cast<double>(y.n) * static_cast<double>(z.n); }
  double step() const { return 1 / static_cast<double>(z.n); }  // of time: a sixth of a cell at the greatest speed
  std::string words() const { return join({x.n, " x ", y.n, " x ", z.n, " points"}); }
};

// The order of the numbers of one of `ranks` between columns and planes: by planes, then fields, then columns, each
// with one block. What one rank sends to another is one piece.
struct Way {
  std::size_t fields;
  std::vector<std::size_t> base, stride;  // by planes, of each column of all ranks: blocks; from field to field
  std::vector<std::size_t> sent, got;     // by columns, and by planes: where each rank's piece begins, and the end

  Way(const Grid& grid, std::size_t ranks, std::size_t me, std::size_t each) : fields(each) {
    Share mine(grid.columns, ranks, me), planes(grid.z.n, ranks, me);
    for (std::size_t r = 0; r < ranks; ++r) {
      Share theirs(grid.columns, ranks, r);
      sent.push_back(fields * mine.count() * Share(grid.z.n, ranks, r).first);
      got.push_back(fields * planes.count() * theirs.first);
      for (std::size_t c = 0; c < theirs.count(); ++c) base.push_back(got.back() + c), stride.push_back(theirs.count());
    }
    sent.push_back(fields * mine.count() * grid.z.n);
    got.push_back(fields * planes.count() * grid.columns);
  }
  // In doubles: plane `z` of this rank's, by planes.
  std::size_t in_plane(std::size_t z, std::size_t field, std::size_t column) const {
    return block * (base[column] + (z * fields + field) * stride[column]);
  }
};

}  // namespace steelyard::turbulence
