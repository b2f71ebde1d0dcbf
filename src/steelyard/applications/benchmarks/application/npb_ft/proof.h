// FT: verifies a run by the published checksums, or, for other sizes, by properties that hold for any size.
//
// Each checksum is also computed from the modes of the cube: the sum of a mode over the 1024 points is a geometric
// series that depends only on the sum of its frequencies. To check the modes, the initial state is generated again. Its
// sum, its energy and its numbers at some points must agree with the modes.
#pragma once
#include <cmath>

#include "../npb/verification.h"
#include "cube.h"

namespace steelyard::npb {

class FtProof {
 public:
  using Number = std::complex<double>;

  FtProof(const FtClass& c, const Cube& cube)
      : kind_(c),
        cube_(cube),
        series_(std::max({c.nx, c.ny, c.nz})),
        damping_{make_damping(c.nx), make_damping(c.ny), make_damping(c.nz)},
        points_{Point(c, {0, 0, 0}), Point(c, {c.nx - 1, 1, c.nz / 2}), Point(c, {c.nx / 3, c.ny / 5, c.nz / 7})} {
    std::vector<Number> roots = make_rotations(series_.size(), 1);
    for (std::size_t k = 0; k < series_.size(); ++k)
      for (std::size_t j = 1; j <= Cube::points; ++j) series_[k] += roots[k * j % roots.size()] / total();
  }

  // Returns this rank's sums over planes of z of the initial state and planes of y of the modes; the ranks add them up.
  std::vector<double> sum_planes(std::size_t z0, std::size_t z1, std::size_t y0, std::size_t y1) const {
    Sums out(kind_.steps());
    for (std::size_t z = z0; z < z1; ++z) add_start(out, cube_.layout.me * cube_.layout.own_z + z);
    for (std::size_t y = y0; y < y1; ++y)
      for (std::size_t z = 0; z < kind_.nz; ++z) add_modes(out, y, z);
    return out.doubles();
  }

  // Compares the sums over all planes. `doubles`: these sums.
  Verification verification(const Checksums& computed, const std::vector<double>& doubles) const {
    Verification out{0, {}, false};
    Sums sums(kind_.steps(), doubles);
    require(out, "sum of the initial state", sums.first_mode / total(), sums.start / total(), 1e-12);
    out.require("energy of the modes", sums.energy_of_modes, sums.energy * total(), 1e-12);
    for (std::size_t i = 0; i < points_.size(); ++i)
      require(out, join({"initial state at point ", i + 1}), sums.at_points[i] / total(), points_[i].number, 1e-12);
    for (std::size_t t = 0; t < computed.size(); ++t)
      require(out, join({"part of checksum ", t + 1}), computed[t], sums.checksums[t], 1e-12);
    return out;
  }

 private:
  static constexpr std::size_t some = 3;  // points of the initial state that are compared
  struct Sums {
    Number start{}, first_mode{};
    double energy = 0, energy_of_modes = 0;
    std::array<Number, some> at_points{};
    std::vector<Number> checksums;

    explicit Sums(std::size_t steps) : checksums(steps) {}
    Sums(std::size_t steps, const std::vector<double>& from) : checksums(steps) {
      const double* next = from.data();
      each([&](double& x) { x = *next++; });
    }
    std::vector<double> doubles() {
      std::vector<double> out;
      each([&](double& x) { out.push_back(x); });
      return out;
    }

   private:
    template <class Do>
    void each(Do what) {
      auto parts = [&](Number& x) {
        double pair[] = {x.real(), x.imag()};
        what(pair[0]), what(pair[1]);
        x = {pair[0], pair[1]};
      };
      parts(start), parts(first_mode), what(energy), what(energy_of_modes);
      for (Number& x : at_points) parts(x);
      for (Number& x : checksums) parts(x);
    }
  };
  // A point of the cube, its number in the initial state, and the phase factor of each mode at this point.
  struct Point {
    std::vector<Number> x, y, z;
    Number number;
    Point(const FtClass& c, std::array<std::size_t, 3> at)
        : x(make_rotations(c.nx, at[0])), y(make_rotations(c.ny, at[1])), z(make_rotations(c.nz, at[2])) {
      Generator generator;
      generator.skip(2 * ((at[2] * c.ny + at[1]) * c.nx + at[0]));
      double real = generator.next();
      number = {real, generator.next()};
    }
  };

