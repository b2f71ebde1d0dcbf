// NPB LU: the residual K(u) - forcing of a strip, all three directions at once (RNR-94-007, section 3.2).
//
// Every term is a difference of functions of single points: a neighbour at distance 1 gives its flux, its viscous part
// and a multiple of its state, one at distance 2 a multiple of its state.
#pragma once
#include <array>
#include <vector>

#include "flow.h"
#include "layout.h"

namespace steelyard::npb::lu {

// Returns the factors of the states at distances -2 to 2: second and fourth differences. At the ends of the grid, the
// fourth difference leaves out the boundary (one-sided formulas), so the factors depend on the position.
inline std::array<double, 5> difference_coefficients(int n, int direction, int point) {
  double second = diffusion[static_cast<std::size_t>(direction)] * (n - 1.0) * (n - 1.0);
  bool near_first = point<3, first = point<2, near_last = point> n - 4, last = point> n - 3;
  return {near_first ? 0.0 : -fourth, second + (first ? 0.0 : 4 * fourth),
          -2 * second - (first || last ? 5 * fourth : 6 * fourth), second + (last ? 0.0 : 4 * fourth),
          near_last ? 0.0 : -fourth};
}

// The coefficients of a block: by vector in x, by strip in y, by plane in z.
struct Coefficients {
  std::vector<Fives> x, y;  // x: by s + 1
  std::vector<std::array<double, 5>> z;
  double flux, viscous;  // 1/(2Δ); c3 c4/Δ²

  explicit Coefficients(const Layout& at)
      : x(static_cast<std::size_t>(at.vectors)),
        y(static_cast<std::size_t>(at.strips)),
        flux((at.n - 1) / 2.0),
        viscous(c34 * (at.n - 1.0) * (at.n - 1.0)) {
    auto put = [](Fives& to, int lane, const std::array<double, 5>& from) {
      for (std::size_t o = 0; o < 5; ++o) to.c[o][lane] = from[o];
    };
    for (int l = 0; l < lanes; ++l) {
      for (int v = 0; v < at.vectors; ++v)
        put(x[static_cast<std::size_t>(v)], l, difference_coefficients(at.n, 0, at.first_x + v - 2 - l));
      for (int b = 0; b < at.strips; ++b)
        put(y[static_cast<std::size_t>(b)], l, difference_coefficients(at.n, 1, at.first_y + b * lanes + l));
    }
    for (int k = 0; k < at.n; ++k) z.push_back(difference_coefficients(at.n, 2, k));
  }
};

// Returns the quantities that the fluxes of a point need besides its state: velocity, pressure, and the part of the
// heat flux that is equal in all directions.
[[gnu::always_inline]] inline Fives compute_primitives(const Fives& u) {
  Pack inverse = 1.0 / u.c[0];
  Fives p;
  for (int m = 0; m < 3; ++m) p.c[m] = u.c[1 + m] * inverse;
  Pack square = p.c[0] * p.c[0] + p.c[1] * p.c[1] + p.c[2] * p.c[2];
  p.c[3] = c2 * (u.c[4] - 0.5 * (square * u.c[0]));
  p.c[4] = (0.5 * (1 - c15)) * square + c15 * (u.c[4] * inverse);
  return p;
}

// Adds the contribution of the neighbour at distance 1 in `direction`, on the side `side` (-1 or 1).
template <int direction, int side>
[[gnu::always_inline]] inline void add_neighbour(Fives& sum, const Fives& u, const Fives& p, Pack linear, double flux,
                                                 double viscous) {
  constexpr int own = direction;
  double signed_flux = -side * flux;
  Pack carried = signed_flux * p.c[own], both = carried + linear;
  sum.c[0] += linear * u.c[0];
  sum.c[0] += signed_flux * u.c[1 + own];
  for (int m = 0; m < 3; ++m) {
    sum.c[1 + m] += both * u.c[1 + m];
    sum.c[1 + m] += (m == own ? 4.0 / 3 * viscous : viscous) * p.c[m];
  }
  sum.c[1 + own] += signed_flux * p.c[3];
  sum.c[4] += both * u.c[4];
  sum.c[4] += carried * p.c[3];
  sum.c[4] += viscous * p.c[4];
  sum.c[4] += (viscous / 6 * p.c[own]) * p.c[own];
}
[[gnu::always_inline]] inline void add_far_neighbour(Fives& sum, const Fives& u, Pack linear) {
  for (int m = 0; m < 5; ++m) sum.c[m] += linear * u.c[m];
}
[[gnu::always_inline]] inline void add_centre(Fives& sum, const Fives& u, const Fives& p, Pack linear, double viscous) {
  sum.c[0] = linear * u.c[0];
  for (int m = 0; m < 3; ++m) sum.c[1 + m] = linear * u.c[1 + m] - (20.0 / 3 * viscous) * p.c[m];
  Pack square = p.c[0] * p.c[0] + p.c[1] * p.c[1] + p.c[2] * p.c[2];
  sum.c[4] = linear * u.c[4] - (6 * viscous) * p.c[4] - (viscous / 3) * square;
}
template <int n>
[[gnu::always_inline]] inline Fives shift_up(const Fives& low, const Fives& high) {
  Fives out;
  for (int m = 0; m < 5; ++m) out.c[m] = shift_up<n>(low.c[m], high.c[m]);
  return out;
}
template <int n>
[[gnu::always_inline]] inline Fives shift_down(const Fives& low, const Fives& high) {
  Fives out;
  for (int m = 0; m < 5; ++m) out.c[m] = shift_down<n>(low.c[m], high.c[m]);
  return out;
}

// Holds the primitives of the three strips b - 1, b and b + 1 of a plane. The primitives of the planes above and below
// are computed again when needed: if whole planes were stored, the state would no longer fit into the second cache.
struct PrimitiveWindow {
  const Layout& at;
  Fives* memory;  // three strips and a margin on both sides
  static std::size_t size(const Layout& at) { return static_cast<std::size_t>(3 * at.strip() + 2 * Layout::margin); }
  Fives* strip(int b) const { return memory + Layout::margin + at.strip() * ((b + 1) % 3) + 1; }

