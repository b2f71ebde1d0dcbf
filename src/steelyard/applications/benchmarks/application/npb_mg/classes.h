// MG: its classes and their published norms, larger problems with a multiple of a class's points, and the verification
// of a run.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "../npb/problem.h"
#include "../npb/verification.h"
#include "charges.h"
#include "lines.h"

namespace steelyard::npb {

constexpr Weights smoother_a{-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, smoother_b{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

// The published norms of NPB 3.4.1.
struct MgClass {
  char letter;
  std::array<int, 3> logs;  // 2^log points along x, y and z
  int iterations;
  Weights smoother;
  double norm;
  double fall = 0;  // factor by which the norm falls in the class from which a larger problem was made

  constexpr MgClass(char l, int log, int i, Weights s, double n)
      : letter(l), logs{log, log, log}, iterations(i), smoother(s), norm(n) {}

  // Returns the number of levels down to two points along the shortest edge.
  int levels() const { return *std::min_element(logs.begin(), logs.end()); }
  // Returns how many more halvings the other edges need down to two points.
  std::array<int, 3> longer_directions() const { return {logs[0] - levels(), logs[1] - levels(), logs[2] - levels()}; }
  int edge(std::size_t direction) const { return 1 << logs[direction]; }
  int logs_in_all() const { return logs[0] + logs[1] + logs[2]; }
  std::size_t count() const { return std::size_t{1} << logs_in_all(); }
  double points() const { return std::ldexp(1.0, logs_in_all()); }
  // Returns the norm of the charges alone, with which every run begins.
  double first_norm() const { return std::sqrt(2.0 * Extremes::each / points()); }
  std::string size() const { return join({edge(0), " x ", edge(1), " x ", edge(2)}); }
};
constexpr MgClass mg_classes[] = {
    {'S', 5, 4, smoother_a, 0.5307707005734e-04},  {'W', 7, 4, smoother_a, 0.6467329375339e-05},
    {'A', 8, 4, smoother_a, 0.2433365309069e-05},  {'B', 8, 20, smoother_b, 0.1800564401355e-05},
    {'C', 9, 20, smoother_b, 0.5706732285740e-06}, {'D', 10, 50, smoother_b, 0.1583275060440e-09}};

inline const MgClass& mg_class(char letter) {
  for (const MgClass& c : mg_classes)
    if (c.letter == letter) return c;
  throw CaseError(join({"MG has no class '", letter, "'"}));
}

// Returns the class, or a multiple of its points: edges are doubled along z, y and x in turn, as ranks share them. If
// the result is another class (B times 8 is C), its published norm is valid.
inline MgClass mg_class(const Problem& problem) {
  MgClass out = mg_class(problem.letter);
  if (problem.scale == 1) return out;
  out.fall = out.norm / out.first_norm(), out.norm = none_published;
  std::size_t direction = 2;
  for (std::size_t left = problem.scale; left > 1; left /= 2, direction = (direction + 2) % 3) ++out.logs[direction];
  for (const MgClass& c : mg_classes)
    if (c.logs == out.logs && c.iterations == out.iterations && c.smoother.face == out.smoother.face) out.norm = c.norm;
  return out;
}

// The invariants for any size, computed by separate loops over the right-hand side and the last solution.
struct MgProof {
  double squares = 0, sum = 0;  // sums over the residual

  // Adds the planes z0 to z1 − 1 of v − A u, point by point. u also has the neighbours' planes, lines and points.
  void add(const Grid& u, const Grid& v, int z0, int z1) {
    constexpr double by[] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};  // weights of the centre, faces, edges and corners
    int n = u.extent.points[0];
    auto place = [&](int x) { return u.extent.shared[0] ? x : x & (n - 1); };
    for (int z = z0; z < z1; ++z)
      for (int y = 0; y < u.extent.points[1]; ++y)
        for (int x = 0; x < n; ++x) {
          double left = v.line(y, z)[x];
          for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
              for (int dx = -1; dx <= 1; ++dx)
                left -= by[dx * dx + dy * dy + dz * dz] * u.line(y + dy, z + dz)[place(x + dx)];
          squares += left * left, sum += left;
        }
  }
};

// The result of a run, which is the same with threads and with ranks.
struct MgResult {
  const MgClass& c;
  double first = 0, norm = 0;
  bool done = false;
  MgProof proof;

  bool published() const { return !std::isnan(c.norm); }
  void finish(double squares) { norm = std::sqrt(squares / c.points()), done = true; }
  Verification verification() const {
    Verification out{1e-8, {}, published()};
    if (done && published()) out.quantities = {{"norm of the residual", norm, c.norm}};
    if (!done || published()) return out;
    constexpr double charges = 2.0 * Extremes::each;
    out.require("sum of the squared charges", first * first * c.points(), charges, 1e-10);
    // In a periodic box the sum over a stencil is zero, because as many charges are positive as negative.
    out.require("sum of the residual", proof.sum, 0, 1e-8, charges);
    out.require("norm of the residual", norm, std::sqrt(proof.squares / c.points()), 1e-8);
    // The cycle reduces errors around each charge equally on every grid: classes with equal iterations differ by 12 %.
    out.require("fall of the norm", norm / first, c.fall, 0.2);
    return out;
  }
  std::string details(const Problem& problem, const PhaseTimes& phases) const {
    return details_of(problem, verification(), phases).add("size", json::text(c.size())).add("first_norm", first).str();
  }
  // Operations: NPB's count. Flops by the loops as written, without what boxes compute twice: 15 for a residual, 17 for
  // the smoother, 2 for a prolongation, 1 to add it, 25/8 for a restriction; the coarser levels are 1/7 of the points.
  // Bytes: on the finest level u and v are read and the new u is written around the caches; on the others the
  // right-hand side is written (and read before, as caches do), restricted and read again, the solution written (the
  // same) and read: 7 doubles for a point.
  Work work() const {
    double points = c.points(), cycle = 15 + 17 + 3 + 15 + 25.0 / 8 + (25.0 / 8 + 2 + 15 + 17) / 7;
    return {{"operations", 58 * c.iterations * points},
            {"flops", points * (c.iterations * cycle + 15 + 25.0 / 8)},
            {"bytes", points * (c.iterations * (24 + 56.0 / 7) + 16 + 2)},
            {"working_set", 2 * 8 * points * 8 / 7}};
  }
};

}  // namespace steelyard::npb
