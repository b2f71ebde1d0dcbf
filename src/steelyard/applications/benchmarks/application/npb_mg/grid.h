// The array of one level: a box of points. In a direction where the box spans the whole grid it is periodic; elsewhere
// it has the neighbours' points around it.
#pragma once
#include <array>
#include <cstddef>

#include "buffers.h"
#include "simd.h"

namespace steelyard::npb {

constexpr int lanes = static_cast<int>(pack_doubles);

// Points along x, y and z of a process's part, and whether the process has neighbours in that direction.
struct Extent {
  std::array<int, 3> points;
  std::array<bool, 3> shared;
};

// Lines along x, which begin at the border of a register. Their ends hold the periodic or the neighbours' points.
struct Grid {
  static constexpr int halo = 4;  // lines and planes of neighbours: a step on the finest level reaches as far

  Extent extent;
  std::ptrdiff_t line_stride, plane_stride;
  double* origin = nullptr;  // address of the point (0, 0, 0)

  explicit Grid(const Extent& e) : extent(e) {
    // If x is shared, the ends are wide: lines are then computed one register beyond both ends, which reads two beyond.
    line_stride = (e.points[0] + 7) / 8 * 8 + 2 * margin();
    plane_stride = line_stride * (e.points[1] + 2 * ghosts(1));
    // Planes a multiple of 4 KiB apart would collide in the first cache.
    if (std::ptrdiff_t rest = plane_stride % 512; rest < 72 || rest > 440) plane_stride += 136;
  }
  int margin() const { return extent.shared[0] ? 16 : 8; }
  int ghosts(int direction) const { return extent.shared[static_cast<std::size_t>(direction)] ? halo : 0; }
  // Returns the doubles, with room for reads and writes beyond the last line.
  std::size_t size() const {
    return static_cast<std::size_t>(plane_stride * (extent.points[2] + 2 * ghosts(2)) + 2 * 64);
  }
  void place(double* memory) { origin = memory + 64 + margin() + ghosts(1) * line_stride + ghosts(2) * plane_stride; }
  // Returns a line. y and z may lie in the halo, or beyond the borders of a direction that is not shared.
  double* line(int y, int z) const {
    if (!extent.shared[1]) y &= extent.points[1] - 1;
    if (!extent.shared[2]) z &= extent.points[2] - 1;
    return origin + y * line_stride + z * plane_stride;
  }
  int first() const { return extent.shared[0] ? -lanes : 0; }
  int last() const { return extent.points[0] - first(); }
  // Sets the two points beyond each end of a line that was just computed.
  void close_line(double* line) const {
    if (extent.shared[0]) return;
    int n = extent.points[0];
    line[-1] = line[n - 1], line[-2] = line[n - 2];
    line[n] = line[0], line[n + 1] = line[1];
  }
};

// A grid that owns its memory.
struct Field : Grid {
  Buffer<double> memory;
  Field(const Extent& e, const MemoryPolicy& policy, Team& team) : Grid(e), memory(Grid::size(), policy, team) {
    place(memory.data());
  }
};

}  // namespace steelyard::npb
