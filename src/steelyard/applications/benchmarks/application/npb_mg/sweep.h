// MG's operators one after another on a box of lines while its planes are in the cache: each operator follows the one
// before it by a plane, and what it needs beyond the box is computed again, so that boxes do not wait for each other.
#pragma once
#include <array>

#include "lines.h"

namespace steelyard::npb {

constexpr Weights negative_laplacian{8.0 / 3, 0, -1.0 / 6, -1.0 / 12};  // −A

// The lines [y0, y1) of the planes [z0, z1) of a grid.
struct Box {
  int y0, y1, z0, z1;
};

// The last planes of an operator's result, with the lines around a box.
class Planes {
 public:
  static std::size_t size(const Grid& g, int lines, int planes) {
    return static_cast<std::size_t>(planes * plane(g, lines) + 2 * 64);
  }
  // `first`: the first line of y in the memory.
  Planes(double* memory, const Grid& g, int first, int lines, int planes)
      : planes_(planes),
        stride_(g.line_stride),
        plane_(plane(g, lines)),
        origin_(memory + 64 + g.margin() - first * stride_) {}
  double* line(int y, int z) const {
    return origin_ + y * stride_ + (z + 4 * planes_) % planes_ * plane_;  // z is -3 at least
  }
  NineLines lines_around(int y, int z) const {
    NineLines out;
    for (int dz = 0; dz < 3; ++dz) {
      const double* middle = line(y, z + dz - 1);
      out.at[dz][0] = middle - stride_, out.at[dz][1] = middle, out.at[dz][2] = middle + stride_;
    }
    return out;
  }

 private:
  static std::ptrdiff_t plane(const Grid& g, int lines) { return g.line_stride * lines + 40; }
  int planes_;
  std::ptrdiff_t stride_, plane_;
  double* origin_;
};

inline NineLines lines_around(const Grid& g, int y, int z) {
  NineLines out;
  for (int dz = 0; dz < 3; ++dz)
    for (int dy = 0; dy < 3; ++dy) out.at[dz][dy] = g.line(y + dy - 1, z + dz - 1);
  return out;
}

inline double sum_squares(const double* line, int n) {
  Pack sum{};
  for (int x = 0; x < n; x += lanes) sum += load(line + x) * load(line + x);
  double out = 0;
  for (int i = 0; i < lanes; ++i) out += sum[i];
  return out;
}

// Computes z ← S r with z = 0 before, on the coarsest grid.
inline void smooth_only(const Grid& r, Grid& z, Weights s, const double* zeros) {
  for (int k = 0; k < r.extent.points[2]; ++k)
    for (int j = 0; j < r.extent.points[1]; ++j) {
      apply<true, false>(lines_around(r, j, k), zeros, z.line(j, k), r.first(), r.last(), s, zeros);
      z.close_line(z.line(j, k));
    }
}

// Computes the coarse lines of `box` ← P fine.
inline void restrict_box(const Grid& fine, Grid& coarse, Box box) {
  for (int k = box.z0; k < box.z1; ++k)
    for (int j = box.y0; j < box.y1; ++j) {
      restrict_line(lines_around(fine, 2 * j + 1, 2 * k + 1), coarse.line(j, k), coarse.extent.points[0]);
      coarse.close_line(coarse.line(j, k));
    }
}

// The grids that a sweep reads and writes. If the coarse grid is whole and the fine one a part, it begins at `shift`.
struct Step {
  const Grid* old;     // the solution before; null: it is 0
  const Grid* coarse;  // its correction on the next coarser grid, or none
  std::array<int, 3> shift;
  const Grid* right;  // the right-hand side
  Grid* solution;     // the corrected and smoothed solution
  Grid* restricted;   // the restriction of the new residual; null: do not restrict
  Weights smoother;
  bool norm;  // whether to sum the squares of the new residual
};

// The sweep of one box. `finest`: the remaining residual is also computed and restricted, but never stored.
template <bool finest>
class Sweep {
 public:
  // Lines outside the box that the first operator computes, on both sides together.
  static constexpr int beyond = finest ? 7 : 4;
  static std::size_t scratch(const Grid& g, int lines) {
    return Planes::size(g, lines + beyond, solutions) + 2 * Planes::size(g, lines + beyond, residuals) + 2 * apart;
  }

  Sweep(const Step& step, Box box, double* memory)
      : step_(step),
        grid_(*step.solution),
        box_(box),
        smoothed_{box.y0 - finest, box.y1 + 2 * finest, box.z0 - finest, box.z1 + 2 * finest},
        solution_(make_ring(memory, solutions)),
        residual_(make_ring(memory, residuals)),
        left_(make_ring(memory, residuals)) {}

