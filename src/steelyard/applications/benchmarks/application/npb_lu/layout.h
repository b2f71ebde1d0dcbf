// NPB LU: how the grid is divided in x and y among threads or ranks, and how a block of it lies in memory.
//
// A strip has as many rows (y) of a block as a vector has lanes. Within a strip, lane l is shifted by l points in x:
// vector s holds the points (i, j) = (s - l, first row + l), all of one wavefront i + j. Sweeps depend only on i-1 and
// j-1, which are lanes of vector s-1, so they can work on whole vectors.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "params.h"
#include "simd.h"

namespace steelyard::npb::lu {

constexpr int lanes = static_cast<int>(pack_doubles);

// One vector of points, with five components each.
struct Fives {
  Pack c[5];
};

// Shifts the lanes of `high` up by n. The first n lanes of the result are the last n lanes of `low`.
template <int n, int... l>
inline Pack shift_up_by(Pack low, Pack high, std::integer_sequence<int, l...>) {
  return __builtin_shufflevector(low, high, (lanes - n + l)...);
}
template <int n>
inline Pack shift_up(Pack low, Pack high) {
  return shift_up_by<n>(low, high, std::make_integer_sequence<int, lanes>{});
}
// Shifts the lanes of `low` down by n. The last n lanes of the result are the first n lanes of `high`.
template <int n, int... l>
inline Pack shift_down_by(Pack low, Pack high, std::integer_sequence<int, l...>) {
  return __builtin_shufflevector(low, high, (n + l)...);
}
template <int n>
inline Pack shift_down(Pack low, Pack high) {
  return shift_down_by<n>(low, high, std::make_integer_sequence<int, lanes>{});
}

// Divides the inner points of one direction into pieces; empty if a piece would have less than two points.
inline std::vector<int> find_borders(int points, int pieces, int grain) {
  std::vector<int> out;
  int grains = (points + grain - 1) / grain;
  for (int p = 0; p <= pieces; ++p) out.push_back(std::min(points, grains * p / pieces * grain));
  for (int p = 0; p < pieces; ++p)
    if (out[static_cast<std::size_t>(p) + 1] - out[static_cast<std::size_t>(p)] < 2) return {};
  return out;
}

struct Decomposition {
  int columns = 0, rows = 0;  // numbers of blocks; 0: no decomposition exists
  std::vector<int> x, y;      // borders of the blocks, in inner points

  // Chooses the cheapest of all layouts with `blocks` blocks.
  Decomposition(int n, int blocks) {
    double least = INFINITY;
    for (int down = blocks; down >= 1; --down) {
      if (blocks % down) continue;
      int across = blocks / down;
      std::vector<int> xs = find_borders(n - 2, across, 1), ys = find_borders(n - 2, down, lanes);
      if (ys.empty()) ys = find_borders(n - 2, down, 1);
      if (xs.empty() || ys.empty()) continue;
      if (double c = cost(n, xs, ys); c < least) least = c, columns = across, rows = down, x = xs, y = ys;
    }
  }
  // Returns the number of groups of strips that are swept one after the other, so that data that are read again stay in
  // the second cache. With a neighbour in y there is one group, because the neighbour would wait for the last group.
  int groups() const { return rows > 1 ? 1 : (strips_of(y) + count_fitting_strips(x) - 1) / count_fitting_strips(x); }
  explicit operator bool() const { return columns > 0; }

  // Returns the numbers of blocks up to `most` that have a decomposition, separated by commas.
  static std::string list_possible_counts(int n, int most) {
    std::string list;
    for (int blocks = 1; blocks <= most; ++blocks)
      if (Decomposition(n, blocks)) list.append(list.empty() ? "" : ", ").append(std::to_string(blocks));
    return list;
  }
  // Throws if no decomposition exists. `what`: "ranks" or "threads", for the message.
  static Decomposition require(int n, std::size_t blocks, const std::string& what) {
    int sides = (n - 2) / 2, most = sides * sides;
    Decomposition out(n, static_cast<int>(std::min<std::size_t>(blocks, static_cast<std::size_t>(most) + 1)));
    if (!out || blocks > static_cast<std::size_t>(most))
      throw CaseError(join({what, "='", blocks, "' cannot be used by LU on a grid of ", n,
                            " points along each side. Each block needs 2 x 2 points in x and y. Possible are: ",
                            list_possible_counts(n, std::min(most, 128)), (most > 128 ? " ..." : "")}));
    return out;
  }

