// FT's cube of complex numbers: how its parts lie in memory, and what is done with a plane or a line of it.
//
// Planes of z are transformed along x and y, each by one worker in its own cache; lines along z then, eight neighbours
// in x side by side. Ranks hold planes of z first and planes of y then, and exchange all between. In memory eight real
// parts stand before eight imaginary ones, rows are a block longer than their numbers, and planes, too: so that the
// numbers of a line do not all fall into the same places of the caches.
#pragma once
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>

#include "../npb/generator.h"
#include "classes.h"
#include "lines.h"

namespace steelyard::npb {

// Where the numbers lie that one of `ranks` holds (1: threads that share all); offsets in doubles.
struct Layout {
  std::size_t nx, ny, nz, ranks, me;
  std::size_t own_y, own_z;           // planes of y, and of z, that this rank has
  std::size_t row, plane, segment;    // from row to row, from plane to plane; what one rank sends another
  std::size_t volume;                 // of one whole array
  std::size_t modes, planes, packed;  // the arrays: by planes of y; by planes of z; what is sent (of ranks only)
  std::size_t doubles;

  Layout(const FtClass& c, std::size_t parts, std::size_t index)
      : nx(c.nx), ny(c.ny), nz(c.nz), ranks(parts), me(index), own_y(ny / ranks), own_z(nz / ranks) {
    row = (nx / lanes + 1) * block;
    plane = own_y * row + block;
    segment = own_z * plane;
    volume = ranks * segment;
    constexpr std::size_t gap = 17 * block;  // so that the arrays, too, begin at different places of the caches
    modes = 0, planes = volume + gap, packed = 2 * planes;
    doubles = ranks == 1 ? 2 * planes : 3 * planes;
  }
  std::size_t blocks() const { return nx / lanes; }
  // Of every z, by planes of y.
  Offsets along_z() const {
    Offsets out(nz);
    for (std::size_t z = 0; z < nz; ++z) out[z] = modes + z * plane;
    return out;
  }
  // The same on their way to planes of z: those of other ranks are packed.
  Offsets leaving_z() const {
    Offsets out(nz);
    for (std::size_t z = 0; z < nz; ++z)
      out[z] = z / own_z == me ? planes + z % own_z * plane + me * segment : packed + z * plane;
    return out;
  }
  // Of every y, by planes of z.
  Offsets along_y() const {
    Offsets out(ny);
    for (std::size_t y = 0; y < ny; ++y) out[y] = planes + y / own_y * segment + y % own_y * row;
    return out;
  }
  // The same where they are to go to planes of y: one's own lie there already.
  Offsets starting_y() const {
    Offsets out = along_y();
    for (std::size_t y = 0; y < ny; ++y)
      if (y / own_y == me) out[y] -= planes - modes;
    return out;
  }
};

// Numbers of the initial state, row by row, sixteen at a time.
struct RandomRows {
  std::uint64_t multipliers[block], factor = Generator::power(block);  // as they stand in a block
  RandomRows() {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (std::size_t part = 0; part < 2; ++part)
        multipliers[part * lanes + lane] = Generator::power(2 * lane + part + 1);
  }
  // The row that begins with number `first` (complex, from 0) of all.
  void fill(double* row, std::size_t length, std::size_t first) const {
    Generator generator;
    generator.skip(2 * first);
    std::uint64_t states[block];
    for (std::size_t i = 0; i < block; ++i) states[i] = generator.state() * multipliers[i];
    for (double* end = row + 2 * length; row < end; row += block)
      for (std::size_t i = 0; i < block; ++i) {
        row[i] = static_cast<double>(static_cast<std::int64_t>(states[i] & Generator::mask)) * Generator::scale;
        states[i] *= factor;
      }
  }
};

// exp(-4 alpha pi^2 k^2 t) along one direction, k wrapped to −n/2 … n/2 − 1, t rising by one from step to step.
class Damping {
 public:
  explicit Damping(std::size_t n) : each_(n), factors_(n) {}
  void start() {
    constexpr double alpha = 1e-6, pi = std::numbers::pi;
    for (std::size_t i = 0; i < each_.size(); ++i) {
      double k = static_cast<double>(i) - (i < each_.size() / 2 ? 0.0 : static_cast<double>(each_.size()));
      each_[i] = std::exp(-4 * alpha * pi * pi * k * k), factors_[i] = 1;
    }
  }
  // Below 1e-90 nothing of a mode is left in sixteen digits, and numbers that are not normal would be slow.
  void advance() {
    for (std::size_t i = 0; i < each_.size(); ++i) {
      factors_[i] *= each_[i];
      if (factors_[i] < 1e-90) factors_[i] = 0;
    }
  }
  const double* data() const { return factors_.data(); }
  double operator[](std::size_t i) const { return factors_[i]; }

