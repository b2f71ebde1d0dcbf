// FT's cube of complex numbers: the layout of its parts in memory, and the operations on a plane or a line.
//
// Each plane of z is transformed along x and y by one worker in its own cache. Then lines along z are transformed,
// eight neighbours in x side by side. Ranks hold planes of z, then planes of y, and exchange all numbers between. In
// memory, eight real parts stand before eight imaginary parts. Rows and planes are padded by a block, so that the
// numbers of a line do not all use the same sets of the caches.
#pragma once
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>

#include "../npb/generator.h"
#include "classes.h"
#include "lines.h"

namespace steelyard::npb {

// The layout of the numbers that one of `ranks` holds (1: all threads share one array); offsets are in doubles.
struct Layout {
  std::size_t nx, ny, nz, ranks, me;
  std::size_t own_y, own_z;           // planes of y, and of z, on this rank
  std::size_t row, plane, segment;    // distances between rows and between planes; doubles sent to one rank
  std::size_t volume;                 // doubles of a whole array
  std::size_t modes, planes, packed;  // arrays: by planes of y; by planes of z; to send (only with ranks)
  std::size_t doubles;

  Layout(const FtClass& c, std::size_t parts, std::size_t index)
      : nx(c.nx), ny(c.ny), nz(c.nz), ranks(parts), me(index), own_y(ny / ranks), own_z(nz / ranks) {
    row = (nx / lanes + 1) * block;
    plane = own_y * row + block;
    segment = own_z * plane;
    volume = ranks * segment;
    constexpr std::size_t gap = 17 * block;  // the arrays begin in different sets of the caches
    modes = 0, planes = volume + gap, packed = 2 * planes;
    doubles = ranks == 1 ? 2 * planes : 3 * planes;
  }
  std::size_t blocks() const { return nx / lanes; }
  // Returns the offsets of the numbers with every z, in the array by planes of y.
  Offsets along_z() const {
    Offsets out(nz);
    for (std::size_t z = 0; z < nz; ++z) out[z] = modes + z * plane;
    return out;
  }
  // Returns their offsets before the exchange to planes of z: the numbers for other ranks are packed.
  Offsets leaving_z() const {
    Offsets out(nz);
    for (std::size_t z = 0; z < nz; ++z)
      out[z] = z / own_z == me ? planes + z % own_z * plane + me * segment : packed + z * plane;
    return out;
  }
  // Returns the offsets of the numbers with every y, in the array by planes of z.
  Offsets along_y() const {
    Offsets out(ny);
    for (std::size_t y = 0; y < ny; ++y) out[y] = planes + y / own_y * segment + y % own_y * row;
    return out;
  }
  // Returns their offsets before the exchange to planes of y: the numbers of this rank already lie there.
  Offsets starting_y() const {
    Offsets out = along_y();
    for (std::size_t y = 0; y < ny; ++y)
      if (y / own_y == me) out[y] -= planes - modes;
    return out;
  }
};

// Generates the initial state, row by row, sixteen numbers at a time.
struct RandomRows {
  std::uint64_t multipliers[block], factor = Generator::power(block);  // powers of the generator within a block
  RandomRows() {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (std::size_t part = 0; part < 2; ++part)
        multipliers[part * lanes + lane] = Generator::power(2 * lane + part + 1);
  }
  // Generates the row whose first number is `first` (complex numbers, counted from 0).
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

// Damping exp(-4 alpha pi^2 k^2 t) along one direction. k is wrapped to −n/2 … n/2 − 1; t rises by one per step.
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
  // A factor below 1e-90 does not change sixteen digits, and subnormal numbers would be slow.
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
  static constexpr std::size_t points = 1024;                   // points of each checksum
  static constexpr std::size_t cached = std::size_t{16} << 20;  // bytes of an array that caches may hold

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
  // Returns the doubles that a worker needs for itself.
  std::size_t work() const { return block * std::max({layout.nx / lanes, layout.ny, layout.nz}); }

  // Creates the tables of roots and of damping factors. `data` holds all arrays.
  void start(double* data) {
    data_ = data;
    along_x_.compute_roots(), along_y_.compute_roots(), along_z_.compute_roots();
    damping_x_.start(), damping_y_.start(), damping_z_.start();
    advance();
  }
  // Computes the damping factors of the next step.
  void advance() { damping_x_.advance(), damping_y_.advance(), damping_z_.advance(); }

