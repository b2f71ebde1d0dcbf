// The passes over vectors between two products of CG, each with the sums after it. Lengths are multiples of 8, and
// memory begins at whole cache lines.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>

#include "simd.h"

namespace steelyard::npb::cg {

inline double sum_of(Pack lanes) {
  double sum = 0;
  for (std::size_t i = 0; i < pack_doubles; ++i) sum += lanes[i];
  return sum;
}

// The part of the vectors that one thread or rank owns.
struct OwnRows {
  double *x, *z, *p, *q, *r;
  std::size_t size;

  // Computes z = 0, r = p = x. Returns r·r.
  double start() const {
    Pack sum{};
    for (std::size_t i = 0; i < size; i += pack_doubles) {
      Pack value = pack_at(x + i);
      pack_at(z + i) = Pack{};
      pack_at(r + i) = pack_at(p + i) = value;
      sum += value * value;
    }
    return sum_of(sum);
  }
  // Computes r -= alpha q. Returns r·r.
  double reduce(double alpha) const {
    Pack sum{}, factor = pack_of(alpha);
    for (std::size_t i = 0; i < size; i += pack_doubles) {
      Pack value = pack_at(r + i) - factor * pack_at(q + i);
      pack_at(r + i) = value;
      sum += value * value;
    }
    return sum_of(sum);
  }
  // Computes z += alpha p with the old direction, then p = r + beta p.
  void update_direction(double alpha, double beta) const {
    Pack step = pack_of(alpha), keep = pack_of(beta);
    for (std::size_t i = 0; i < size; i += pack_doubles) {
      Pack direction = pack_at(p + i);
      pack_at(z + i) += step * direction;
      pack_at(p + i) = pack_at(r + i) + keep * direction;
    }
  }
  double direction_dot_product() const {
    Pack sum{};
    for (std::size_t i = 0; i < size; i += pack_doubles) sum += pack_at(p + i) * pack_at(q + i);
    return sum_of(sum);
  }
  // Returns |x - A z|^2, x·z and z·z, with q = A z.
  std::array<double, 3> sum_final_products() const {
    Pack residual{}, product{}, square{};
    for (std::size_t i = 0; i < size; i += pack_doubles) {
      Pack given = pack_at(x + i), found = pack_at(z + i), left = given - pack_at(q + i);
      residual += left * left, product += given * found, square += found * found;
    }
    return {sum_of(residual), sum_of(product), sum_of(square)};
  }
  // Returns x·x, x·q and q·q.
  std::array<double, 3> products_of_x() const {
    Pack square{}, product{}, image{};
    for (std::size_t i = 0; i < size; i += pack_doubles) {
      Pack given = pack_at(x + i), made = pack_at(q + i);
      square += given * given, product += given * made, image += made * made;
    }
    return {sum_of(square), sum_of(product), sum_of(image)};
  }
  void scale(double factor) const {
    for (std::size_t i = 0; i < size; i += pack_doubles) pack_at(x + i) = pack_of(factor) * pack_at(z + i);
  }
};

// The results of one outer iteration.
struct Estimate {
  double value = NAN, residual = NAN;  // residual: |x - A z|
  bool computed = false;
};

}  // namespace steelyard::npb::cg
