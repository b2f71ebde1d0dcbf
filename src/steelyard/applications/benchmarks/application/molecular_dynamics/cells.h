// Link cells: all threads sort the particles into small cells. The order does not depend on the number of threads.
#pragma once
#include "domain.h"

namespace steelyard::md {

class Cells {
 public:
  static constexpr int around =
      2;  // cells are half as wide as a list reaches: fewer pairs are tried than with whole ones

  Cells(const Block& block, const MemoryPolicy& policy, Team& team, std::size_t room)
      : team_(team),
        counts_(count_cells(block)),
        ends_(static_cast<std::size_t>(counts_[0]) * counts_[1] * counts_[2] + 1, policy, team),
        cell_of_(room, policy, team),
        number(room, policy, team),
        x(room, policy, team),
        y(room, policy, team),
        z(room, policy, team),
        totals_(team.size()) {
    for (int d = 0; d < 3; ++d) {
      low_[d] = block.low[d] - reach;
      per_length_[d] = counts_[d] / (block.high[d] - block.low[d] + 2 * reach);
    }
  }

  std::array<int, 3> place(const Point& p) const {
    std::array<int, 3> at;
    for (int d = 0; d < 3; ++d)  // rounding may put an image just beyond the outermost cell
      at[d] = std::clamp(static_cast<int>((p.c[d] - low_[d]) * per_length_[d]), 0, counts_[d] - 1);
    return at;
  }
  // Returns the range of the cells `first` to `last` of the row (j, k) in the sorted arrays.
  std::pair<std::uint32_t, std::uint32_t> row(int first, int last, int j, int k) const {
    const std::uint32_t* of = &ends_[index(0, j, k)];
    return {of[std::max(first, 0)], of[std::min(last, counts_[0] - 1) + 1]};
  }
  int size(int d) const { return counts_[d]; }

  // Sorts the particles. Every thread calls it: it counts and places the particles of its own cells only.
  void sort(Worker w, const Point* points, std::size_t n) {
    for (auto [i, end] = w.part(n); i < end; ++i) {
      auto at = place(points[i]);
      cell_of_[i] = index(at[0], at[1], at[2]);
    }
    team_.barrier().wait();
    auto [first, end] = w.part(ends_.size() - 1);
    // While cells are counted and placed, entries are shifted by one cell. At the end each one is its cell's begin.
    std::uint32_t* next = ends_.data() + 1;
    std::fill(next + first, next + end, 0u);
    each(first, end, n, [&](std::size_t, std::uint32_t cell) { ++next[cell]; });
    std::uint32_t sum = 0;
    for (std::size_t c = first; c < end; ++c) sum += std::exchange(next[c], sum);
    totals_[w.index].value = sum;
    if (w.index == 0) ends_[0] = 0;
    team_.barrier().wait();
    std::uint32_t before = 0;
    for (std::size_t t = 0; t < w.index; ++t) before += totals_[t].value;
    for (std::size_t c = first; c < end; ++c) next[c] += before;
    each(first, end, n, [&](std::size_t i, std::uint32_t cell) {
      const std::uint32_t at = next[cell]++;
      number[at] = static_cast<std::uint32_t>(i);
      x[at] = points[i].c[0], y[at] = points[i].c[1], z[at] = points[i].c[2];
    });
    team_.barrier().wait();
  }

  static std::size_t bytes(const Block& block, std::size_t room) {
    auto counts = count_cells(block);
    return 4ul * static_cast<std::size_t>(counts[0]) * counts[1] * counts[2] + room * (4 + 4 + 3 * 8);
  }

 private:
  struct alignas(64) Total {
    std::uint32_t value = 0;
  };
  static std::array<int, 3> count_cells(const Block& block) {
    std::array<int, 3> out;
    for (int d = 0; d < 3; ++d)
      out[d] = static_cast<int>((block.high[d] - block.low[d] + 2 * reach) / (reach / around));
    return out;
  }
  std::uint32_t index(int i, int j, int k) const {
    return static_cast<std::uint32_t>((k * counts_[1] + j) * counts_[0] + i);
  }
  template <class Call>
  void each(std::size_t first, std::size_t end, std::size_t n, Call call) const {
    for (std::size_t i = 0; i < n; ++i)
      if (const std::uint32_t cell = cell_of_[i]; cell - first < end - first) call(i, cell);
  }

  Team& team_;
  const std::array<int, 3> counts_;
  Buffer<std::uint32_t> ends_, cell_of_;

 public:
  Buffer<std::uint32_t> number;  // number of each particle, in the order of the cells
  Buffer<double> x, y, z;        // coordinates of this particle

 private:
  std::vector<Total> totals_;
  Triple low_, per_length_;
};

}  // namespace steelyard::md
