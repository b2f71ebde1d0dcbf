// The flow of one rank: columns of modes of its velocity along z. A time step advances them and multiplies in planes.
//
// Navier-Stokes in rotational form: du/dt = P(u x w) - viscosity k^2 u, with w = ik x u. P removes the part along k. A
// factor handles friction exactly. Three stages of third order handle the rest, with one additional set of numbers
// (J. Williamson 1980).
#pragma once
#include <cmath>

#include "buffers.h"
#include "planes.h"

namespace steelyard::turbulence {

constexpr double viscosity = 1.0 / 1600;
constexpr std::size_t stages = 3;
constexpr double kept[stages] = {0, -5.0 / 9, -153.0 / 128}, taken[stages] = {1.0 / 3, 15.0 / 16, 8.0 / 15};
constexpr double length_of[stages] = {1.0 / 3, 5.0 / 12, 1.0 / 4};  // share of a time step

// Sums over modes: first of one rank, then of all ranks.
struct Sums {
  double energy_x = 0, energy_y = 0, energy_z = 0, enstrophy = 0, divergence = 0, square = 0;
  std::array<double*, 6> all() { return {&energy_x, &energy_y, &energy_z, &enstrophy, &divergence, &square}; }
  double energy() const { return energy_x + energy_y + energy_z; }
};

class Flow {
 public:
  Flow(const Grid& grid, std::size_t ranks, std::size_t me, const MemoryPolicy& policy, Team& team)
      : there(grid, ranks, me, six),
        back(grid, ranks, me, three),
        grid_(grid),
        alone_(ranks == 1),
        mine_(grid.columns, ranks, me),
        planes_of_(grid.z.n, ranks, me),
        along_z_(grid.z),
        planes_(grid),
        u_(state(), policy, team),
        g_(state(), policy, team),
        columns_(block * there.sent.back(), policy, team),
        products_(block * back.sent.back(), policy, team),
        in_planes_(ranks == 1 ? block : block * there.got.back(), policy, team),
        multiplied_(ranks == 1 ? block : block * back.got.back(), policy, team),
        memory_(Buffer<double>::one_each(Room::doubles(grid), policy, team, team.size())) {
    for (Buffer<double>& each : memory_) rooms_.emplace_back(grid, each.data());
    places_z_ = along_z_.targets(six * mine_.count() * block);
    for (std::size_t z = 0; z < grid.z.n; ++z) from_z_.push_back(z * three * mine_.count() * block);
    for (std::size_t s = 0; s < stages; ++s)
      for (auto [axis, to] : {std::pair{&grid_.y, &decay_y_[s]}, {&grid_.z, &decay_z_[s]}})
        for (std::size_t m = 0; m < axis->modes(); ++m) to->push_back(damping_factor(s, axis->wave(m)));
  }
  static double bytes(const Grid& grid, std::size_t ranks, std::size_t me, std::size_t threads) {
    Pieces there(grid, ranks, me, six), back(grid, ranks, me, three);
    std::size_t ways = there.sent.back() + back.sent.back();
    if (ranks > 1) ways += there.got.back() + back.got.back();
    std::size_t states = 2 * three * grid.z.modes() * Share(grid.columns, ranks, me).count();
    return 8.0 * static_cast<double>(block * (ways + states) + threads * Room::doubles(grid));
  }

