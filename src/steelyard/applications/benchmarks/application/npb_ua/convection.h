// The explicit half of a time step: fourth-order Runge-Kutta for convection and source, in each element alone.
#pragma once
#include <array>
#include <numbers>

#include "blocks.h"

namespace steelyard::npb::ua {

// The source: cos(pi r/radius) + 1 at the distance r < radius from its centre, and 0 outside.
class Source {
 public:
  Source(const Block& block, const Point& centre, double radius) {
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t i = 0; i < side; ++i) {
        Pack off = (block.origin[d] + block.edge * ((1 + abscissa[i]) / 2) - centre[d]) * (std::numbers::pi / radius);
        square_[d][i] = off * off;
      }
  }
  Pack at(int node) const {
    auto n = static_cast<std::size_t>(node);
    return evaluate_source(square_[0][n % side] + square_[1][n / side % side] + square_[2][n / (side * side)]);
  }
  // Returns whether an element of the block is nearer to the centre than `reach`.
  static bool reaches(const Block& block, const Point& centre, double reach) {
    Pack square{};
    for (std::size_t d = 0; d < 3; ++d) {
      Pack below = block.origin[d] - centre[d], above = -below - block.edge;
      Pack gap = below > 0.0 ? below : (above > 0.0 ? above : Pack{});
      square += gap * gap;
    }
    for (int lane = 0; lane < lanes; ++lane)
      if (square[lane] < reach * reach) return true;
    return false;
  }

 private:
  // cos(sqrt(s)) + 1 by its Taylor series in s: for s up to pi^2 the first term left out is below 1e-16 of the largest.
  static constexpr int terms = 15;
  static constexpr std::array<double, terms> series = [] {
    std::array<double, terms> out{1};
    for (std::size_t k = 1; k < terms; ++k) out[k] = -out[k - 1] / static_cast<double>((2 * k) * (2 * k - 1));
    return out;
  }();
  static Pack evaluate_source(Pack s) {
    Pack sum = pack_of(series[terms - 1]);
    for (std::size_t k = terms - 1; k-- > 0;) sum = sum * s + series[k];
    return s <= std::numbers::pi * std::numbers::pi ? sum + 1 : Pack{};
  }

  Pack square_[3][side];  // by direction and node: squared distances in units of radius/pi
};

// Advances `temperature` (125 packs) by dt times the mean slope. The values on the boundary stay 0.
class Convection {
 public:
  Convection(const Block& block, double radius, double dt) : block_(block), radius_(radius), dt_(dt) {}

  void advance(double* temperature, double time) {
    Point middle = centre_at(time + dt_ / 2);
    bool near = Source::reaches(block_, middle, radius_ + velocity * dt_);  // velocity * dt_ exceeds sqrt(3) v dt/2
    for (int n = 0; n < nodes; ++n) stage_[n] = pack_at(temperature + n * lanes);
    if (near)
      run_stages<true>(temperature, time);
    else
      run_stages<false>(temperature, time);
    if (block_.at_boundary) clear_boundary(temperature);
  }

 private:
  template <bool near>
  void run_stages(double* temperature, double time) {
    slope<near>(time, [&](int n, Pack k) {
      mean_[n] = k;
      stage_[n] = pack_at(temperature + n * lanes) + dt_ / 2 * k;
    });
    slope<near>(time + dt_ / 2, [&](int n, Pack k) {
      mean_[n] += 2 * k;
      stage_[n] = pack_at(temperature + n * lanes) + dt_ / 2 * k;
    });
    slope<near>(time + dt_ / 2, [&](int n, Pack k) {
      mean_[n] += 2 * k;
      stage_[n] = pack_at(temperature + n * lanes) + dt_ * k;
    });
    slope<near>(time + dt_, [&](int n, Pack k) { pack_at(temperature + n * lanes) += dt_ / 6 * (mean_[n] + k); });
  }

  template <bool near, class Use>
  void slope(double time, Use use) {
    if constexpr (near) {
      Source source(block_, centre_at(time), radius_);
      derive_all<derivative>(stage_, partial_, [&](int n, Pack sum) { use(n, block_.advection * sum + source.at(n)); });
    } else {
      derive_all<derivative>(stage_, partial_, [&](int n, Pack sum) { use(n, block_.advection * sum); });
    }
  }

  void clear_boundary(double* temperature) const {
    for (std::size_t n = 0; n < nodes; ++n) {
      std::array<std::size_t, 3> i = {n % side, n / side % side, n / (side * side)};
      for (std::size_t d = 0; d < 3; ++d)
        if (i[d] % (side - 1) == 0) pack_at(temperature + n * lanes) *= block_.inner[d][i[d] / (side - 1)];
    }
  }

  const Block& block_;
  double radius_, dt_;
  Pack stage_[nodes], partial_[nodes], mean_[nodes];
};

}  // namespace steelyard::npb::ua
