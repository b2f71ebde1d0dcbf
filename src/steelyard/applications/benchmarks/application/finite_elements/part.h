// One part of the mesh's nodes (a box), and the indices of its own nodes and of the nodes around it in the vectors.
#pragma once
#include <algorithm>
#include <array>
#include <limits>

#include "problem.h"
#include "team.h"

namespace steelyard::finite_elements {

// Returns the number of a direction to a neighbour, whose steps are -1, 0 or 1; 13 is the part itself.
constexpr int directions = 27, here = 13;
inline Triple steps_of(int direction) { return {direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1}; }
constexpr int direction_of(int x, int y, int z) { return (x + 1) + 3 * (y + 1) + 9 * (z + 1); }

struct Part {
  Triple elements;                             // of the whole mesh
  Triple parts{1, 1, 1}, place{0, 0, 0};       // the number of parts along each axis, and the position of this part
  Triple first, size;                          // of the part's nodes
  std::array<std::size_t, directions> offset;  // begin of each neighbour's nodes in a vector
  std::size_t own, padded, all;  // nodes; with padding to a whole cache line; with the nodes of the neighbours

  Part(const Triple& mesh, const Triple& cut, const Triple& at) : elements(mesh), parts(cut), place(at) {
    for (std::size_t d = 0; d < 3; ++d) {
      Worker worker{static_cast<std::size_t>(place[d]), static_cast<std::size_t>(parts[d])};
      auto [from, to] = worker.part(static_cast<std::size_t>(elements[d]) + 1, 1);
      first[d] = static_cast<int>(from), size[d] = static_cast<int>(to - from);
    }
    own = static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1]) * static_cast<std::size_t>(size[2]);
    all = padded = (own + 7) / 8 * 8;
    for (int d = 0; d < directions; ++d) {
      offset[static_cast<std::size_t>(d)] = d == here ? 0 : all;
      if (d != here && has_neighbour(d)) all += count(d);
    }
    if (all > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw CaseError(join({"a part of ", own, " nodes is too large: use more ranks or fewer elements"}));
  }

  bool has_neighbour(int direction) const {
    Triple step = steps_of(direction);
    for (std::size_t d = 0; d < 3; ++d)
      if (place[d] + step[d] < 0 || place[d] + step[d] >= parts[d]) return false;
    return true;
  }
  // Returns the number of the neighbour's nodes that are next to this part.
  std::size_t count(int direction) const {
    std::size_t out = 1;
    Triple step = steps_of(direction);
    for (std::size_t d = 0; d < 3; ++d) out *= static_cast<std::size_t>(step[d] == 0 ? size[d] : 1);
    return out;
  }
  int visit_lines() const { return size[1] * size[2]; }

  // The indices of the nodes of a line, which may belong to a neighbour: y and z are from -1 to the size.
  struct Line {
    std::size_t left, middle, right;  // of the nodes at x = -1, 0 and the size
    int size;
    std::size_t operator[](int x) const {
      return x < 0 ? left : x < size ? middle + static_cast<std::size_t>(x) : right;
    }
  };
  Line line(int y, int z) const {
    int dy = y < 0 ? -1 : y >= size[1], dz = z < 0 ? -1 : z >= size[2];
    std::size_t row = static_cast<std::size_t>((dz == 0 ? z : 0) * (dy == 0 ? size[1] : 1) + (dy == 0 ? y : 0));
    auto at = [&](int dx) { return offset[static_cast<std::size_t>(direction_of(dx, dy, dz))]; };
    return {at(-1) + row, at(0) + row * static_cast<std::size_t>(size[0]), at(1) + row, size[0]};
  }
  // Returns the distance in steps from the nearest face of the cube; below 0 outside the cube.
  int depth(std::size_t d, int at) const { return std::min(first[d] + at, elements[d] - first[d] - at); }
  int depth(int x, int y, int z) const { return std::min({depth(0, x), depth(1, y), depth(2, z)}); }
  bool element(std::size_t d, int at) const { return first[d] + at >= 0 && first[d] + at < elements[d]; }
};

// Returns the division of the mesh among the ranks that has the least surface.
inline Part find_part(const Triple& elements, int ranks, int rank) {
  Triple best{};
  double least = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; x * y <= ranks; ++y) {
      int z = ranks / x / y;
      if (x * y * z != ranks || x > elements[0] / 2 || y > elements[1] / 2 || z > elements[2] / 2) continue;
      double a = 1.0 * elements[0] / x, b = 1.0 * elements[1] / y, c = 1.0 * elements[2] / z;
      if (double surface = a * b + b * c + c * a; surface < least - 1e-9) least = surface, best = {x, y, z};
    }
  if (best[0] == 0)
    throw CaseError(
        join({"ranks='", ranks, "' cannot share a mesh of ", elements[0], " x ", elements[1], " x ", elements[2],
              " elements in boxes two elements wide or more: use fewer ranks or more elements"}));
  return {elements, best, {rank % best[0], rank / best[0] % best[1], rank / best[0] / best[1]}};
}

}  // namespace steelyard::finite_elements
