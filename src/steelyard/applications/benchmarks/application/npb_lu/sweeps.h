// NPB LU: one strip of a triangular sweep (RNR-94-007, section 3.3; the blocks are never formed).
//
// A point passes its contributions ("shares") to its three dependent neighbours as soon as its own value is known,
// because the products with the off-diagonal blocks need only its state and value. The diagonal block is triangular.
#pragma once
#include "flow.h"
#include "layout.h"

namespace steelyard::npb::lu {

// The numbers that stay equal during a run; `first` and `second` are ωΔt/(2Δ) and ωΔt/Δ².
struct SweepConstants {
  double first, second;
  double diagonal, momentum, energy, mixed;  // of D: 1 + ..., and the viscous terms, which are divided by the density
  double relaxed;                            // 1/(ω(2-ω))

  SweepConstants(int n, double time_step)
      : first(omega * time_step * (n - 1) / 2), second(omega * time_step * (n - 1.0) * (n - 1.0)) {
    double twice = 2 * second / omega;
    diagonal = 1 + twice * (diffusion[0] + diffusion[1] + diffusion[2]);
    momentum = twice * 10 / 3 * c34;
    energy = twice * 3 * c1345;
    mixed = twice * (3 * (c34 - c1345) + c34 / 3);
    relaxed = 1 / (omega * (2 - omega));
  }
};

// The quantities of one point from which its Jacobians follow.
struct JacobianTerms {
  Pack inverse, w[3], half, energy, enthalpy;  // 1/ρ, velocity, |w|²/2, e/ρ, (e + p)/ρ
  Pack by_momentum, by_energy;                 // inverses of D's diagonal

  // Divides once for three inverses, because a division takes as long as some thirty other operations.
  [[gnu::always_inline]] JacobianTerms(const Fives& u, const SweepConstants& c) {
    Pack rho = u.c[0], a = c.diagonal * rho + c.momentum, b = c.diagonal * rho + c.energy, ab = a * b;
    Pack common = 1.0 / (rho * ab), squared = rho * rho * common;
    inverse = ab * common;
    by_momentum = squared * b, by_energy = squared * a;
    for (int m = 0; m < 3; ++m) w[m] = u.c[1 + m] * inverse;
    half = 0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    energy = u.c[4] * inverse;
    enthalpy = c1 * energy - c2 * half;
  }
};

// A vector of the sweep in the variables in which D is diagonal: x itself, w-velocity changes y = x_m - w_m x_1,
// Σ w y, and z = x_5 - e/ρ x_1.
struct Changes {
  Pack x1, y[3], dot, z;
};

[[gnu::always_inline]] inline Changes transform_to_changes(const JacobianTerms& p, const Fives& x) {
  Changes out;
  out.x1 = x.c[0];
  for (int m = 0; m < 3; ++m) out.y[m] = x.c[1 + m] - p.w[m] * x.c[0];
  out.dot = p.w[0] * out.y[0] + p.w[1] * out.y[1] + p.w[2] * out.y[2];
  out.z = x.c[4] - p.energy * x.c[0];
  return out;
}
// Returns D⁻¹ b in these variables.
[[gnu::always_inline]] inline Changes solve(const JacobianTerms& p, const Fives& b, const SweepConstants& c) {
  Changes out;
  out.x1 = (1 / c.diagonal) * b.c[0];
  Pack scaled[3];
  for (int m = 0; m < 3; ++m) scaled[m] = p.by_momentum * p.w[m];
  for (int m = 0; m < 3; ++m) out.y[m] = p.by_momentum * b.c[1 + m] - scaled[m] * b.c[0];
  out.dot = p.w[0] * out.y[0] + p.w[1] * out.y[1] + p.w[2] * out.y[2];
  Pack rest = p.by_energy * (b.c[4] - p.energy * b.c[0]);
  out.z = rest - (c.mixed * p.inverse * p.by_energy) * out.dot;
  return out;
}
[[gnu::always_inline]] inline Fives transform_to_vector(const JacobianTerms& p, const Changes& v) {
  Fives x;
  x.c[0] = v.x1;
  for (int m = 0; m < 3; ++m) x.c[1 + m] = v.y[m] + p.w[m] * v.x1;
  x.c[4] = v.z + p.energy * v.x1;
  return x;
}

// Computes the shares of the neighbours in x, y and z: ∓ω times the blocks' products with x. `side`: -1 is backward.
template <int side>
[[gnu::always_inline]] inline void compute_shares(const JacobianTerms& p, const Changes& v, const Fives& x,
                                                  const SweepConstants& c, Fives (&out)[3]) {
  const double first = side * c.first;
  Pack viscous = (c.second * c34) * p.inverse;
  Pack pressure = (first * c2) * (v.z - v.dot + (p.energy - p.half) * v.x1);
  Pack total = first * x.c[4] + pressure;
  Pack heat = p.inverse * (c.second * (c34 - c1345) * v.dot + c.second * c1345 * v.z);
  Pack drag[3];
  for (int m = 0; m < 3; ++m) drag[m] = viscous * v.y[m];
  for (int d = 0; d < 3; ++d) {
    const double spread = c.second * diffusion[static_cast<std::size_t>(d)];
    Pack moved = first * v.y[d], carried = first * p.w[d], extra = (1.0 / 3) * drag[d];
    out[d].c[0] = spread * x.c[0] + first * x.c[1 + d];
    for (int m = 0; m < 3; ++m)
      out[d].c[1 + m] = (spread * x.c[1 + m] + drag[m]) + carried * x.c[1 + m] + p.w[m] * moved;
    out[d].c[1 + d] += pressure + extra;
    out[d].c[4] = (spread * x.c[4] + heat) + p.enthalpy * moved + p.w[d] * (total + extra);
  }
}

typedef long long Mask __attribute__((vector_size(pack_bytes), may_alias));
[[gnu::always_inline]] inline Fives mask_lanes(const Fives& x, Mask mask) {
  Fives out;
  for (int m = 0; m < 5; ++m) out.c[m] = reinterpret_cast<Pack>(reinterpret_cast<Mask>(x.c[m]) & mask);
  return out;
}
[[gnu::always_inline]] inline void add(Fives& to, const Fives& x) {
  for (int m = 0; m < 5; ++m) to.c[m] += x.c[m];
}

// Masks that select the lanes of a vector that are inner points of the block, by s and by strip.
class Masks {
 public:
  explicit Masks(const Layout& at) : x_(static_cast<std::size_t>(at.vectors)), y_(static_cast<std::size_t>(at.strips)) {
    for (int l = 0; l < lanes; ++l) {
      for (int v = 0; v < at.vectors; ++v) {
        int i = v - 1 - l;
        x_[static_cast<std::size_t>(v)].mask[l] = i >= 1 && i <= at.nx ? -1 : 0;
      }
      for (int b = 0; b < at.strips; ++b) y_[static_cast<std::size_t>(b)].mask[l] = b * lanes + l < at.ny ? -1 : 0;
    }
  }
  Mask at(int s, int b) const {
    return x_[static_cast<std::size_t>(s) + 1].mask & y_[static_cast<std::size_t>(b)].mask;
  }

