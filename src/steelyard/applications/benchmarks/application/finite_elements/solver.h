// Conjugate gradients without a preconditioner for the system of one part, written once for threads and ranks: a Link
// says how the sides share a vector (`exchange(w, vector)`), add (`sum(w, array)`) and meet (`meet(w)`).
#pragma once
#include <array>
#include <cmath>

#include "../npb_cg/vectors.h"
#include "system.h"

namespace steelyard::finite_elements {

struct SolverOutcome {
  std::size_t steps = 0;
  double first = NAN, residual = NAN;  // norms: at the start, and by the recurrence at the end
};

template <class Link>
class Solver {
 public:
  Solver(System& system, Link& link, const MemoryPolicy& policy, Team& team)
      : system_(system),
        link_(link),
        x(system.part.all, policy, team),
        p(system.part.all, policy, team),
        q(system.part.padded, policy, team),
        r(system.part.padded, policy, team) {}
  static double bytes(const Part& part) { return 2 * sizeof(double) * static_cast<double>(part.all + part.padded); }

  // Sets the first x of the solver: zero, except on the faces of the cube, where the solution is given.
  void begin(Worker w) {
    auto [first, last] = w.part(x.size());
    for (std::size_t i = first; i < last; ++i) x[i] = p[i] = 0;
    link_.meet(w);
    system_.visit_lines(w, [&](int y, int z) {
      Part::Line rows = system_.part.line(y, z);
      for (int i = 0; i < system_.part.size[0]; ++i)
        if (system_.part.depth(i, y, z) == 0) x[rows[i]] = exact_solution(system_.mesh.at(i, y, z));
    });
    link_.meet(w);
  }
  // From the x that there is, until the residual is `reduction` of `first` (NAN: of its own first) or after so many
  // steps.
  SolverOutcome solve(Worker w, std::size_t most, double first = NAN) {
    auto [begin, end] = w.part(system_.part.padded);
    npb::cg::OwnRows own{nullptr, &x[begin], &p[begin], &q[begin], &r[begin], end - begin};
    double rho = sum(w, residual(w));
    SolverOutcome out{0, std::isnan(first) ? std::sqrt(rho) : first, std::sqrt(rho)};
    std::copy_n(own.r, own.size, own.p);
    while (out.steps < most && out.residual > reduction * out.first) {
      link_.exchange(w, p.data());
      double dot = sum(w, system_.matrix.multiply(begin, end, p.data(), q.data()));
      double alpha = rho / dot, before = rho;
      rho = sum(w, own.reduce(alpha));
      own.update_direction(alpha, rho / before);
      out.residual = std::sqrt(rho);
      ++out.steps;
    }
    link_.meet(w);
    return out;
  }
  // r = b - A x; returns the worker's share of its square.
  double residual(Worker w) {
    auto [first, last] = w.part(system_.part.padded);
    std::copy(&x[first], &x[first] + (last - first), &p[first]);
    link_.exchange(w, p.data());
    system_.matrix.multiply(first, last, p.data(), q.data());
    double square = 0;
    for (std::size_t i = first; i < last; ++i) {
      r[i] = system_.right[i] - q[i];
      square += r[i] * r[i];
    }
    link_.meet(w);  // p is still read by others
    return square;
  }

 private:
  double sum(Worker w, double mine) { return link_.sum(w, std::array{mine})[0]; }

  System& system_;
  Link& link_;

 public:
  Buffer<double> x, p, q, r;  // x and p with the neighbours' nodes at their end
};

}  // namespace steelyard::finite_elements
