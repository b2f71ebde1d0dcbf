// MG: all grids of a process, and the steps of a V-cycle on them. The threads of the process divide each step.
#pragma once
#include <array>
#include <cmath>
#include <deque>

#include "../npb/threads.h"
#include "classes.h"
#include "sweep.h"

namespace steelyard::npb {

// The parts of the grids that a process has: its share of each level above `whole`, and all of the other levels.
struct Layout {
  std::array<int, 3> parts{1, 1, 1}, place{0, 0, 0};  // processes along x, y, z, and the position of this one
  int whole;
  std::array<int, 3> longer{0, 0, 0};  // how many more times an edge is halved than the shortest edge

  static constexpr int least = 8;  // points along an edge of a share: twice the halo
  int edge(std::size_t direction, int level) const { return 1 << (level + longer[direction]); }
  Extent level_extent(int level) const {
    if (level <= whole) return {{edge(0, level), edge(1, level), edge(2, level)}, {false, false, false}};
    return share(level);
  }
  Extent share(int level) const {
    Extent out;
    for (std::size_t d = 0; d < 3; ++d) out.points[d] = edge(d, level) / parts[d], out.shared[d] = parts[d] > 1;
    return out;
  }
  // Returns the first point of the share of a level.
  std::array<int, 3> begin(int level) const {
    std::array<int, 3> out;
    for (std::size_t d = 0; d < 3; ++d) out[d] = edge(d, level) / parts[d] * place[d];
    return out;
  }
};

class Multigrid {
 public:
  // The grids of one process.
  static std::size_t bytes(const MgClass& c, const Layout& layout, std::size_t threads) {
    std::size_t doubles = 3 * Grid(layout.level_extent(c.levels())).size();
    for (int k = 1; k < c.levels(); ++k) doubles += 2 * Grid(layout.level_extent(k)).size();
    return (doubles + threads * 2 * cached) * sizeof(double);
  }

  Multigrid(const MgClass& c, const Layout& layout, const MemoryPolicy& policy, Team& team)
      : class_(c), layout_(layout), zeros_(static_cast<std::size_t>(c.edge(0)) + 64) {
    for (int k = 0; k < c.levels(); ++k) {  // level 0 is not used
      Extent extent = layout.level_extent(std::max(1, k));
      right_.emplace_back(extent, policy, team), solution_.emplace_back(extent, policy, team);
    }
    for (int i = 0; i < 2; ++i) solution_.emplace_back(layout.level_extent(c.levels()), policy, team);
    right_.emplace_back(layout.level_extent(c.levels()), policy, team);
    if (layout.whole < c.levels()) share_.emplace_back(layout.share(layout.whole), policy, team);
    std::size_t scratch = 0;
    for (int k = 0; k <= c.levels(); ++k) {
      boxes_.push_back(boxes(layout.level_extent(std::max(1, k)), static_cast<int>(team.size())));
      for (const Box& b : boxes_.back())
        scratch = std::max(scratch, Sweep<true>::scratch(right_[static_cast<std::size_t>(k)], b.y1 - b.y0));
    }
    scratch_ = Buffer<double>::one_each(scratch, policy, team, team.size());
    team.each([&](Worker w) { std::fill_n(scratch_[w.index].data(), scratch, 0.0); });
  }

  int top() const { return class_.levels(); }
  int whole_level() const { return layout_.whole; }
  const Layout& layout() const { return layout_; }
  Grid& right(int level) { return right_[static_cast<std::size_t>(level)]; }
  // The finest level has two solutions: that of the iteration before, and that of this iteration.
  Grid& solution(int level, int iteration = 0) { return solution_[static_cast<std::size_t>(level + iteration % 2)]; }
  // The restriction from the level above `whole`.
  Grid& share() { return share_.front(); }

  // Sets the solution to 0 and the right-hand side to the charges. `meet`: a barrier of all threads of the process.
  template <class Meet>
  void fill(Worker w, const Extremes& charges, Meet meet) {
    for (Field* field : {&solution_[static_cast<std::size_t>(top())], &right_[static_cast<std::size_t>(top())]}) {
      auto [first, last] = w.part(field->memory.size());
      std::fill(field->memory.data() + first, field->memory.data() + last, 0.0);
    }
    meet();
    if (w.index == 0) {
      for (const Charge& c : charges.greatest()) put_charge(c.at, 1);
      for (const Charge& c : charges.smallest()) put_charge(c.at, -1);
    }
    meet();
  }
  void put_charge(std::size_t at, double value) {
    steelyard::npb::put_charge(right(top()), layout_.begin(top()), {class_.edge(0), class_.edge(1), class_.edge(2)}, at,
                               value);
  }

