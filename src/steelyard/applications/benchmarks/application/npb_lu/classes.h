// NPB LU: the classes and their published values, problems larger by a factor (`scale`), and the verification
// (NPB 3.4.1; NAS-95-020).
#pragma once
#include <array>
#include <cmath>
#include <string>

#include "../npb/problem.h"
#include "../npb/verification.h"

namespace steelyard::npb::lu {

constexpr std::string_view known_classes = "SWABCD";

struct Class {
  char letter;
  int n;             // grid points in each direction, with the boundary
  double time_step;  // dt
  int steps;         // itmax
  std::array<double, 5> residual, error;
  double surface;
  bool published = true;
};

inline constexpr std::array<Class, 6> classes{{
    {'S',
     12,
     0.5,
     50,
     {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03,
      3.4264073155896461e-02},
     {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05,
      1.3103347914111294e-03},
     7.8418928865937083e+00},
    {'W',
     33,
     1.5e-3,
     300,
     {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01, 0.2826799444189e+02},
     {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01, 0.1084277417792e+01},
     0.1161399311023e+02},
    {'A',
     64,
     2.0,
     250,
     {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02,
      1.8384760349464247e+03},
     {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00, 6.7139225687777051e+00,
      7.0715315688392578e+01},
     2.6030925604886277e+01},
    {'B',
     102,
     2.0,
     250,
     {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02,
      7.3087969592545314e+03},
     {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01, 2.5905394567832939e+01,
      2.6054907504857413e+02},
     4.7887162703308227e+01},
    {'C',
     162,
     2.0,
     250,
     {1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03, 2.19194343857831427e+03,
      1.78078057261061185e+04},
     {2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01, 4.82262643154045421e+01,
      4.55902910043250358e+02},
     6.66404553572181300e+01},
    {'D',
     408,
     1.0,
     300,
     {0.4868417937025e+05, 0.4696371050071e+04, 0.1218114549776e+05, 0.1033801493461e+05, 0.7142398413817e+05},
     {0.3752393004482e+03, 0.3084128893659e+02, 0.9434276905469e+02, 0.8230686681928e+02, 0.7002620636210e+03},
     0.8334101392503e+02},
}};

// Returns the class, or a cube with about `scale` times its inner points.
inline Class class_of(const Problem& problem) {
  for (Class c : classes) {
    if (c.letter != problem.letter) continue;
    if (problem.scale == 1) return c;
    c.n = 2 + static_cast<int>(std::lround((c.n - 2) * std::cbrt(static_cast<double>(problem.scale))));
    c.published = false;
    return c;
  }
  throw CaseError(join({"class='", problem.letter, "' has no published values"}));
}

// Returns NPB's own count of operations in a whole timed region.
inline double counted_operations(const Class& c) {
  double n = c.n;
  return c.steps * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010);
}

// The results of a run that are verified: norms of the residual and of the error, and the surface integral of the
// pressure. If no values are published: the norms computed point by point, and the defect of one more step.
struct RunResults {
  bool computed = false, proved = false;
  std::array<double, 5> residual{}, error{}, by_points{};
  double surface = 0, left = 0;
};

inline Verification verification_of(const Class& c, const RunResults& outcome) {
  Verification out{1e-8, {}, c.published};
  if (!outcome.computed) return out;
  for (std::size_t m = 0; m < 5; ++m) {
    std::string name = join({"residual ", m + 1});
    if (c.published)
      out.quantities.emplace_back(name, outcome.residual[m], c.residual[m]);
    else
      out.require(join({name, ", point by point"}), outcome.residual[m], outcome.by_points[m], 1e-8);
  }
  if (!c.published) {
    out.require("what is left of a step's equations", outcome.left, 0, 1e-6, 1);
    return out;
  }
  for (std::size_t m = 0; m < 5; ++m)
    out.quantities.emplace_back(join({"error ", m + 1}), outcome.error[m], c.error[m]);
  out.quantities.emplace_back("surface integral", outcome.surface, c.surface);
  return out;
}

}  // namespace steelyard::npb::lu
