// Proves that a run is right: the energy and the enstrophy of the vortex are known as a series in time.
#pragma once
#include <string>

#include "flow.h"
#include "json.h"

namespace steelyard::turbulence {

// Coefficients of the enstrophy in powers of time, for a viscosity of 1/1600, in double precision. They follow from a
// recursion of the equations with all modes. Without viscosity the first two are 3/8 and 5/128, as in M.
// Brachet and others, J. Fluid Mech. 130 (1983). tests/applications/test_turbulence.py computes them again.
constexpr double enstrophy_series[] = {0.375,
                                       -0.00140625,
                                       0.03906513671875,
                                       -0.00039062829589843752,
                                       0.0029611469646488,
                                       -6.00976916249649e-05,
                                       -0.000138659940112047,
                                       -1.18645684871553e-06,
                                       3.05846145310577e-05,
                                       -9.16681766292305e-07,
                                       -4.800143447602983e-06,
                                       8.753549182958712e-08,
                                       6.192381848263516e-07,
                                       -1.8027310592829e-08,
                                       -6.453871681608e-08,
                                       1.7158983708846e-09,
                                       5.763347429074e-09};
constexpr double longest = 0.5;  // time up to which the truncation error of the series is below 1e-14

inline double enstrophy_at(double time) {
  double sum = 0, power = 1;
  for (double c : enstrophy_series) sum += c * power, power *= time;
  return sum;
}
// The energy loss per time is the heat: twice the viscosity times the enstrophy.
inline double energy_at(double time) {
  double sum = 1.0 / 8, power = time, n = 1;
  for (double c : enstrophy_series) sum -= 2 * viscosity * c * power / n, power *= time, ++n;
  return sum;
}

struct Proof {
  double time = 0;
  Sums sums;

  double energy_error() const { return std::fabs(sums.energy() / energy_at(time) - 1); }
  double enstrophy_error() const { return std::fabs(sums.enstrophy / enstrophy_at(time) - 1); }
  // The divergence, relative to the vorticity: zero except for rounding.
  double divergence() const { return std::sqrt(sums.divergence / sums.square); }
  // The directions x and y are equal except for a rotation.
  double anisotropy() const { return std::fabs(sums.energy_x / sums.energy_y - 1); }

  Check check(double allowed) const {
    std::string wrong = describe_error("the energy's difference from its series", energy_error(), allowed);
    if (wrong.empty()) wrong = describe_error("the enstrophy's difference from its series", enstrophy_error(), allowed);
    if (wrong.empty()) wrong = describe_error("the divergence", divergence(), 1e-13);
    if (wrong.empty()) wrong = describe_error("the difference of the energies along x and y", anisotropy(), 1e-12);
    if (!wrong.empty()) return {false, wrong};
    return {true, join({"energy and enstrophy differ from their series by ", energy_error(), " and ", enstrophy_error(),
                        ", allowed ", allowed, "; divergence ", divergence()})};
  }

 private:
  // NaN counts as an error beyond every bound.
  static std::string describe_error(const std::string& what, double value, double allowed) {
    if (value <= allowed) return "";
    return join({what, " is ", value, ", allowed ", allowed});
  }
};

}  // namespace steelyard::turbulence