  // Returns the sum of the squares of the remaining residual in the box, if `norm` is set.
  double run() {
    for (int z = smoothed_.z0 - 2; z < smoothed_.z1 + 2; ++z) {
      add_correction(z);
      if (z - 1 > smoothed_.z0 - 2 && z - 1 <= smoothed_.z1) compute_residual(z - 1);
      if (z - 2 >= smoothed_.z0 && z - 2 < smoothed_.z1) smooth(z - 2);
      if constexpr (finest)
        if (z - 3 >= box_.z0 && z - 3 <= box_.z1) restrict_residual(z - 3, nullptr);
    }
    if (streams_) drain_stores();
    return squares_;
  }
  // Computes only the residual of `old` and its restriction.
  double begin() {
    for (int z = box_.z0; z <= box_.z1; ++z) restrict_residual(z, step_.old);
    return squares_;
  }

 private:
  // Planes in use at the same time: of the solution (corrected, then smoothed in place), and of each residual.
  static constexpr int solutions = 5, residuals = 3;
  static constexpr std::size_t apart = 104;  // doubles between two rings: then they do not collide in a cache

  // Creates the next ring; `memory` advances behind it.
  Planes make_ring(double*& memory, int planes) const {
    int lines = box_.y1 - box_.y0 + beyond;
    Planes out(memory, grid_, smoothed_.y0 - 2, lines, planes);
    memory += Planes::size(grid_, lines, planes) + apart;
    return out;
  }
  void add_correction(int z) {
    const auto& from = step_.shift;
    for (int y = smoothed_.y0 - 2; y < smoothed_.y1 + 2; ++y) {
      double* out = solution_.line(y, z);
      prolong<finest>(*step_.coarse, y + 2 * from[1], z + 2 * from[2], from[0],
                      finest ? step_.old->line(y, z) : nullptr, out, grid_.first(), grid_.last());
      grid_.close_line(out);
    }
  }
  void compute_residual(int z) {
    for (int y = smoothed_.y0 - 1; y < smoothed_.y1 + 1; ++y) {
      double* out = residual_.line(y, z);
      apply<false, true>(solution_.lines_around(y, z), step_.right->line(y, z), out, grid_.first(), grid_.last(),
                         negative_laplacian, step_.right->line(y, z + 1));
      grid_.close_line(out);
    }
  }
  void smooth(int z) {
    for (int y = smoothed_.y0; y < smoothed_.y1; ++y) {
      double *before = solution_.line(y, z), *out = finest ? before : grid_.line(y, z);
      apply<true, false>(residual_.lines_around(y, z), before, out, grid_.first(), grid_.last(), step_.smoother,
                         finest ? step_.old->line(y, z + 3) : out);
      grid_.close_line(out);
      if (finest && y >= box_.y0 && y < box_.y1 && z >= box_.z0 && z < box_.z1) store_line(out, grid_.line(y, z));
    }
  }
  // Stores a line of the finished solution.
  void store_line(const double* line, double* to) const {
    int n = grid_.extent.points[0];
    if (!streams_) {
      std::copy(line, line + n, to);
      return;
    }
    for (int x = 0; x < n; x += static_cast<int>(streamed_doubles)) store_streaming(to + x, streamed_at(line + x));
  }
  // Computes the remaining residual, of the smoothed solution or of another one.
  void restrict_residual(int z, const Grid* of) {
    for (int y = box_.y0; y <= box_.y1; ++y) {
      double* out = left_.line(y, z);
      apply<false, true>(of ? lines_around(*of, y, z) : solution_.lines_around(y, z), step_.right->line(y, z), out,
                         grid_.first(), grid_.last(), negative_laplacian, out);
      grid_.close_line(out);
      if (step_.norm && y < box_.y1 && z < box_.z1) squares_ += sum_squares(out, grid_.extent.points[0]);
    }
    if (!step_.restricted || z % 2 != 0 || z == box_.z0) return;
    for (int j = box_.y0 / 2; j < box_.y1 / 2; ++j) {
      double* out = step_.restricted->line(j, z / 2 - 1);
      restrict_line(left_.lines_around(2 * j + 1, z - 1), out, grid_.extent.points[0] / 2);
      step_.restricted->close_line(out);
    }
  }

  const Step& step_;
  const Grid& grid_;
  Box box_;
  Box smoothed_;
  Planes solution_, residual_, left_;
  // Lines that fit into a private cache, or a small shared one, should stay in it.
  const bool streams_ = finest && grid_.size() * sizeof(double) > std::size_t{8} << 20;
  double squares_ = 0;
};

}  // namespace steelyard::npb
