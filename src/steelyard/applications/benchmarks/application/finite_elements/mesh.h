// The nodes of a part and around it, along lines as the assembly reads them, with positions and values of the source.
#pragma once
#include <array>

#include "../../../../measure/benchmarks/node/choices.h"
#include "buffers.h"
#include "element.h"
#include "part.h"

namespace steelyard::finite_elements {

class Mesh {
 public:
  Mesh(const Part& part, const MemoryPolicy& policy, Team& team)
      : part_(part),
        line_(static_cast<std::size_t>(part.size[0]) + 2 + pack_doubles),
        layer_(line_ * (static_cast<std::size_t>(part.size[1]) + 2)),
        all_{Buffer<double>(size(), policy, team), Buffer<double>(size(), policy, team),
             Buffer<double>(size(), policy, team), Buffer<double>(size(), policy, team)} {}

  // Computes a worker's share of the lines. The mesh continues evenly outside the cube, so that the unused values there
  // are finite.
  void place(Worker w) {
    auto n = static_cast<std::size_t>(part_.size[2] + 2);
    auto [first, last] = w.part(n, 1);
    for (int z = static_cast<int>(first) - 1; z < static_cast<int>(last) - 1; ++z)
      for (int y = -1; y <= part_.size[1]; ++y)
        for (int x = -1; x < static_cast<int>(line_) - 1; ++x) {
          Point at = bend_mesh(even_position(x, y, z));
          std::size_t number = node_index(x, y, z);
          for (std::size_t d = 0; d < 3; ++d) all_[d][number] = at[d];
          all_[3][number] = source(at);
        }
  }
  Point at(int x, int y, int z) const {
    std::size_t number = node_index(x, y, z);
    return {all_[0][number], all_[1][number], all_[2][number]};
  }
  // Returns the element whose first corner is this node, or as many elements of a row as T holds.
  template <class T>
  [[gnu::always_inline]] Element<T> element(int x, int y, int z) const {
    return {places<T>(x, y, z), corners_of<T>(3, x, y, z)};
  }
  template <class T>
  [[gnu::always_inline]] Corners<T> places(int x, int y, int z) const {
    return {corners_of<T>(0, x, y, z), corners_of<T>(1, x, y, z), corners_of<T>(2, x, y, z)};
  }

 private:
  std::size_t size() const { return layer_ * (static_cast<std::size_t>(part_.size[2]) + 2); }
  std::size_t node_index(int x, int y, int z) const {
    return static_cast<std::size_t>(z + 1) * layer_ + static_cast<std::size_t>(y + 1) * line_ +
           static_cast<std::size_t>(x + 1);
  }
  Point even_position(int x, int y, int z) const {
    Point out{};
    Triple at{x, y, z};
    for (std::size_t d = 0; d < 3; ++d) out[d] = static_cast<double>(part_.first[d] + at[d]) / part_.elements[d];
    return out;
  }
  template <class T>
  [[gnu::always_inline]] std::array<T, corners> corners_of(std::size_t what, int x, int y, int z) const {
    std::array<T, corners> out;
    for (std::size_t c = 0; c < corners; ++c)
      out[c] = load_unaligned<T>(&all_[what][node_index(x + static_cast<int>(c & 1), y + static_cast<int>(c >> 1 & 1),
                                                        z + static_cast<int>(c >> 2))]);
    return out;
  }

  Part part_;
  std::size_t line_, layer_;
  std::array<Buffer<double>, 4> all_;
};

}  // namespace steelyard::finite_elements
