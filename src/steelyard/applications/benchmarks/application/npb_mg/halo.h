// The messages of MG's ranks: the points around each share, and the shares of the coarsest grid that is divided.
#pragma once
#include <array>
#include <vector>

#include "mg.h"
#include "ranks.h"

namespace steelyard::npb {

// Divides powers of two along z, y and x in turn, so that each direction has one or two times the parts of the next.
inline Layout layout_of(const MgClass& c, int ranks, int rank) {
  auto cut = [](int into) {
    std::array<int, 3> parts{1, 1, 1};
    for (int left = into, d = 2; left > 1; left /= 2, d = (d + 2) % 3) parts[static_cast<std::size_t>(d)] *= 2;
    return parts;
  };
  auto wide = [&](const std::array<int, 3>& parts, int level) {
    Layout whole{.whole = 0, .longer = c.longer_directions()};
    for (std::size_t d = 0; d < 3; ++d)
      if (whole.edge(d, level) < parts[d] * Layout::least) return false;
    return true;
  };
  auto usable = [&](int n) { return (n & (n - 1)) == 0 && wide(cut(n), c.levels()); };
  if (!usable(ranks)) {
    std::string list;
    for (int n = 1; usable(n); n *= 2) list.append(list.empty() ? "" : ", ").append(std::to_string(n));
    throw CaseError(
        join({"ranks='", ranks, "' cannot be used by MG of class ", c.letter, ", which needs a power of two: ", list}));
  }
  Layout out{.parts = cut(ranks), .whole = c.levels(), .longer = c.longer_directions()};
  for (std::size_t d = 0, rest = static_cast<std::size_t>(rank); d < 3; ++d) {
    out.place[d] = static_cast<int>(rest) % out.parts[d];
    rest /= static_cast<std::size_t>(out.parts[d]);
  }
  // Every rank solves grids of 16³ alone: sending the whole grid to all costs less than many small messages.
  auto shared = [&](int level) { return level > 4 && wide(out.parts, level); };
  if (ranks > 1)
    while (out.whole > 1 && shared(out.whole)) --out.whole;
  return out;
}

class Halo {
 public:
  Halo(const Layout& layout, const Grid& finest, MPI_Comm comm) : layout_(layout), comm_(comm) {
    std::size_t most = 0;
    std::array<std::size_t, 3> around;
    for (std::size_t d = 0; d < 3; ++d) around[d] = static_cast<std::size_t>(finest.extent.points[d] + 2 * Grid::halo);
    for (std::size_t d = 0; d < 3; ++d)
      if (finest.extent.shared[d]) most = std::max(most, Grid::halo * around[(d + 1) % 3] * around[(d + 2) % 3]);
    for (auto& buffer : buffers_) buffer.resize(most);
    std::size_t all = 1;
    for (std::size_t d = 0; d < 3; ++d) all *= static_cast<std::size_t>(layout.edge(d, layout.whole));
    std::size_t mine = all;
    for (int p : layout.parts) mine /= static_cast<std::size_t>(p);
    if (mine < all) mine_.resize(mine), all_.resize(all);
  }

  // Exchanges the neighbours' points up to `depth` beyond the share. The later directions include the corners.
  void exchange(Grid& grid, int depth) {
    // Lines that are not shared along x include the points beyond their ends.
    Range range;
    for (std::size_t d = 0; d < 3; ++d) range[d] = {0, grid.extent.points[d]};
    if (!grid.extent.shared[0]) range[0] = {-2, grid.extent.points[0] + 2};
    for (std::size_t d : {std::size_t{2}, std::size_t{1}, std::size_t{0}}) {
      if (!grid.extent.shared[d]) continue;
      exchange(grid, depth, d, range);
      range[d] = {-depth, grid.extent.points[d] + depth};
    }
  }

  // Collects the shares of all ranks in the whole grid of the level.
  void gather(const Grid& share, Grid& whole) {
    Range mine;
    for (std::size_t d = 0; d < 3; ++d) mine[d] = {0, share.extent.points[d]};
    pack(share, mine, mine_.data());
    MPI_Request request;
    int count = static_cast<int>(mine_.size());
    MPI_Iallgather(mine_.data(), count, MPI_DOUBLE, all_.data(), count, MPI_DOUBLE, comm_, &request);
    complete(1, &request);
    const double* from = all_.data();
    std::array<int, 3> place;
    for (place[2] = 0; place[2] < layout_.parts[2]; ++place[2])
      for (place[1] = 0; place[1] < layout_.parts[1]; ++place[1])
        for (place[0] = 0; place[0] < layout_.parts[0]; ++place[0]) {
          Range there = mine;
          for (std::size_t d = 0; d < 3; ++d)
            for (int& border : there[d]) border += place[d] * share.extent.points[d];
          unpack(whole, there, from);
          from += count;
        }
    for (int z = 0; z < whole.extent.points[2]; ++z)
      for (int y = 0; y < whole.extent.points[1]; ++y) whole.close_line(whole.line(y, z));
  }

 private:
  using Range = std::array<std::array<int, 2>, 3>;  // from and to, along x, y, z

  int neighbour(std::size_t direction, int step) const {
    auto place = layout_.place;
    place[direction] = (place[direction] + step + layout_.parts[direction]) % layout_.parts[direction];
    return place[0] + layout_.parts[0] * (place[1] + layout_.parts[1] * place[2]);
  }
  static std::size_t pack(const Grid& grid, const Range& r, double* to) {
    double* begin = to;
    for (int z = r[2][0]; z < r[2][1]; ++z)
      for (int y = r[1][0]; y < r[1][1]; ++y) {
        const double* line = grid.line(y, z);
        to = std::copy(line + r[0][0], line + r[0][1], to);
      }
    return static_cast<std::size_t>(to - begin);
  }
  static void unpack(Grid& grid, const Range& r, const double* from) {
    int points = r[0][1] - r[0][0];
    for (int z = r[2][0]; z < r[2][1]; ++z)
      for (int y = r[1][0]; y < r[1][1]; ++y, from += points) std::copy(from, from + points, grid.line(y, z) + r[0][0]);
  }
  // Tag 0 is for messages down the axis, 1 for those up: with two ranks, both come from the same rank.
  void exchange(Grid& grid, int depth, std::size_t d, Range range) {
    int n = grid.extent.points[d], down = neighbour(d, -1), up = neighbour(d, 1);
    Range low = range, high = range, below = range, above = range;
    low[d] = {0, depth}, high[d] = {n - depth, n}, below[d] = {-depth, 0}, above[d] = {n, n + depth};
    int count = static_cast<int>(pack(grid, low, buffers_[0].data()));
    pack(grid, high, buffers_[1].data());
    MPI_Request all[4];
    MPI_Irecv(buffers_[2].data(), count, MPI_DOUBLE, up, 0, comm_, &all[0]);
    MPI_Irecv(buffers_[3].data(), count, MPI_DOUBLE, down, 1, comm_, &all[1]);
    MPI_Isend(buffers_[0].data(), count, MPI_DOUBLE, down, 0, comm_, &all[2]);
    MPI_Isend(buffers_[1].data(), count, MPI_DOUBLE, up, 1, comm_, &all[3]);
    complete(4, all);
    unpack(grid, above, buffers_[2].data());
    unpack(grid, below, buffers_[3].data());
  }

  Layout layout_;
  MPI_Comm comm_;
  std::array<std::vector<double>, 4> buffers_;
  std::vector<double> mine_, all_;
};

}  // namespace steelyard::npb