  // The vortex of Taylor and Green: u = (sin x cos y cos z, -cos x sin y cos z, 0).
  void begin(Worker w) {
    std::fill_n(memory_[w.index].data(), memory_[w.index].size(), 0.0);
    columns(w, [&](std::size_t c) {
      std::fill_n(line(u_, c, 0), three * grid_.z.modes() * block, 0.0);
      std::fill_n(line(g_, c, 0), three * grid_.z.modes() * block, 0.0);
      double ky = grid_.y.wave((mine_.first + c) / grid_.blocks);
      if ((mine_.first + c) % grid_.blocks != 0 || std::fabs(ky) != 1) return;
      for (std::size_t m : {std::size_t{1}, grid_.z.modes() - 1}) {
        line(u_, c, 0)[m * block + lanes + 1] = -1.0 / 8;
        line(u_, c, 1)[m * block + lanes + 1] = ky / 8;
      }
    });
  }
  // Computes the velocity and the vorticity of a worker's columns, and stores them for the planes.
  void compute_fields(Worker w) {
    columns(w, [&](std::size_t c) { compute_fields_at(c, rooms_[w.index]); });
  }
  void multiply(Worker w) {
    auto [first, end] = w.part(planes_of_.count(), 1);
    // A single process multiplies at the place where its columns stored the planes.
    const double* in = alone_ ? columns_.data() : in_planes_.data();
    double* out = alone_ ? products_.data() : multiplied_.data();
    for (std::size_t z = first; z < end; ++z) planes_.multiply(z, in, there, out, back, rooms_[w.index]);
  }
  // Advances the modes by one stage, and computes the fields of the next stage, if there is one.
  void advance(Worker w, std::size_t stage, bool last) {
    columns(w, [&](std::size_t c) {
      advance_column(c, stage, rooms_[w.index]);
      if (!last) compute_fields_at(c, rooms_[w.index]);
    });
  }
  // Returns the sums of a worker's columns.
  Sums sums(Worker w) const {
    Sums out;
    columns(w, [&](std::size_t c) {
      for (std::size_t m = 0; m < grid_.z.modes(); ++m)
        for (std::size_t i = 0; i < lanes; ++i) add(out, c, m, i);
    });
    return out;
  }
  // Makes one mode wrong, on the rank that holds it.
  void make_wrong() {
    if (mine_.first == 0) line(u_, 0, 0)[2 * block + 1] += 1e-3;
  }

  double* columns_out() { return columns_.data(); }
  double* planes_in() { return in_planes_.data(); }
  double* planes_out() { return multiplied_.data(); }
  double* columns_in() { return products_.data(); }
  const Grid& grid() const { return grid_; }
  const Pieces there, back;

  // Returns the floating-point operations of a step on all ranks: 18 per mode for its vorticity, 54 for its advance.
  double flops() const {
    double lines = static_cast<double>(grid_.columns * lanes), modes = static_cast<double>(grid_.z.modes());
    double columns = lines * (9 * along_z_.flops() + 72 * modes);
    return stages * (columns + static_cast<double>(grid_.z.n) * planes_.flops());
  }

