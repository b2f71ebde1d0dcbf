// CG's outer iteration, written once for threads and ranks: 25 steps of conjugate gradients and the estimate they give.
#pragma once
#include <array>

#include "classes.h"
#include "vectors.h"

namespace steelyard::npb::cg {

enum Phase : std::size_t { products, exchanges, sums, updates };
inline PhaseTimes phase_times(const Problem& problem) {
  return {problem.phases, {"SpMV", "exchange of vectors", "sums over all", "vector updates"}};
}

// A `Side` is one thread's or rank's view: `own` (its parts of the vectors), `product()` (q = A p, returns its share of
// p·q), `product_of_solution()` (q = A z), `sum(array)` over all sides, `share()` (p is complete everywhere), and
// `spent(Phase)`.
template <class Side>
Estimate outer_iteration(Side& side, double shift) {
  auto sum = [&](double mine) {
    double all = side.sum(std::array{mine})[0];
    side.spent(sums);
    return all;
  };
  double mine = side.own.start();
  side.spent(updates);
  side.share();
  double rho = sum(mine);
  for (std::size_t step = 0; step < inner_steps; ++step) {
    double partial = side.product();
    double alpha = rho / sum(partial);
    partial = side.own.reduce(alpha);
    side.spent(updates);
    double before = rho;
    rho = sum(partial);
    side.own.turn(alpha, rho / before);
    side.spent(updates);
    if (step + 1 < inner_steps) side.share();
  }
  side.product_of_solution();
  std::array<double, 3> partials = side.own.close();
  side.spent(updates);
  auto [residual, product, square] = side.sum(partials);
  side.spent(sums);
  side.own.scale(1 / std::sqrt(square));
  side.spent(updates);
  return {shift + 1 / product, std::sqrt(residual), true};
}

inline Verification verification_of(const Class& c, const Estimate& found) {
  Verification out{tolerance, {}};
  if (found.computed) out.quantities.emplace_back("eigenvalue estimate", found.value, c.estimate);
  return out;
}

}  // namespace steelyard::npb::cg
