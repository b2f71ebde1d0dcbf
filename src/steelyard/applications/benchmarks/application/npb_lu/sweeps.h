// NPB LU: one strip of a triangular sweep (RNR-94-007, section 3.3; the blocks are never formed).
//
// A point gives its three dependent neighbours their shares as soon as its own value is known: the products with the
// off-diagonal blocks need its state and value alone. The diagonal block is lower triangular and solved as it is.
#pragma once
#include "flow.h"
#include "layout.h"

namespace steelyard::npb::lu {

// Numbers of a whole run; `first` and `second` are ωΔt/(2Δ) and ωΔt/Δ².
struct Scalars {
  double first, second;
  double diagonal, momentum, energy, mixed;  // of D: 1 + ..., and what viscosity adds over the density
  double relaxed;                            // 1/(ω(2-ω))

  Scalars(int n, double time_step)
      : first(omega * time_step * (n - 1) / 2), second(omega * time_step * (n - 1.0) * (n - 1.0)) {
    double twice = 2 * second / omega;
    diagonal = 1 + twice * (diffusion[0] + diffusion[1] + diffusion[2]);
    momentum = twice * 10 / 3 * c34;
    energy = twice * 3 * c1345;
    mixed = twice * (3 * (c34 - c1345) + c34 / 3);
    relaxed = 1 / (omega * (2 - omega));
  }
};

// What the Jacobians of a point are made of.
struct Point {
  Pack inverse, w[3], half, energy, enthalpy;  // 1/ρ, velocity, |w|²/2, e/ρ, (e + p)/ρ
  Pack by_momentum, by_energy;                 // inverses of D's diagonal

  // One division for three inverses: it takes as long as some thirty other operations.
  [[gnu::always_inline]] Point(const Five& u, const Scalars& c) {
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

[[gnu::always_inline]] inline Changes changes_of(const Point& p, const Five& x) {
  Changes out;
  out.x1 = x.c[0];
  for (int m = 0; m < 3; ++m) out.y[m] = x.c[1 + m] - p.w[m] * x.c[0];
  out.dot = p.w[0] * out.y[0] + p.w[1] * out.y[1] + p.w[2] * out.y[2];
  out.z = x.c[4] - p.energy * x.c[0];
  return out;
}
// Of D⁻¹ b.
[[gnu::always_inline]] inline Changes solve(const Point& p, const Five& b, const Scalars& c) {
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
[[gnu::always_inline]] inline Five vector_of(const Point& p, const Changes& v) {
  Five x;
  x.c[0] = v.x1;
  for (int m = 0; m < 3; ++m) x.c[1 + m] = v.y[m] + p.w[m] * v.x1;
  x.c[4] = v.z + p.energy * v.x1;
  return x;
}

// The shares of a point's neighbours in x, y and z: ∓ω times the blocks' products with x; side 1 in the forward sweep,
// -1 in the backward one.
template <int side>
[[gnu::always_inline]] inline void shares(const Point& p, const Changes& v, const Five& x, const Scalars& c,
                                          Five (&out)[3]) {
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
[[gnu::always_inline]] inline Five mask_lanes(const Five& x, Mask mask) {
  Five out;
  for (int m = 0; m < 5; ++m) out.c[m] = reinterpret_cast<Pack>(reinterpret_cast<Mask>(x.c[m]) & mask);
  return out;
}
[[gnu::always_inline]] inline void add(Five& to, const Five& x) {
  for (int m = 0; m < 5; ++m) to.c[m] += x.c[m];
}

// Which lanes of a vector are inner points of the block, by s and by strip.
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

// What goes from strip to strip and plane to plane, and over the block's borders.
struct Carried {
  Five* row;       // from the last strip to the next, by s: -lanes + 2..nx + 2 lanes
  Five* vertical;  // from the last plane to the next, by strip and s
  Five* edge;      // out of the block's column that was done last, one lane of each: 0..lanes - 1
  Five* entry;     // values that enter the column of the block that is computed first; one lane of each: 0..lanes - 1
  Five* beside;    // backward: into the row that is done first, by s
};

// v = D⁻¹(scale·given + shares), i ascending; u, given and v by s.
inline void forward_strip(const Layout& at, const Scalars& c, const Masks& masks, const Carried& carried, int b,
                          double scale, const Five* u, const Five* given, Five* v) {
  Five out[3]{};
  Five* vertical = carried.vertical + at.strip() * b;
  const int last = at.last();
  auto step = [&](int s, bool entering) __attribute__((always_inline)) {
    Five sum;
    for (int m = 0; m < 5; ++m) sum.c[m] = scale * given[s].c[m] + vertical[s].c[m];
    if (entering) add(sum, carried.entry[s - 1]);
    Point p(u[s], c);
    for (int m = 0; m < 5; ++m) sum.c[m] += up<1>(carried.row[s + lanes - 1].c[m], out[1].c[m]);
    add(sum, out[0]);
    sum = mask_lanes(sum, masks.at(s, b));
    Changes change = solve(p, sum, c);
    Five x = vector_of(p, change);
    v[s] = x;
    shares<1>(p, change, x, c, out);
    carried.row[s] = out[1], vertical[s] = out[2];
    if (s >= at.nx) carried.edge[s - at.nx] = out[0];
  };
  for (int s = 1; s <= lanes; ++s) step(s, true);
  for (int s = lanes + 1; s <= last; ++s) step(s, false);
}

// v += D⁻¹ shares, i descending, and the state's new value, u += v/(ω(2-ω)): nobody needs the old one any more.
template <bool top>
inline void backward_strip(const Layout& at, const Scalars& c, const Masks& masks, const Carried& carried, int b,
                           const Five* v, Five* u) {
  Five out[3]{};
  Five* vertical = carried.vertical + at.strip() * b;
  const int last = at.last();
  auto step = [&](int s, bool entering) __attribute__((always_inline)) {
    Five sum = vertical[s];
    if (entering) add(sum, carried.entry[s - at.nx]);
    if (top) add(sum, carried.beside[s]);
    Point p(u[s], c);
    Changes before = changes_of(p, v[s]);
    for (int m = 0; m < 5; ++m) sum.c[m] += down<1>(out[1].c[m], top ? Pack{} : carried.row[s - lanes + 1].c[m]);
    add(sum, out[0]);
    sum = mask_lanes(sum, masks.at(s, b));
    Changes change = solve(p, sum, c);
    change.x1 += before.x1, change.dot += before.dot, change.z += before.z;
    for (int m = 0; m < 3; ++m) change.y[m] += before.y[m];
    Five x = vector_of(p, change);
    for (int m = 0; m < 5; ++m) u[s].c[m] += c.relaxed * x.c[m];
    shares<-1>(p, change, x, c, out);
    carried.row[s] = out[1], vertical[s] = out[2];
    if (s <= lanes) carried.edge[s - 1] = out[0];
  };
  for (int s = last; s >= at.nx; --s) step(s, true);
  for (int s = at.nx - 1; s >= 1; --s) step(s, false);
}

}  // namespace steelyard::npb::lu
