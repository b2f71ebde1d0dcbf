// The periodic cube, 2 pi wide: its points, the Fourier modes that are kept, and their division among ranks.
//
// Of the n points along an axis, the modes below n / 3 are kept. The product of two of them then has no aliasing error
// (S. Orszag 1971). Velocities are real, so half of the modes along x suffice. Eight neighbours in x lie side by side:
// first eight real parts, then eight imaginary ones.
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
  // Returns the index of a mode among all frequencies of a transform.
  std::size_t frequency(std::size_t mode) const { return mode <= most ? mode : n - (modes() - mode); }
};

constexpr std::size_t fewest = 32768, greatest = std::size_t{1} << 40;

// Returns powers of two along x, y and z, nearly equal, whose product is at most `wanted`.
inline std::array<std::size_t, 3> edges(std::size_t wanted) {
  if (wanted < fewest || wanted > greatest)
    throw CaseError(join({"points='", wanted, "' cannot be used: expected ", fewest, " (32 x 32 x 32) to 2^40"}));
  std::size_t log = std::bit_width(wanted) - 1, x = log / 3, y = (log - x) / 2;
  return {std::size_t{1} << x, std::size_t{1} << y, std::size_t{1} << (log - x - y)};
}

// Returns the first item of part `index` of `parts`, and the end of this part.
struct Share {
  std::size_t first, end;
  Share(std::size_t all, std::size_t parts, std::size_t index)
      : first(all * index / parts), end(all * (index + 1) / parts) {}
  std::size_t count() const { return end - first; }
};

struct Grid {
  Axis x, y, z;
  std::size_t blocks;   // blocks of eight modes along x; modes beyond the last one stay zero
  std::size_t columns;  // columns of modes along z, eight side by side, which are divided among ranks

  explicit Grid(std::size_t wanted) : Grid(edges(wanted)) {}
  explicit Grid(const std::array<std::size_t, 3>& edge)
      : x(edge[0]), y(edge[1]), z(edge[2]), blocks(x.most / lanes + 1), columns(y.modes() * blocks) {}

  double points() const { return static_cast<double>(x.n) * static_cast<double>(y.n) * static_cast<double>(z.n); }
  double step() const { return 1 / static_cast<double>(z.n); }  // time step: a sixth of a cell at the greatest speed
  std::string words() const { return join({x.n, " x ", y.n, " x ", z.n, " points"}); }
};

// The order in which one of `ranks` stores numbers between columns and planes: by planes, then fields, then columns,
// each with one block. The numbers that one rank sends to another rank lie in one piece.
struct Pieces {
  std::size_t fields;
  std::vector<std::size_t> base, stride;  // by planes, for each column: offset in blocks, distance of fields
  std::vector<std::size_t> sent, got;     // by columns, by planes: begin of each rank's piece, and the end

  Pieces(const Grid& grid, std::size_t ranks, std::size_t me, std::size_t each) : fields(each) {
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
  // Returns the offset of plane `z` of this rank in the array by planes, in doubles.
  std::size_t in_plane(std::size_t z, std::size_t field, std::size_t column) const {
    return block * (base[column] + (z * fields + field) * stride[column]);
  }
};

}  // namespace steelyard::turbulence