 private:
  static int strips_of(const std::vector<int>& ys) { return (widest(ys) + lanes - 1) / lanes; }
  // Returns the number of strips that fit: five planes of states, with one more strip on both sides, and one plane each
  // of forcing, values and shares then fill five eighths of a second cache of 2 MiB.
  static int count_fitting_strips(const std::vector<int>& xs) {
    constexpr int cache = 5 << 18, vector = sizeof(Fives);
    return std::max(1, (cache / (vector * (widest(xs) + lanes + 3)) - 10) / 8);
  }
  // Returns the vectors of a plane of the largest block, increased for the start and the end of the pipeline, and by a
  // sixteenth if its planes do not fit into the second cache (measured at class B on Sapphire Rapids).
  static double cost(int n, const std::vector<int>& xs, const std::vector<int>& ys) {
    double across = static_cast<double>(xs.size()) - 1, down = static_cast<double>(ys.size()) - 1;
    double vectors = strips_of(ys) * (widest(xs) + lanes - 1.0);
    double again = down > 1 && strips_of(ys) > count_fitting_strips(xs) + 1 ? 17.0 / 16 : 1;
    return again * vectors * (1 + (across + down - 2) / (n - 2.0));
  }
  static int widest(const std::vector<int>& borders) {
    int out = 0;
    for (std::size_t p = 1; p < borders.size(); ++p) out = std::max(out, borders[p] - borders[p - 1]);
    return out;
  }
};

// One block of the grid. Its inner points are i = 1..nx, j = 1..ny, k = 1..nz. Two more layers on each side in x and y,
// and one in z, are the points of neighbours or the boundary.
struct Layout {
  int n, column, row;             // points along a side of the whole grid; position among the blocks
  bool west, east, south, north;  // whether there is a neighbour
  int first_x, first_y;           // first inner point in the whole grid, counted from 0
  int nx, ny, nz, strips;
  int vectors;  // of a strip: s = -1..nx + lanes + 1
  int groups;   // groups of strips, which follow each other in the forward sweep

  Layout(const Decomposition& d, int points, int block)
      : n(points),
        column(block % d.columns),
        row(block / d.columns),
        west(column > 0),
        east(column + 1 < d.columns),
        south(row > 0),
        north(row + 1 < d.rows) {
    auto c = static_cast<std::size_t>(column), r = static_cast<std::size_t>(row);
    first_x = d.x[c] + 1, first_y = d.y[r] + 1;
    nx = d.x[c + 1] - d.x[c], ny = d.y[r + 1] - d.y[r], nz = n - 2;
    strips = (ny + lanes - 1) / lanes;
    vectors = nx + lanes + 3;
    groups = d.groups();
  }

  // Returns the first strip of a group; for `groups`, the end.
  int first_strip_of_group(int g) const { return strips * g / groups; }

  int last_vector() const { return nx + lanes - 1; }  // last vector of a strip with inner points (the first is 1)
  int last_lane() const { return (ny - 1) % lanes; }  // the lane of the row ny
  std::ptrdiff_t strip() const { return vectors; }
  std::ptrdiff_t plane() const { return std::ptrdiff_t{vectors} * (strips + 2); }
  // `size` counts the vectors of an array over the block, with an unused margin at both ends that may be read.
  static constexpr std::ptrdiff_t margin = lanes;
  std::size_t size() const { return static_cast<std::size_t>(plane() * n + 2 * margin); }
  // Returns the index of vector s of strip b (-1..strips) in plane k (0..nz + 1).
  std::ptrdiff_t at(int k, int b, int s) const { return margin + plane() * k + strip() * (b + 1) + s + 1; }
  // Returns the vector and the lane of a point.
  std::pair<std::ptrdiff_t, int> point(int i, int j, int k) const {
    int b = (j - 1 + lanes) / lanes - 1, lane = j - 1 - b * lanes;
    return {at(k, b, i + lane), lane};
  }
  template <class Visit>
  void visit_inner_points(Visit visit) const {
    for (int k = 1; k <= nz; ++k)
      for (int j = 1; j <= ny; ++j)
        for (int i = 1; i <= nx; ++i) visit(i, j, k);
  }
};

}  // namespace steelyard::npb::lu