 private:
  std::size_t state() const { return three * grid_.z.modes() * mine_.count() * block; }
  double* line(const Buffer<double>& of, std::size_t column, std::size_t field) const {
    return of.data() + (column * three + field) * grid_.z.modes() * block;
  }
  template <class Do>
  void columns(Worker w, Do what) const {
    auto [first, end] = w.part(mine_.count(), 1);
    for (std::size_t c = first; c < end; ++c) what(c);
  }
  double damping_factor(std::size_t stage, double k) const {
    return std::exp(-viscosity * k * k * length_of[stage] * grid_.step());
  }
  double ky(std::size_t c) const { return grid_.y.wave((mine_.first + c) / grid_.blocks); }
  double kx(std::size_t c) const { return static_cast<double>((mine_.first + c) % grid_.blocks * lanes); }
  Pack kx(std::size_t c, std::size_t pack) const {
    Pack out;
    for (std::size_t i = 0; i < pack_doubles; ++i) out[i] = kx(c) + static_cast<double>(pack * pack_doubles + i);
    return out;
  }
  void compute_fields_at(std::size_t c, Room& room) const {
    const std::size_t length = grid_.z.n * block;
    for (std::size_t p = 0; p < packs; ++p) {
      const Pack x = kx(c, p), y = pack_of(ky(c));
      for (std::size_t m = 0; m < grid_.z.modes(); ++m) {
        const Pack z = pack_of(grid_.z.wave(m));
        Complex a = at(line(u_, c, 0), m, p), b = at(line(u_, c, 1), m, p), d = at(line(u_, c, 2), m, p);
        double* to = room.column + grid_.z.frequency(m) * block + p * pack_doubles;
        put(to, a), put(to + length, b), put(to + 2 * length, d);
        put(to + 3 * length, curl(y, d, z, b)), put(to + 4 * length, curl(z, a, x, d));
        put(to + 5 * length, curl(x, b, y, a));
      }
    }
    for (std::size_t f = 0; f < six; ++f)
      along_z_.values(room.column + f * length, room.work, columns_.data() + (f * mine_.count() + c) * block,
                      places_z_);
  }
  static Complex at(const double* line, std::size_t m, std::size_t p) {
    return Own{const_cast<double*>(line)}.load(m, p);
  }
  // Stores numbers with the imaginary parts first.
  static void put(double* to, const Complex& a) { pack_at(to) = a.im, pack_at(to + lanes) = a.re; }
  // Computes i (k a - l b).
  static Complex curl(Pack k, const Complex& a, Pack l, const Complex& b) {
    return {l * b.im - k * a.im, k * a.re - l * b.re};
  }
  void advance_column(std::size_t c, std::size_t stage, Room& room) const {
    const std::size_t length = grid_.z.n * block;
    for (std::size_t f = 0; f < three; ++f)
      along_z_.frequencies(npb::From{products_.data() + (f * mine_.count() + c) * block, from_z_.data()}, room.work,
                           room.spectra + f * length);
    const double part = 1 / grid_.points(), step = taken[stage] * grid_.step();
    for (std::size_t p = 0; p < packs; ++p) {
      const Pack x = kx(c, p), y = pack_of(ky(c));
      Pack decay_x;
      for (std::size_t i = 0; i < pack_doubles; ++i) decay_x[i] = damping_factor(stage, x[i]);
      decay_x *= decay_y_[stage][(mine_.first + c) / grid_.blocks];
      for (std::size_t m = 0; m < grid_.z.modes(); ++m) {
        const Pack z = pack_of(grid_.z.wave(m)), square = x * x + y * y + z * z;
        const Pack over = part / (square == 0 ? pack_of(1) : square), factor = decay_x * decay_z_[stage][m];
        const double* from = room.spectra + grid_.z.frequency(m) * block + p * pack_doubles;
        for (std::size_t half = 0; half < 2; ++half, from += lanes) {
          const Pack a = pack_at(from), b = pack_at(from + length), d = pack_at(from + 2 * length);
          const Pack along = (x * a + y * b + z * d) * over;
          const std::size_t place = m * block + half * lanes + p * pack_doubles;
          move(place, c, 0, a * part - x * along, stage, step, factor);
          move(place, c, 1, b * part - y * along, stage, step, factor);
          move(place, c, 2, d * part - z * along, stage, step, factor);
        }
      }
    }
  }
  void move(std::size_t place, std::size_t c, std::size_t f, Pack rate, std::size_t stage, double step,
            Pack factor) const {
    Pack &g = pack_at(line(g_, c, f) + place), &u = pack_at(line(u_, c, f) + place);
    Pack now = kept[stage] * g + rate;
    u = (u + step * now) * factor, g = now * factor;
  }
  void add(Sums& to, std::size_t c, std::size_t m, std::size_t i) const {
    double k[3] = {kx(c) + static_cast<double>(i), ky(c), grid_.z.wave(m)};
    double weight = k[0] == 0 ? 0.5 : 1, square = 0, along[2] = {}, all = 0;
    double* energy[3] = {&to.energy_x, &to.energy_y, &to.energy_z};
    for (std::size_t f = 0; f < three; ++f) {
      const double* at = line(u_, c, f) + m * block + i;
      double size = at[0] * at[0] + at[lanes] * at[lanes];
      *energy[f] += weight * size, all += weight * size, square += k[f] * k[f];
      along[0] += k[f] * at[0], along[1] += k[f] * at[lanes];
    }
    to.enstrophy += square * all, to.square += square * all;
    to.divergence += weight * (along[0] * along[0] + along[1] * along[1]);
  }

  const Grid grid_;
  const bool alone_;
  const Share mine_, planes_of_;
  AxisTransforms along_z_;
  Planes planes_;
  Offsets places_z_, from_z_;
  std::array<std::vector<double>, stages> decay_y_, decay_z_;
  Buffer<double> u_, g_, columns_, products_, in_planes_, multiplied_;
  std::vector<Buffer<double>> memory_;
  mutable std::vector<Room> rooms_;
};

}  // namespace steelyard::turbulence