  void fill(int k, int b, const Fives* u) const {
    const Fives* from = u + at.at(k, b, 0);
    Fives* to = strip(b);
    for (int s = -1; s < at.vectors - 1; ++s) to[s] = compute_primitives(from[s]);
  }
};

// Computes out[s] = K(u) - forcing[s] for s = 1..last, in strip b of plane k.
inline void compute_residual_strip(const Layout& at, const Coefficients& by, const PrimitiveWindow& window, int k,
                                   int b, const Fives* u, const Fives* forcing, Fives* out) {
  const std::ptrdiff_t strip = at.strip(), plane = at.plane(), up2 = k < at.nz ? 2 * plane : 0,
                       down2 = k > 1 ? 2 * plane : 0;
  const Fives *here = u + at.at(k, b, 0), *south = here - strip, *north = here + strip;
  const Fives *p = window.strip(b), *p_south = window.strip(b - 1), *p_north = window.strip(b + 1);
  const Fives y = by.y[static_cast<std::size_t>(b)];
  const std::array<double, 5> z = by.z[static_cast<std::size_t>(k)];
  const double flux = by.flux, viscous = by.viscous;
  const Pack own = y.c[2] + z[2];
  for (int s = 1; s <= at.last_vector(); ++s) {
    const Fives& x = by.x[static_cast<std::size_t>(s) + 1];
    Fives sum;
    add_centre(sum, here[s], p[s], x.c[2] + own, viscous);
    add_far_neighbour(sum, here[s - 2], x.c[0]);
    add_neighbour<0, -1>(sum, here[s - 1], p[s - 1], x.c[1], flux, viscous);
    add_neighbour<0, 1>(sum, here[s + 1], p[s + 1], x.c[3], flux, viscous);
    add_far_neighbour(sum, here[s + 2], x.c[4]);
    add_far_neighbour(sum, shift_up<2>(south[s + lanes - 2], here[s - 2]), y.c[0]);
    add_neighbour<1, -1>(sum, shift_up<1>(south[s + lanes - 1], here[s - 1]),
                         shift_up<1>(p_south[s + lanes - 1], p[s - 1]), y.c[1], flux, viscous);
    add_neighbour<1, 1>(sum, shift_down<1>(here[s + 1], north[s - lanes + 1]),
                        shift_down<1>(p[s + 1], p_north[s - lanes + 1]), y.c[3], flux, viscous);
    add_far_neighbour(sum, shift_down<2>(here[s + 2], north[s - lanes + 2]), y.c[4]);
    add_far_neighbour(sum, here[s - down2], pack_of(z[0]));
    add_neighbour<2, -1>(sum, here[s - plane], compute_primitives(here[s - plane]), pack_of(z[1]), flux, viscous);
    add_neighbour<2, 1>(sum, here[s + plane], compute_primitives(here[s + plane]), pack_of(z[3]), flux, viscous);
    add_far_neighbour(sum, here[s + up2], pack_of(z[4]));
    for (int m = 0; m < 5; ++m) out[s].c[m] = sum.c[m] - forcing[s].c[m];
  }
}

}  // namespace steelyard::npb::lu