  // Fills plane `z` of this rank with random numbers, and transforms it along x and y.
  void start_plane(std::size_t z, double* work) const {
    std::size_t at = z * layout.plane, whole_z = layout.me * layout.own_z + z;
    for (std::size_t y = 0; y < layout.ny; ++y) {
      double* row = data_ + start_y_[y] + at;
      random_.fill(row, layout.nx, (whole_z * layout.ny + y) * layout.nx);
      if (spoiled_ && y == 0 && whole_z == 0) row[0] += 1e-3;
      along_x_.transform(row, 0, work);
    }
    transform_columns(at, start_y_, forward_y_, work);
  }
  // Transforms plane `z` back along x and y, and adds the values of its points.
  void transform_plane(std::size_t z, double* work) {
    std::size_t at = z * layout.plane;
    for (std::size_t y = 0; y < layout.ny; ++y) along_x_.transform(data_ + from_y_[y] + at, layout.row, work);
    transform_columns(at, from_y_, inverse_y_, work);
    for (const Point& p : points_[z]) values_[p.number] = {data_[p.offset + lanes], data_[p.offset]};
  }
  // Transforms plane `y` of this rank along the last direction, in place. From here on, imaginary parts stand first.
  void forward_lines(std::size_t y, std::size_t x, double* work) const {
    double* at = data_ + y * layout.row + x * block;
    along_z_.transform(From{at, from_z_.data(), next(x)}, work, To<true>{at, forward_z_.data()});
  }
  // Damps the modes of a block of lines, and transforms it back along z.
  // Streaming stores must be drained before others read the numbers.
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
  // Returns mode (x, y, z) of the initial state after the first step; y is one of this rank's planes.
  std::complex<double> mode(std::size_t x, std::size_t y, std::size_t z) const {
    const double* at = data_ + from_z_[z] + y * layout.row + x / lanes * block + x % lanes;
    return {at[lanes], at[0]};
  }
  // Adds the checksum's points that lie in this rank's planes.
  std::complex<double> sum() const {
    std::complex<double> out;
    for (const auto& plane : points_)
      for (const Point& p : plane) out += values_[p.number];
    return out / (static_cast<double>(layout.nx) * static_cast<double>(layout.ny) * static_cast<double>(layout.nz));
  }
  // Makes one number of the initial state wrong.
  void make_wrong() { spoiled_ = true; }
  // Returns the floating-point operations of one whole transform on all ranks.
  double flops() const {
    double x = static_cast<double>(layout.nx), y = static_cast<double>(layout.ny), z = static_cast<double>(layout.nz);
    return along_x_.flops() * y * z + along_y_.flops() * x * z + along_z_.flops() * x * y;
  }

  const Layout layout;

 private:
  struct Point {
    std::size_t number, offset;
  };
  // Returns the next block of a row, or the first block of the next row, after the block that stays free.
  std::size_t next(std::size_t x) const { return x + 1 < layout.blocks() ? block : 2 * block; }
  void transform_columns(std::size_t at, const Offsets& from, const Offsets& to, double* work) const {
    for (std::size_t x = 0; x < layout.blocks(); ++x) {
      double* base = data_ + at + x * block;
      along_y_.transform(From{base, from.data(), block}, work, To<false>{base, to.data()});
    }
  }

  Row along_x_;
  Lines along_y_, along_z_;
  Damping damping_x_, damping_y_, damping_z_;
  Offsets from_z_, forward_z_, inverse_z_, from_y_, inverse_y_, start_y_, forward_y_;
  bool streaming_;                          // stores bypass the caches
  std::vector<std::vector<Point>> points_;  // the checksum's points in each plane
  std::vector<std::complex<double>> values_;
  RandomRows random_;
  double* data_ = nullptr;
  bool spoiled_ = false;
};

// Returns the floating-point operations of a run: the transforms, and three multiplications per number in each step.
inline double flops_of(const Cube& cube, const FtClass& c) {
  double steps = static_cast<double>(c.steps());
  return (steps + 1) * cube.flops() + steps * 3 * static_cast<double>(c.points());
}
// Returns the bytes moved by memory if no cache holds an array; a number has 16 bytes. The start writes the planes (and
// first reads them, unless the stores bypass the caches). The first lines read and write the modes. Each step reads the
// modes, writes the planes past the caches, and reads and writes them again. Numbers that ranks exchange are read,
// written, and read once more before the write.
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