  // Returns exp(2 pi i k times / n) for each k.
  static std::vector<Number> make_rotations(std::size_t n, std::size_t times) {
    std::vector<Number> out(n);
    for (std::size_t k = 0; k < n; ++k)
      out[k] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k * times % n) / static_cast<double>(n));
    return out;
  }
  // Returns exp(-4 alpha pi^2 k^2 t) for each step t and, within a step, for each k.
  std::vector<double> make_damping(std::size_t n) const {
    std::vector<double> out;
    for (std::size_t t = 1; t <= kind_.steps(); ++t)
      for (std::size_t i = 0; i < n; ++i) {
        double k = static_cast<double>(i) - (i < n / 2 ? 0.0 : static_cast<double>(n)), pi = std::numbers::pi;
        out.push_back(std::exp(-4e-6 * pi * pi * k * k * static_cast<double>(t)));
      }
    return out;
  }
  double total() const { return static_cast<double>(kind_.points()); }
  static void require(Verification& out, const std::string& name, Number value, Number expected, double allowed) {
    double error = std::abs(value - expected) / std::abs(expected);
    out.quantities.emplace_back(join({"real ", name}), value.real(), expected.real(), error, allowed);
    out.quantities.emplace_back(join({"imaginary ", name}), value.imag(), expected.imag(), error, allowed);
  }

  // The sums are long doubles: the generator's low bits repeat so soon that rounding errors do not cancel.
  void add_start(Sums& out, std::size_t z) const {
    Generator generator;
    generator.skip(2 * z * kind_.ny * kind_.nx);
    long double re = 0, im = 0, energy = 0;
    for (std::size_t i = 0; i < kind_.nx * kind_.ny; ++i) {
      double a = generator.next(), b = generator.next();
      re += a, im += b, energy += a * a + b * b;
    }
    out.start += Number(static_cast<double>(re), static_cast<double>(im));
    out.energy += static_cast<double>(energy);
  }
  // Each row has a sum of its own: an addend that is much smaller than the sum would lose its last digits.
  void add_modes(Sums& out, std::size_t own_y, std::size_t z) const {
    const std::size_t y = cube_.layout.me * cube_.layout.own_y + own_y, n = series_.size();
    std::vector<Number> row(kind_.nx);
    double energy = 0;
    for (std::size_t x = 0; x < kind_.nx; ++x) row[x] = cube_.mode(x, own_y, z), energy += std::norm(row[x]);
    out.energy_of_modes += energy;
    if (y == 0 && z == 0) out.first_mode = row[0];
    for (std::size_t i = 0; i < some; ++i) {
      Number sum;
      for (std::size_t x = 0; x < kind_.nx; ++x) sum += row[x] * points_[i].x[x];
      out.at_points[i] += sum * points_[i].y[y] * points_[i].z[z];
    }
    // Point j of a checksum lies at (j, 3 j, 5 j).
    const std::size_t first = 3 * y * (n / kind_.ny) + 5 * z * (n / kind_.nz);
    for (std::size_t x = 0; x < kind_.nx; ++x) row[x] *= series_[(first + x * (n / kind_.nx)) % n];
    for (std::size_t t = 0; t < kind_.steps(); ++t) {
      const double* along_x = damping_[0].data() + t * kind_.nx;
      Number sum;
      for (std::size_t x = 0; x < kind_.nx; ++x) sum += row[x] * along_x[x];
      out.checksums[t] += sum * damping_[1][t * kind_.ny + y] * damping_[2][t * kind_.nz + z];
    }
  }

  const FtClass& kind_;
  const Cube& cube_;
  std::vector<Number> series_;  // by the sum of a mode's frequencies, up to the longest edge
  std::array<std::vector<double>, 3> damping_;
  std::array<Point, some> points_;
};

// Returns both parts of each checksum, with the error of the complex number.
inline Verification compare_published(const FtClass& c, const Checksums& sums) {
  Verification out{1e-12, {}};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::complex<double> published(c.checksums[i][0], c.checksums[i][1]);
    double error = std::abs(sums[i] - published) / std::abs(published);
    std::string name = join({"part of checksum ", i + 1});
    out.quantities.emplace_back(join({"real ", name}), sums[i].real(), published.real(), error);
    out.quantities.emplace_back(join({"imaginary ", name}), sums[i].imag(), published.imag(), error);
  }
  return out;
}

}  // namespace steelyard::npb