 private:
  std::vector<double> each_, factors_;
};

class Cube {
 public:
  static constexpr std::size_t points = 1024;                   // of each checksum
  static constexpr std::size_t cached = std::size_t{16} << 20;  // bytes of an array that caches may well hold

  Cube(const FtClass& c, std::size_t ranks, std::size_t me)
      : layout(c, ranks, me),
        along_x_(c.nx),
        along_y_(c.ny),
        along_z_(c.nz),
        damping_x_(c.nx),
        damping_y_(c.ny),
        damping_z_(c.nz),
        from_z_(layout.along_z()),
        forward_z_(along_z_.targets(from_z_)),
        inverse_z_(along_z_.targets(layout.leaving_z())),
        from_y_(layout.along_y()),
        inverse_y_(along_y_.targets(from_y_)),
        start_y_(layout.starting_y()),
        forward_y_(along_y_.targets(start_y_)),
        streaming_(layout.volume * sizeof(double) > cached),
        points_(layout.own_z),
        values_(points) {
    for (std::size_t j = 1; j <= points; ++j) {
      std::size_t x = j % c.nx, y = 3 * j % c.ny, z = 5 * j % c.nz;
      if (z / layout.own_z != me) continue;
      std::size_t plane = z % layout.own_z;
      points_[plane].push_back({j - 1, from_y_[y] + plane * layout.plane + x / lanes * block + x % lanes});
    }
  }
  // Doubles of a worker's own memory.
  std::size_t work() const { return block * std::max({layout.nx / lanes, layout.ny, layout.nz}); }

  // The tables of roots and of damping; `data` are all arrays.
  void start(double* data) {
    data_ = data;
    along_x_.compute_roots(), along_y_.compute_roots(), along_z_.compute_roots();
    damping_x_.start(), damping_y_.start(), damping_z_.start();
    advance();
  }
  // The factors of the next step.
  void advance() { damping_x_.advance(), damping_y_.advance(), damping_z_.advance(); }

