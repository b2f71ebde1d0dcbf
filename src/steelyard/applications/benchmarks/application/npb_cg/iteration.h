// CG's outer iteration, written once for threads and ranks: 25 steps of conjugate gradients and the estimate they give.
#pragma once
#include <algorithm>
#include <array>

#include "classes.h"
#include "generation.h"
#include "vectors.h"

namespace steelyard::npb::cg {

enum Phase : std::size_t { products, exchanges, sums, updates };
inline PhaseTimes phase_times(const Problem& problem) {
  return {problem.phases, {"SpMV", "exchange of vectors", "sums over all", "vector updates"}};
}

// A `Side` is one thread's or rank's view: `own` (its parts of the vectors), `multiply_direction()` (q = A p, returns
// its share of p·q), `multiply_solution()` (q = A z), `sum(array)` over all sides, `share()` (p is complete
// everywhere), and `end_phase(Phase)`.
template <class Side>
Estimate run_outer_iteration(Side& side, double shift) {
  auto sum = [&](double mine) {
    double all = side.sum(std::array{mine})[0];
    side.end_phase(sums);
    return all;
  };
  double mine = side.own.start();
  side.end_phase(updates);
  side.share_vector();
  double rho = sum(mine);
  for (std::size_t step = 0; step < inner_steps; ++step) {
    double partial = side.multiply_direction();
    double alpha = rho / sum(partial);
    partial = side.own.reduce(alpha);
    side.end_phase(updates);
    double before = rho;
    rho = sum(partial);
    side.own.update_direction(alpha, rho / before);
    side.end_phase(updates);
    if (step + 1 < inner_steps) side.share_vector();
  }
  side.multiply_solution();
  std::array<double, 3> partials = side.own.sum_final_products();
  side.end_phase(updates);
  auto [residual, product, square] = side.sum(partials);
  side.end_phase(sums);
  side.own.scale(1 / std::sqrt(square));
  side.end_phase(updates);
  return {shift + 1 / product, std::sqrt(residual), true};
}

// The invariants of a matrix of any order.
struct Proof {
  double quotient = NAN;                 // Rayleigh's quotient of the last vector
  double entries = NAN, expected = NAN;  // sum of all entries: by a product with ones, and by the random vectors
};

// Computes the invariants. x is the last vector; `ones()` sets it to ones. Both products use the matrix of the run.
template <class Side, class Ones>
Proof make_proof(Side& side, const Class& c, Ones ones) {
  auto product = [&] {
    std::copy_n(side.own.x, side.own.size, side.own.z);
    side.multiply_solution();
    return side.sum(side.own.products_of_x());
  };
  auto [square, quotient, image] = product();
  Proof out{c.shift + quotient / square};
  side.share_vector();
  ones();
  out.entries = product()[1];
  out.expected = sum_of_entries(c);
  return out;
}

inline Verification verify(const Class& c, const Estimate& found, const Proof& proof) {
  bool published = !std::isnan(c.estimate);
  Verification out{tolerance, {}, published};
  if (!found.computed) return out;
  if (published) {
    out.quantities.emplace_back("eigenvalue estimate", found.value, c.estimate);
    return out;
  }
  out.require("sum of the matrix's entries", proof.entries, proof.expected, 1e-10);
  out.require("residual of the last system", found.residual, 0, 1e-6, 1);
  // Both values estimate the same eigenvalue. The error of the quotient is the square of the error of the vector.
  out.require("eigenvalue estimate against Rayleigh's quotient", found.value, proof.quotient, 1e-3);
  return out;
}

}  // namespace steelyard::npb::cg
