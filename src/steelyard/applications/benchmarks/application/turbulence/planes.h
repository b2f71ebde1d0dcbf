// A plane of z: transforms fields to values along y and x, multiplies velocity and vorticity, and transforms the
// product back.
#pragma once
#include "rows.h"

namespace steelyard::turbulence {

constexpr std::size_t six = 6, three = 3;  // fields: velocity and vorticity; their product

// The memory of a worker for a plane or a column. It is zero at the start.
struct Room {
  std::size_t row, plane;  // doubles between rows, and between fields
  // Six fields of a plane; the modes of six columns, of a line of y and of a line of x. Unused modes are zero.
  double *fields, *column, *modes, *joined;
  double *spectra, *result, *frequencies, *work;  // of three columns, of a line of y, of a line of x
  std::array<double*, six> values;                // three pairs of fields of eight rows, then of the next eight

  Room(const Grid& grid, double* memory) : row(grid.blocks * block), plane(grid.y.n * row) {
    auto take = [&](std::size_t size) { return std::exchange(memory, memory + size); };
    fields = take(six * plane), column = take(six * grid.z.n * block), modes = take(grid.y.n * block);
    joined = take(grid.x.n * block), frequencies = take(grid.x.n * block);
    for (double*& each : values) each = take(grid.x.n * block);
    spectra = take(three * grid.z.n * block), result = take(grid.y.n * block), work = take(grid.z.n * block);
  }
  static std::size_t doubles(const Grid& grid) {  // no axis is longer than z
    return block * (six * grid.y.n * grid.blocks + 10 * grid.z.n + 2 * grid.y.n + 8 * grid.x.n);
  }
};

class Planes {
 public:
  explicit Planes(const Grid& grid)
      : grid_(grid), rows_(grid), along_y_(grid.y), places_y_(along_y_.targets(grid.blocks * block)) {
    for (std::size_t y = 0; y < grid.y.n; ++y) from_y_.push_back(y * grid.blocks * block);
    places_x_ = rows_.along().targets(block);
  }

  // Reads the six fields of plane `z` from `in`, and writes the three fields of the product to `out`.
  void multiply(std::size_t z, const double* in, const Pieces& way_in, double* out, const Pieces& way_out,
                Room& room) const {
    for (std::size_t f = 0; f < six; ++f)
      for (std::size_t b = 0; b < grid_.blocks; ++b) to_values(z, f, b, in, way_in, room);
    for (std::size_t y = 0; y < grid_.y.n; y += 2 * lanes) transform_sixteen_rows(y, room);
    for (std::size_t f = 0; f < three; ++f)
      for (std::size_t b = 0; b < grid_.blocks; ++b) {
        const double* from = room.fields + f * room.plane + b * block;
        along_y_.frequencies(npb::From{from, from_y_.data()}, room.work, room.result);
        for (std::size_t m = 0; m < grid_.y.modes(); ++m)
          copy(room.result + grid_.y.frequency(m) * block, out + way_out.in_plane(z, f, m * grid_.blocks + b));
      }
  }
  // Returns the floating-point operations of one plane.
  double flops() const {
    double rows = static_cast<double>(grid_.y.n), lines = static_cast<double>(grid_.blocks * lanes);
    return 9 * lines * along_y_.flops() + rows * (4.5 * rows_.along().flops() + 9 * static_cast<double>(grid_.x.n));
  }

 private:
  static void copy(const double* from, double* to) {
    for (std::size_t i = 0; i < block; i += pack_doubles) pack_at(to + i) = pack_at(from + i);
  }
  void to_values(std::size_t z, std::size_t f, std::size_t b, const double* in, const Pieces& way, Room& room) const {
    for (std::size_t m = 0; m < grid_.y.modes(); ++m) {
      const double* from = in + way.in_plane(z, f, m * grid_.blocks + b);
      double* to = room.modes + grid_.y.frequency(m) * block;
      for (std::size_t p = 0; p < lanes; p += pack_doubles)
        pack_at(to + lanes + p) = pack_at(from + p), pack_at(to + p) = pack_at(from + lanes + p);
    }
    along_y_.values(room.modes, room.work, room.fields + f * room.plane + b * block, places_y_);
  }
  // One transform computes the third field of the product for both sets of eight rows.
  void transform_sixteen_rows(std::size_t y, Room& room) const {
    for (std::size_t half = 0; half < 2; ++half) {
      double* at = room.fields + (y + half * lanes) * room.row;
      for (std::size_t pair = 0; pair < three; ++pair) {
        rows_.join(at + 2 * pair * room.plane, at + (2 * pair + 1) * room.plane, room.row, room.joined);
        rows_.along().values(room.joined, room.work, room.values[3 * half + pair], places_x_);
      }
    }
    double *first = room.values[0], *second = room.values[3], *third = room.values[1];
    for (std::size_t i = 0; i < grid_.x.n * block; i += block)
      for (std::size_t p = 0; p < lanes; p += pack_doubles) {
        Pack one = cross_product(room, 0, i + p), two = cross_product(room, 3, i + p);
        pack_at(third + i + p) = one, pack_at(third + i + lanes + p) = two;
      }
    double* at = room.fields + y * room.row;
    const std::size_t next = lanes * room.row;
    transform_back(first, at, at + room.plane, room), transform_back(second, at + next, at + next + room.plane, room);
    transform_back(third, at + 2 * room.plane, at + 2 * room.plane + next, room);
  }
  // Multiplies velocity and vorticity. x and y of the product replace those of the velocity; z is returned.
  static Pack cross_product(Room& room, std::size_t first, std::size_t i) {
    double *a = room.values[first], *b = room.values[first + 1], *c = room.values[first + 2];
    Pack ux = pack_at(a + i), uy = pack_at(a + i + lanes), uz = pack_at(b + i);
    Pack wx = pack_at(b + i + lanes), wy = pack_at(c + i), wz = pack_at(c + i + lanes);
    pack_at(a + i) = uy * wz - uz * wy, pack_at(a + i + lanes) = uz * wx - ux * wz;
    return ux * wy - uy * wx;
  }
  void transform_back(double* values, double* one, double* two, Room& room) const {
    rows_.along().frequencies(Own{values}, room.work, room.frequencies);
    rows_.split(room.frequencies, one, two, room.row);
  }

  Grid grid_;
  PairedRows rows_;
  AxisTransforms along_y_;
  Offsets places_y_, places_x_, from_y_;
};

}  // namespace steelyard::turbulence
