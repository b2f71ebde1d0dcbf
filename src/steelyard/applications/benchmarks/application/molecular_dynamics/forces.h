// The forces of the particles in a neighbour list on one particle: a vector register computes several of them at once.
#pragma once
#include "domain.h"

namespace steelyard::md {

// Floating-point operations of `pull` for each place of a list: 3 differences, 5 for the square, 1 division, 7 for the
// force, 6 for the sum.
constexpr double flops_of_place = 22;

// The coordinates of four points, as three vectors.
inline void transpose_positions(const std::uint32_t* list, const Point* points, Four& x, Four& y, Four& z) {
  const Four& a = four(points[list[0]]);
  const Four& b = four(points[list[1]]);
  const Four& c = four(points[list[2]]);
  const Four& d = four(points[list[3]]);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
  const Four ab_y = __builtin_shufflevector(a, b, 1, 5, 3, 7), cd_y = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  x = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  y = __builtin_shufflevector(ab_y, cd_y, 0, 1, 4, 5);
  z = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
// The coordinates of as many points as a vector has lanes.
inline void load(const std::uint32_t* list, const Point* points, Lanes& x, Lanes& y, Lanes& z) {
#if defined(__AVX512F__)
  Four low[3], high[3];
  transpose_positions(list, points, low[0], low[1], low[2]);
  transpose_positions(list + 4, points, high[0], high[1], high[2]);
  x = __builtin_shufflevector(low[0], high[0], 0, 1, 2, 3, 4, 5, 6, 7);
  y = __builtin_shufflevector(low[1], high[1], 0, 1, 2, 3, 4, 5, 6, 7);
  z = __builtin_shufflevector(low[2], high[2], 0, 1, 2, 3, 4, 5, 6, 7);
#else
  transpose_positions(list, points, x, y, z);
#endif
}
inline double total(const Lanes& v) {
  double sum = 0;
  for (std::size_t i = 0; i < lanes; i += 2) sum += v[i] + v[i + 1];
  return sum;
}

// Returns the force of `count` points on `self`; `count` is a multiple of `lanes`.
inline void add_pair_forces(const Point& self, Point& force, const std::uint32_t* list, std::size_t count,
                            const Point* points) {
  const Lanes sx = self.c[0] - Lanes{}, sy = self.c[1] - Lanes{}, sz = self.c[2] - Lanes{};
  Lanes fx{}, fy{}, fz{};
  for (std::size_t g = 0; g < count; g += lanes) {
    Lanes x, y, z;
    load(list + g, points, x, y, z);
    const Lanes dx = sx - x, dy = sy - y, dz = sz - z;
    const Lanes r2 = dx * dx + dy * dy + dz * dz;
    const Lanes inverse = 1.0 / r2, s6 = inverse * inverse * inverse;
    const Lanes strength = s6 * (48.0 * s6 - 24.0) * inverse;
    const Lanes counted = r2 < cutoff * cutoff ? strength : Lanes{};
    fx += counted * dx, fy += counted * dy, fz += counted * dz;
  }
  force.c = {total(fx), total(fy), total(fz), 0};
}

}  // namespace steelyard::md
