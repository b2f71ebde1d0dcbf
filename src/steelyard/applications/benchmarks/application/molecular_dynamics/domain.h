// The part of the box that one process holds, its particles, and the images of other processes' particles around it.
#pragma once
#include "simd.h"
#include "system.h"

namespace steelyard::md {

// Three coordinates and a zero, which together fill a vector register.
struct alignas(32) Point {
  std::array<double, 4> c{};
};
typedef double Four __attribute__((vector_size(32), may_alias));
// The vectors for the forces: as wide as the processor's vectors, but at least four doubles.
constexpr std::size_t lanes = pack_doubles < 4 ? 4 : pack_doubles;
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double)), may_alias));
inline Four& four(Point& p) { return *reinterpret_cast<Four*>(&p); }
inline const Four& four(const Point& p) { return *reinterpret_cast<const Four*>(&p); }

// The division of the box among processes: blocks whose shape is as near to a cube as possible.
struct Decomposition {
  std::array<int, 3> blocks{1, 1, 1};

  Decomposition(const Box& box, int ranks) {
    // The sides of the box grow from x to z, and so do the factors.
    auto found = factors(static_cast<std::size_t>(ranks), [&](auto count) {
      for (int d = 0; d < 3; ++d)
        if (box.length[d] / static_cast<double>(count[d]) < reach) return false;
      return true;
    });
    if (found[0] == 0)
      throw CaseError(
          join({"ranks='", ranks, "' cannot share a box of ", sides(box),
                " cells: each block must be at least 2 cells wide in each direction. Use fewer ranks, a number of "
                "ranks with more factors, or more particles"}));
    for (int d = 0; d < 3; ++d) blocks[d] = static_cast<int>(found[d]);
  }
  std::array<int, 3> place(int rank) const {
    return {rank % blocks[0], rank / blocks[0] % blocks[1], rank / blocks[0] / blocks[1]};
  }
  // Returns the process whose block lies `by` blocks further along `d`, around the periodic box.
  int neighbour(int rank, int d, int by) const {
    std::array<int, 3> at = place(rank);
    at[d] = (at[d] + by + blocks[d]) % blocks[d];
    return (at[2] * blocks[1] + at[1]) * blocks[0] + at[0];
  }

 private:
  static std::string sides(const Box& box) { return join({box.cells[0], " x ", box.cells[1], " x ", box.cells[2]}); }
};

// A block: its borders, and the memory for the particles in it and around it.
struct Block {
  Triple low, high;
  std::array<bool, 3> alone, first, last;  // alone: its own neighbour along an axis; the others: at the box's ends

  Block(const Box& box, const Decomposition& cut, int rank) {
    auto at = cut.place(rank);
    for (int d = 0; d < 3; ++d) {
      low[d] = box.length[d] * at[d] / cut.blocks[d];
      high[d] = box.length[d] * (at[d] + 1) / cut.blocks[d];
      alone[d] = cut.blocks[d] == 1;
      first[d] = at[d] == 0;
      last[d] = at[d] == cut.blocks[d] - 1;
    }
  }
  // Returns the room for particles within `beyond` of the block. The matter is nearly incompressible, so a system in
  // order never uses up this room: the particles within half a diameter more, and a tenth in addition.
  std::size_t count_room(double beyond) const {
    double volume = 1;
    for (int d = 0; d < 3; ++d) volume *= high[d] - low[d] + 2 * beyond + 1;
    return static_cast<std::size_t>(1.1 * density * volume) + 64;
  }
  std::size_t own_room() const { return count_room(0); }
  std::size_t room_with_images() const { return count_room(reach); }
};

}  // namespace steelyard::md