 private:
  struct Lanes {
    Mask mask;
  };
  std::vector<Lanes> x_, y_;
};

// The shares that pass from strip to strip, from plane to plane, and over the block's borders.
struct CarriedShares {
  Fives* row;       // from the last strip to the next, by s: -lanes + 2..nx + 2 lanes
  Fives* vertical;  // from the last plane to the next, by strip and s
  Fives* edge;      // out of the block's column that was done last, one lane of each: 0..lanes - 1
  Fives* entry;     // values that enter the column of the block that is computed first; one lane of each: 0..lanes - 1
  Fives* beside;    // backward sweep: shares that enter the row that is computed first, by s
};

// Computes v = D⁻¹(scale·given + shares) with ascending i. The index of u, given and v is s.
inline void sweep_strip_forward(const Layout& at, const SweepConstants& c, const Masks& masks,
                                const CarriedShares& carried, int b, double scale, const Fives* u, const Fives* given,
                                Fives* v) {
  Fives out[3]{};
  Fives* vertical = carried.vertical + at.strip() * b;
  const int last = at.last_vector();
  auto step = [&](int s, bool entering) __attribute__((always_inline)) {
    Fives sum;
    for (int m = 0; m < 5; ++m) sum.c[m] = scale * given[s].c[m] + vertical[s].c[m];
    if (entering) add(sum, carried.entry[s - 1]);
    JacobianTerms p(u[s], c);
    for (int m = 0; m < 5; ++m) sum.c[m] += shift_up<1>(carried.row[s + lanes - 1].c[m], out[1].c[m]);
    add(sum, out[0]);
    sum = mask_lanes(sum, masks.at(s, b));
    Changes change = solve(p, sum, c);
    Fives x = transform_to_vector(p, change);
    v[s] = x;
    compute_shares<1>(p, change, x, c, out);
    carried.row[s] = out[1], vertical[s] = out[2];
    if (s >= at.nx) carried.edge[s - at.nx] = out[0];
  };
  for (int s = 1; s <= lanes; ++s) step(s, true);
  for (int s = lanes + 1; s <= last; ++s) step(s, false);
}

// Adds D⁻¹ shares to v with descending i, and updates the state, u += v/(ω(2-ω)), since the old one is not needed.
template <bool top>
inline void sweep_strip_backward(const Layout& at, const SweepConstants& c, const Masks& masks,
                                 const CarriedShares& carried, int b, const Fives* v, Fives* u) {
  Fives out[3]{};
  Fives* vertical = carried.vertical + at.strip() * b;
  const int last = at.last_vector();
  auto step = [&](int s, bool entering) __attribute__((always_inline)) {
    Fives sum = vertical[s];
    if (entering) add(sum, carried.entry[s - at.nx]);
    if (top) add(sum, carried.beside[s]);
    JacobianTerms p(u[s], c);
    Changes before = transform_to_changes(p, v[s]);
    for (int m = 0; m < 5; ++m) sum.c[m] += shift_down<1>(out[1].c[m], top ? Pack{} : carried.row[s - lanes + 1].c[m]);
    add(sum, out[0]);
    sum = mask_lanes(sum, masks.at(s, b));
    Changes change = solve(p, sum, c);
    change.x1 += before.x1, change.dot += before.dot, change.z += before.z;
    for (int m = 0; m < 3; ++m) change.y[m] += before.y[m];
    Fives x = transform_to_vector(p, change);
    for (int m = 0; m < 5; ++m) u[s].c[m] += c.relaxed * x.c[m];
    compute_shares<-1>(p, change, x, c, out);
    carried.row[s] = out[1], vertical[s] = out[2];
    if (s <= lanes) carried.edge[s - 1] = out[0];
  };
  for (int s = last; s >= at.nx; --s) step(s, true);
  for (int s = at.nx - 1; s >= 1; --s) step(s, false);
}

}  // namespace steelyard::npb::lu