  // Restricts the first residual on the finest level. Returns this thread's share of the sum of its squares.
  double begin(Worker w) {
    Step step{&solution(top()), nullptr, {}, &right(top()), &solution(top()), &lower(top()), class_.smoother, true};
    return sum_over_boxes(top(), w, [&](Box box, double* memory) { return Sweep<true>(step, box, memory).begin(); });
  }
  // Restricts the right-hand side of `level` to the level below.
  void restrict_to_coarser(int level, Worker w) {
    sum_over_boxes(level, w, [&](Box box, double*) {
      restrict_box(right(level), lower(level), {box.y0 / 2, box.y1 / 2, box.z0 / 2, box.z1 / 2});
      return 0.0;
    });
  }
  void solve_last() { smooth_only(right(1), solution(1), class_.smoother, zeros_.data() + 32); }
  void correct_and_smooth(int level, Worker w) {
    Step step{nullptr, &solution(level - 1), shift(level), &right(level), &solution(level),
              nullptr, class_.smoother,      false};
    sum_over_boxes(level, w, [&](Box box, double* memory) { return Sweep<false>(step, box, memory).run(); });
  }
  // Computes the finest level of an iteration. The last iteration needs the norm of the residual and no restriction.
  double finish_cycle(int iteration, Worker w) {
    bool last = iteration + 1 == class_.iterations;
    Step step{&solution(top(), iteration),     &solution(top() - 1),           shift(top()),    &right(top()),
              &solution(top(), iteration + 1), last ? nullptr : &lower(top()), class_.smoother, last};
    return sum_over_boxes(top(), w, [&](Box box, double* memory) { return Sweep<true>(step, box, memory).run(); });
  }

 private:
  // Doubles in the four rings of a box: 1.25 MiB, so that they stay in a second cache of 2 MiB beside streamed data.
  static constexpr std::size_t cached = (std::size_t{5} << 20) / 4 / sizeof(double);

  // Whole planes for as many threads as can have 16 of them, and so many lines that the rings of a box stay in cache.
  static std::vector<Box> boxes(const Extent& extent, int threads) {
    int ny = extent.points[1], nz = extent.points[2];
    Grid grid(extent);
    int chunks = std::min(threads, std::max(1, nz / 16)), tiles = 1;
    auto lines = [&] { return static_cast<int>((ny / 2 + tiles - 1) / tiles * 2); };
    while (lines() > 8 && (Sweep<true>::scratch(grid, lines()) > cached || tiles * chunks % threads)) ++tiles;
    auto border = [](int points, int i, int of) { return points / 2 * i / of * 2; };
    std::vector<Box> out;
    for (int c = 0; c < chunks; ++c)
      for (int t = 0; t < tiles; ++t)
        out.push_back(
            {border(ny, t, tiles), border(ny, t + 1, tiles), border(nz, c, chunks), border(nz, c + 1, chunks)});
    return out;
  }
  template <class Do>
  double sum_over_boxes(int level, Worker w, Do what) {
    const std::vector<Box>& all = boxes_[static_cast<std::size_t>(level)];
    auto [first, last] = w.part(all.size(), 1);
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += what(all[i], scratch_[w.index].data());
    return sum;
  }
  Grid& lower(int level) { return level - 1 == whole_level() && !share_.empty() ? share() : right(level - 1); }
  // Returns the begin of a part on the whole grid below it, if that grid is whole.
  std::array<int, 3> shift(int level) const {
    return level - 1 == layout_.whole ? layout_.begin(level - 1) : std::array<int, 3>{};
  }

  const MgClass& class_;
  Layout layout_;
  std::deque<Field> right_, solution_, share_;
  std::vector<double> zeros_;
  std::vector<std::vector<Box>> boxes_;
  std::vector<Buffer<double>> scratch_;
};

// The names of the levels: their shortest edges.
inline std::vector<std::string> mg_phases(const MgClass& c) {
  std::vector<std::string> out{"first residual"};
  for (int k = 1; k <= c.levels(); ++k) out.push_back(join({"grid ", 1 << k}));
  out.push_back("exchanges");
  return out;
}

}  // namespace steelyard::npb
