// The system of equations of one part: its structure, its assembly and its boundary conditions, each worker its own
// lines.
#pragma once
#include <algorithm>

#include "matrix.h"
#include "mesh.h"

namespace steelyard::finite_elements {

// Where in a corner's row the entry of another corner stands, and which of an element's pairs it is.
struct Places {
  unsigned char slot[corners][corners], pair[corners][corners];

  constexpr Places() : slot(), pair() {
    for (std::size_t i = 0; i < corners; ++i)
      for (std::size_t j = 0; j < corners; ++j) {
        auto step = [&](std::size_t d) { return static_cast<int>(j >> d & 1) - static_cast<int>(i >> d & 1); };
        slot[i][j] = static_cast<unsigned char>(direction_of(step(0), step(1), step(2)));
        pair[i][j] = static_cast<unsigned char>(pair_of(i, j));
      }
  }
};
inline constexpr Places places;

class System {
 public:
  Part part;
  Mesh mesh;
  Matrix matrix;
  Buffer<double> right;  // the right-hand side

  System(const Part& p, const MemoryPolicy& policy, Team& team)
      : part(p), mesh(p, policy, team), matrix(p, policy, team), right(p.padded, policy, team) {
    for (std::size_t r = p.own; r < p.padded; ++r) {
      right[r] = 0;
      std::fill_n(&matrix.values[entries * r], entries, 0.0);
      std::fill_n(&matrix.columns[entries * r], entries, static_cast<std::int32_t>(r));
    }
  }
  static double bytes(const Part& part) {
    double rows = static_cast<double>(part.padded);
    return rows * (entries * bytes_an_entry + sizeof(double)) +
           4 * 1.3 * sizeof(double) * static_cast<double>(part.all);
  }

  void structure(Worker w) {
    mesh.place(w);
    visit_lines(w, [&](int y, int z) { matrix.number(part, y, z); });
  }
  void clear(Worker w) {
    visit_lines(w, [&](int y, int z) {
      Part::Line rows = part.line(y, z);
      auto size = static_cast<std::size_t>(part.size[0]);
      std::fill_n(&matrix.values[entries * rows.middle], entries * size, 0.0);
      std::fill_n(&right[rows.middle], size, 0.0);
    });
  }
  // Each worker computes all elements around its nodes, so that none waits for another. The order of an entry's sum
  // does not depend on the number of workers. Returns the worker's share of the sum of the right-hand side.
  double assemble(Worker w) {
    auto [first, last] = find_own_lines(w);
    clear(w);
    for (int z = first / part.size[1] - 1; z <= (last - 1) / part.size[1]; ++z)
      for (int y = -1; y < part.size[1]; ++y) {
        if (first >= last || !part.element(1, y) || !part.element(2, z)) continue;
        bool mine[4]{};  // the node lines at its four edges
        for (int edge = 0; edge < 4; ++edge) {
          int ny = y + (edge & 1), nz = z + (edge >> 1), line = nz * part.size[1] + ny;
          mine[edge] = ny >= 0 && ny < part.size[1] && nz >= 0 && nz < part.size[2] && line >= first && line < last;
        }
        if (mine[0] || mine[1] || mine[2] || mine[3]) assemble_line(y, z, mine);
      }
    double sum = 0;
    for (std::size_t r = start_of(first); r < start_of(last); ++r) sum += right[r];
    return sum;
  }
  // On the faces the solution is given: their rows become those of the identity, their columns go to the other side.
  void impose_boundary(Worker w) {
    visit_lines(w, [&](int y, int z) {
      bool inner = std::min(part.depth(1, y), part.depth(2, z)) > 1;
      Part::Line rows = part.line(y, z);
      for (int x = 0; x < part.size[0]; ++x)
        if (!inner || part.depth(0, x) <= 1) impose_boundary(rows[x], x, y, z);
    });
  }

  // The worker's node lines, line y + z * size[1].
  std::pair<int, int> find_own_lines(Worker w) const {
    auto [first, last] = w.part(static_cast<std::size_t>(part.visit_lines()), 1);
    return {static_cast<int>(first), static_cast<int>(last)};
  }
  std::size_t start_of(int line) const {
    return static_cast<std::size_t>(line) * static_cast<std::size_t>(part.size[0]);
  }
  template <class Call>
  void visit_lines(Worker w, const Call& call) const {
    auto [first, last] = find_own_lines(w);
    for (int line = first; line < last; ++line) call(line % part.size[1], line / part.size[1]);
  }

 private:
  void assemble_line(int y, int z, const bool (&mine)[4]) {
    constexpr int together = static_cast<int>(pack_doubles);
    std::size_t rows[4]{};  // of x = 0; a line that is not mine is not touched
    for (int edge = 0; edge < 4; ++edge)
      if (mine[edge]) rows[edge] = part.line(y + (edge & 1), z + (edge >> 1)).middle;
    int begin = part.element(0, -1) ? -1 : 0, end = part.size[0];
    while (end > begin && !part.element(0, end - 1)) --end;
    for (int x = begin; x < end; x += together) {
      Element<Pack> elements = mesh.element<Pack>(x, y, z);
      for (int lane = 0; lane < std::min(together, end - x); ++lane) add(elements, lane, x + lane, mine, rows);
    }
  }
  // One element's entries go to the rows of its corners that are mine.
  void add(const Element<Pack>& elements, int lane, int x, const bool (&mine)[4], const std::size_t (&rows)[4]) {
    const double* from = reinterpret_cast<const double*>(elements.stiffness) + lane;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < corners; ++i) {
      int at = x + static_cast<int>(i & 1);
      if (!mine[i >> 1] || at < 0 || at >= part.size[0]) continue;
      std::size_t row = rows[i >> 1] + static_cast<std::size_t>(at);
      double* to = &matrix.values[entries * row];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < corners; ++j) to[places.slot[i][j]] += from[places.pair[i][j] * pack_doubles];
      right[row] += elements.load[i][lane];
    }
  }
  void impose_boundary(std::size_t row, int x, int y, int z) {
    double* values = &matrix.values[entries * row];
    if (part.depth(x, y, z) == 0) {
      std::fill_n(values, entries, 0.0);
      values[diagonal] = 1;
      right[row] = exact_solution(mesh.at(x, y, z));
      return;
    }
    for (int slot = 0; slot < static_cast<int>(entries); ++slot) {
      auto [dx, dy, dz] = steps_of(slot);
      if (part.depth(x + dx, y + dy, z + dz) > 0) continue;
      right[row] -= values[slot] * exact_solution(mesh.at(x + dx, y + dy, z + dz));
      values[slot] = 0;
    }
  }
};

}  // namespace steelyard::finite_elements
