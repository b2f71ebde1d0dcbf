// The forces of a list of neighbours on one particle, four of them at a time.
#pragma once
#include "domain.h"

namespace steelyard::md {

// Floating-point operations for each place of a list as `pull` carries them out: 3 differences, 5 for the square, 1
// division, 7 for the force, 6 for the sum.
constexpr double flops_of_place = 22;

inline void pull(const Point& self, Point& force, const std::uint32_t* list, std::size_t count, const Point* points) {
  const Four at = four(self);
  const Four sx = at[0] - Four{}, sy = at[1] - Four{}, sz = at[2] - Four{};
  Four fx{}, fy{}, fz{};
  for (std::size_t g = 0; g < count; g += 4) {
    const Four& a = four(points[list[g]]);
    const Four& b = four(points[list[g + 1]]);
    const Four& c = four(points[list[g + 2]]);
    const Four& d = four(points[list[g + 3]]);
    // Four points become four x, four y, four z.
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    const Four ab_y = __builtin_shufflevector(a, b, 1, 5, 3, 7), cd_y = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    const Four dx = sx - __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    const Four dy = sy - __builtin_shufflevector(ab_y, cd_y, 0, 1, 4, 5);
    const Four dz = sz - __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    const Four r2 = dx * dx + dy * dy + dz * dz;
    const Four inverse = 1.0 / r2, s6 = inverse * inverse * inverse;
    const Four strength = s6 * (48.0 * s6 - 24.0) * inverse;
    const Four counted = r2 < cutoff * cutoff ? strength : Four{};
    fx += counted * dx, fy += counted * dy, fz += counted * dz;
  }
  force.c = {fx[0] + fx[1] + (fx[2] + fx[3]), fy[0] + fy[1] + (fy[2] + fy[3]), fz[0] + fz[1] + (fz[2] + fz[3]), 0};
}

}  // namespace steelyard::md