  // Plane `z` of this rank's: its random numbers, transformed along x and y.
  void start_plane(std::size_t z, double* work) const {
    std::size_t at = z * layout.plane, whole_z = layout.me * layout.own_z + z;
    for (std::size_t y = 0; y < layout.ny; ++y) {
      double* row = data_ + start_y_[y] + at;
      random_.fill(row, layout.nx, (whole_z * layout.ny + y) * layout.nx);
      if (spoiled_ && y == 0 && whole_z == 0) row[0] += 1e-3;
      along_x_.transform(row, 0, work);
    }
    columns(at, start_y_, forward_y_, work);
  }
  // Plane `z`, transformed back along x and y; and the values of its points.
  void plane(std::size_t z, double* work) {
    std::size_t at = z * layout.plane;
    for (std::size_t y = 0; y < layout.ny; ++y) along_x_.transform(data_ + from_y_[y] + at, layout.row, work);
    columns(at, from_y_, inverse_y_, work);
    for (const Point& p : points_[z]) values_[p.number] = {data_[p.offset + lanes], data_[p.offset]};
  }
  // Plane `y` of this rank's: the last direction of the transform, in place; imaginary parts first from here on.
  void forward_lines(std::size_t y, std::size_t x, double* work) const {
    double* at = data_ + y * layout.row + x * block;
    along_z_.transform(From{at, from_z_.data(), next(x)}, work, To<true>{at, forward_z_.data()});
  }
  // A block of lines: its modes damped, and transformed back along z.
  // What is written around the caches must be drained before others read it.
  void inverse_lines(std::size_t y, std::size_t x, double* work) const {
    double* at = data_ + y * layout.row + x * block;
    alignas(64) double lane_factors[lanes];
    double factor = damping_y_[layout.me * layout.own_y + y];
    for (std::size_t i = 0; i < lanes; ++i) lane_factors[i] = damping_x_[x * lanes + i] * factor;
    Weighted source{{at, from_z_.data(), next(x)}, damping_z_.data(), lane_factors};
    if (streaming_)
      along_z_.transform(source, work, To<false, true>{at, inverse_z_.data()});
    else
      along_z_.transform(source, work, To<false>{at, inverse_z_.data()});
  }
  // Mode (x, y, z) of the initial state, y of this rank's planes, as the first step left it.
  std::complex<double> mode(std::size_t x, std::size_t y, std::size_t z) const {
    const double* at = data_ + from_z_[z] + y * layout.row + x / lanes * block + x % lanes;
    return {at[lanes], at[0]};
  }
  // Of the points in this rank's planes.
  std::complex<double> sum() const {
    std::complex<double> out;
    for (const auto& plane : points_)
      for (const Point& p : plane) out += values_[p.number];
    return out / (static_cast<double>(layout.nx) * static_cast<double>(layout.ny) * static_cast<double>(layout.nz));
  }
  // Makes one number of the initial state wrong.
  void spoil() { spoiled_ = true; }
  // Floating-point operations of one whole transform, by all ranks.
  double flops() const {
    double x = static_cast<double>(layout.nx), y = static_cast<double>(layout.ny), z = static_cast<double>(layout.nz);
    return along_x_.flops() * y * z + along_y_.flops() * x * z + along_z_.flops() * x * y;
  }

  const Layout layout;

 private:
  struct Point {
    std::size_t number, offset;
  };
  // The next block of a row, or the first of the next row, behind the block that is left free.
  std::size_t next(std::size_t x) const { return x + 1 < layout.blocks() ? block : 2 * block; }
  void columns(std::size_t at, const Offsets& from, const Offsets& to, double* work) const {
    for (std::size_t x = 0; x < layout.blocks(); ++x) {
      double* base = data_ + at + x * block;
      along_y_.transform(From{base, from.data(), block}, work, To<false>{base, to.data()});
    }
  }

  Row along_x_;
  Lines along_y_, along_z_;
  Damping damping_x_, damping_y_, damping_z_;
  Offsets from_z_, forward_z_, inverse_z_, from_y_, inverse_y_, start_y_, forward_y_;
  bool streaming_;                          // around the caches
  std::vector<std::vector<Point>> points_;  // of each plane
  std::vector<std::complex<double>> values_;
  RandomRows random_;
  double* data_ = nullptr;
  bool spoiled_ = false;
};

// Floating-point operations of a run: the transforms, and three multiplications a number in each step.
inline double flops_of(const Cube& cube, const FtClass& c) {
  double steps = static_cast<double>(c.steps());
  return (steps + 1) * cube.flops() + steps * 3 * static_cast<double>(c.points());
}
// Bytes that memory moves, where no cache holds an array; a number has 16. The start writes the planes (and reads them,
// which stores do that go through the caches); the first lines read and write the modes; in each step the modes are
// read, the planes written around the caches, read and written again. What ranks exchange is read, written, and read
// before it is written.
inline double bytes_of(const Cube& cube, const FtClass& c) {
  double ranks = static_cast<double>(cube.layout.ranks), steps = static_cast<double>(c.steps());
  double exchanged = 3 * (1 - 1 / ranks) * (steps + 1);
  return 16 * static_cast<double>(c.points()) * (4 + 4 * steps + exchanged);
}
inline Work work_of(const Cube& cube, const FtClass& c) {
  return {{"operations", c.operations()},
          {"flops", flops_of(cube, c)},
          {"bytes", bytes_of(cube, c)},
          {"working_set", 2 * 16 * static_cast<double>(c.points())}};
}

}  // namespace steelyard::npb
