// The mesh: the smallest octree of the unit cube that is fine around the source and balanced over faces and edges.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "classes.h"
#include "entities.h"

namespace steelyard::npb::ua {

// A cube with edges of 2^-level. `at` is its position from the origin, in units of its edge.
struct Cell {
  int level;
  Triple at;

  Cell parent() const { return {level - 1, {at[0] >> 1, at[1] >> 1, at[2] >> 1}}; }
  // Returns a child. `bits` has a bit for each direction: 0 for the low child, 1 for the high child.
  Cell child(const Triple& bits) const {
    return {level + 1, {2 * at[0] + bits[0], 2 * at[1] + bits[1], 2 * at[2] + bits[2]}};
  }
  Cell moved_by(const Triple& by) const { return {level, {at[0] + by[0], at[1] + by[1], at[2] + by[2]}}; }
};

class Octree {
 public:
  static constexpr int parted = -1, absent = -2, outside = -3;

  explicit Octree(int finest) : finest_(finest), windows_(at(finest) + 1), parted_(at(finest)) {}

  int finest() const { return finest_; }
  const std::vector<Cell>& leaves() const { return leaves_; }  // in the order of Morton's curve

  // Builds the mesh. A cell is divided if its box is strictly nearer to the centre than the radius. The neighbours of a
  // divided cell over faces and edges must exist, so their parents are divided, too. The levels are processed from the
  // finest upwards. The result is the minimal tree, whatever the mesh was before.
  void build(const Point& centre, double radius) {
    open_windows(centre, radius);
    divide_near_source(centre, radius);
    for (int level = finest_ - 1; level > 0; --level)
      for (const Triple& cell : parted_[at(level)])
        for (const Triple& by : near_) divide_parent(level, {cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]});
    leaves_.clear();
    enumerate({0, {0, 0, 0}});
  }

  // Returns the number of the leaf that is this cell. Otherwise: parted, absent (it is part of a leaf) or outside.
  int find_leaf(const Cell& cell) const {
    const Window& window = windows_[at(cell.level)];
    std::size_t index = 0;
    for (std::size_t d = 3; d-- > 0;) {
      if (cell.at[d] < 0 || cell.at[d] >> cell.level != 0) return outside;
      int within = cell.at[d] - window.low[d];
      if (within < 0 || within >= window.size[d]) return absent;
      index = index * at(window.size[d]) + at(within);
    }
    return window.cells[index];
  }
  // Returns the leaf that contains this absent cell.
  int leaf_around(Cell cell) const {
    int found = absent;
    while (found == absent) found = find_leaf(cell = cell.parent());
    return found;
  }

 private:
  // The box of the cells of a level that can exist.
  struct Window {
    Triple low, size;
    std::vector<int> cells;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  int& entry(int level, const Triple& cell) {
    Window& window = windows_[at(level)];
    std::size_t index = 0;
    for (std::size_t d = 3; d-- > 0;) index = index * at(window.size[d]) + at(cell[d] - window.low[d]);
    return window.cells[index];
  }

  void open_windows(const Point& centre, double radius) {
    Triple low, high;  // of the cells that can be divided
    for (std::size_t d = 0; d < 3; ++d) {
      double cells = std::ldexp(1.0, finest_ - 1);
      low[d] = std::max(0, static_cast<int>((centre[d] - radius) * cells) - 1);
      high[d] = std::min(static_cast<int>(cells) - 1, static_cast<int>((centre[d] + radius) * cells) + 1);
    }
    for (int level = finest_; level > 0; --level) {
      Window& window = windows_[at(level)];
      for (std::size_t d = 0; d < 3; ++d) {
        window.low[d] = 2 * low[d], window.size[d] = 2 * (high[d] - low[d] + 1);
        low[d] = std::max(0, low[d] - 1) >> 1;
        high[d] = std::min((1 << (level - 1)) - 1, high[d] + 1) >> 1;
      }
    }
    windows_[0].low = {0, 0, 0}, windows_[0].size = {1, 1, 1};
    for (Window& w : windows_) w.cells.assign(at(w.size[0]) * at(w.size[1]) * at(w.size[2]), absent);
    for (auto& cells : parted_) cells.clear();
  }

  void split_cell(int level, const Triple& cell) {
    int& value = entry(level, cell);
    if (value == parted) return;
    value = parted;
    parted_[at(level)].push_back(cell);
  }
  void divide_parent(int level, const Triple& cell) {
    for (int c : cell)
      if (c < 0 || c >> level != 0) return;
    split_cell(level - 1, {cell[0] >> 1, cell[1] >> 1, cell[2] >> 1});
  }

  void divide_near_source(const Point& centre, double radius) {
    const Window& window = windows_[at(finest_ - 1)];
    double edge = std::ldexp(1.0, 1 - finest_);
    auto gap = [&](int cell, std::size_t d) {
      double low = cell * edge, nearest = std::clamp(centre[d], low, low + edge);
      return (nearest - centre[d]) * (nearest - centre[d]);
    };
    for (int z = window.low[2]; z < window.low[2] + window.size[2]; ++z)
      for (int y = window.low[1]; y < window.low[1] + window.size[1]; ++y)
        for (int x = window.low[0]; x < window.low[0] + window.size[0]; ++x)
          if (gap(x, 0) + gap(y, 1) + gap(z, 2) < radius * radius) split_cell(finest_ - 1, {x, y, z});
  }

  void enumerate(const Cell& cell) {
    int& value = entry(cell.level, cell.at);
    if (value != parted) {
      value = static_cast<int>(leaves_.size());
      leaves_.push_back(cell);
      return;
    }
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x) enumerate(cell.child({x, y, z}));
  }

  // Calls `act` with the cell and its 18 neighbours over faces and edges.
  static constexpr std::array<Triple, 19> near_ = [] {
    std::array<Triple, 19> out{};
    std::size_t n = 0;
    for (const Entity& e : entities)
      if (e.kind > 0) out[n++] = {e.code[0] - 1, e.code[1] - 1, e.code[2] - 1};
    return out;
  }();

  int finest_;
  std::vector<Window> windows_;              // one for each level
  std::vector<std::vector<Triple>> parted_;  // the divided cells of each level
  std::vector<Cell> leaves_;
};

}  // namespace steelyard::npb::ua
