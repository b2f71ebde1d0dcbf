// The steps of a simulation in a block, on all threads of a process: lists, images, forces, velocity Verlet.
#pragma once
#include <atomic>
#include <limits>

#include "forces.h"
#include "halo.h"
#include "neighbours.h"

namespace steelyard::md {

// Adds values over the threads of a team and then over all processes. Each thread gets the sums.
template <class Link>
class Reduction {
 public:
  static constexpr std::size_t most = 8;
  using Values = std::array<double, most>;

  Reduction(Link& link, Team& team) : link_(link), team_(team), shares_(team.size()) {}

  Values sum(Worker w, const Values& mine) {
    return reduce(w, mine, [&] {
      total_ = {};
      for (const Share& share : shares_)
        for (std::size_t i = 0; i < most; ++i) total_[i] += share.values[i];
      link_.sum(total_.data(), most);
    });
  }
  double greatest(Worker w, double mine) {
    return reduce(w, {mine}, [&] {
      double most = 0;
      for (const Share& share : shares_) most = std::max(most, share.values[0]);
      total_[0] = link_.greatest(most);
    })[0];
  }

 private:
  struct alignas(64) Share {
    Values values;
  };
  template <class Call>
  Values reduce(Worker w, const Values& mine, Call call) {
    shares_[w.index].values = mine;
    team_.barrier().wait();
    if (w.index == 0) call();
    team_.barrier().wait();
    return total_;
  }
  Link& link_;
  Team& team_;
  std::vector<Share> shares_;
  Values total_{};
};

template <class Link>
class Simulation {
 public:
  Simulation(const Problem& problem, const Box& box, const Block& block, const MemoryPolicy& policy, Link& link,
             Team& team)
      : reduction(link, team),
        particles(block, policy, team),
        neighbours(block, policy, team),
        halo(box, block, link, team, block.room_with_images()),
        problem_(problem),
        box_(box),
        block_(block),
        team_(team),
        cells_(block, policy, team, block.room_with_images()),
        migration_(box, block, link, team),
        built_(block.own_room(), policy, team),
        spare_(block.own_room(), policy, team),
        places_(team.size()) {}

  // Creates the lattice, with velocities of the temperature and no momentum, and the forces. All threads call it.
  void start(Worker w) {
    if (w.index == 0) fill();
    team_.barrier().wait();
    finish_start(w);
    rebuild_lists(w);
    forces(w);
    places_[w.index].count = 0;
    team_.barrier().wait();
    if (w.index == 0) rebuilds_ = 0;
    team_.barrier().wait();
  }
  void run(Worker w) {
    for (std::size_t step = 0; step < problem_.steps && in_order_; ++step) {
      advance(w, step == 0 ? time_step / 2 : time_step);
      forces(w);
    }
    change_velocities(w, time_step / 2);
    if (w.index == 0) done_ = in_order_ ? problem_.steps : 0;
    team_.barrier().wait();
  }

  std::size_t done() const { return done_; }
  std::size_t rebuilds() const { return rebuilds_; }
  bool in_order() const { return in_order_; }
  double places() const {  // places of the lists in all sums of forces
    double sum = 0;
    for (const auto& place : places_) sum += static_cast<double>(place.count);
    return sum;
  }
  static std::size_t bytes(const Block& block) {
    return Particles::bytes(block) + Neighbours::bytes(block) + Cells::bytes(block, block.room_with_images()) +
           2 * sizeof(Point) * block.own_room();
  }

  Reduction<Link> reduction;
  Particles particles;
  Neighbours neighbours;
  Halo<Link> halo;

 private:
  static constexpr double far_away = 1e15;
  static constexpr std::size_t sorted_every = 8;  // rebuilds: then near particles lie far apart in memory

  // Returns the lattice sites in this block.
  void fill() {
    particles.count = done_ = rebuilds_ = 0;
    in_order_ = true;
    std::array<std::size_t, 3> first, end, cell;
    for (int d = 0; d < 3; ++d) {
      first[d] = static_cast<std::size_t>(block_.low[d] / Box::edge());
      end[d] = std::min(box_.cells[d], static_cast<std::size_t>(block_.high[d] / Box::edge()) + 1);
    }
    for (cell[2] = first[2]; cell[2] < end[2]; ++cell[2])
      for (cell[1] = first[1]; cell[1] < end[1]; ++cell[1])
        for (cell[0] = first[0]; cell[0] < end[0]; ++cell[0])
          for (std::size_t corner = 0; corner < 4; ++corner) {
            const Site site(box_, cell, corner);
            if (owns_site(site)) add(site);
          }
    particles.at[block_.room_with_images()].c = {far_away, far_away, far_away, 0};
  }
  bool owns_site(const Site& site) const {
    for (int d = 0; d < 3; ++d)
      if (site.at[d] < block_.low[d] || site.at[d] >= block_.high[d]) return false;
    return particles.count < block_.own_room();
  }
  void add(const Site& site) {
    const Triple v = site.velocity();
    particles.at[particles.count].c = {site.at[0], site.at[1], site.at[2], 0};
    particles.velocity[particles.count].c = {v[0], v[1], v[2], 0};
    particles.number[particles.count++] = static_cast<std::uint32_t>(site.number);
  }
  // Removes the momentum, and scales the velocities to the temperature.
  void finish_start(Worker w) {
    const auto n = static_cast<double>(problem_.particles);
    auto sums = sum_moments(w);
    const Four mean = {sums[0] / n, sums[1] / n, sums[2] / n, 0};
    each(w, [&](std::size_t i) { four(particles.velocity[i]) -= mean; });
    const double factor = std::sqrt(problem_.temperature * 3 * (n - 1) / sum_moments(w)[3]);
    each(w, [&](std::size_t i) { four(particles.velocity[i]) *= factor; });
  }
  typename Reduction<Link>::Values sum_moments(Worker w) {
    typename Reduction<Link>::Values mine{};
    each(w, [&](std::size_t i) {
      const auto& v = particles.velocity[i].c;
      for (int d = 0; d < 3; ++d) mine[d] += v[d], mine[3] += v[d] * v[d];
    });
    return reduction.sum(w, mine);
  }
  template <class Call>
  void each(Worker w, Call call) {
    for (auto [i, end] = w.part(particles.count); i < end; ++i) call(i);
  }
  void change_velocities(Worker w, double by) {
    each(w, [&](std::size_t i) { four(particles.velocity[i]) += by * four(particles.force[i]); });
  }
  // Changes velocities by `by` and positions by a step. Then updates the images, or the lists if a particle has crossed
  // half of the skin.
  void advance(Worker w, double by) {
    double most = 0;
    each(w, [&](std::size_t i) {
      const Four v = four(particles.velocity[i]) += by * four(particles.force[i]);
      const Four moved = (four(particles.at[i]) += time_step * v) - four(built_[i]);
      const Four square = moved * moved;
      most = std::max(most, square[0] + square[1] + square[2]);
    });
    most = reduction.greatest(w, in_order_ ? most : std::numeric_limits<double>::max());
    if (most > reach * reach) {  // a particle moved too far in a step, or a worker found no room: all threads stop
      if (w.index == 0) in_order_ = false;
      team_.barrier().wait();
      return;
    }
    if (w.index == 0) ++since_;
    team_.barrier().wait();
    if (most > skin * skin / 4 || since_ >= longest)
      rebuild_lists(w);
    else
      halo.send_to_neighbours(w, particles.at.data(), true);
  }
  void rebuild_lists(Worker w) {
    bool fits = migration_.move(w, particles);
    if (rebuilds_ % sorted_every == 0) sort_by_cells(w);
    const std::size_t all = halo.choose_images(w, particles.at.data(), particles.count);
    fits = fits && all <= block_.room_with_images();
    if (fits) {
      cells_.sort(w, particles.at.data(), all);
      const auto far = static_cast<std::uint32_t>(block_.room_with_images());
      fits = neighbours.build(w, cells_, particles.at.data(), particles.count, far);
      each(w, [&](std::size_t i) { built_[i] = particles.at[i]; });
    }
    if (!fits) in_order_ = false;
    team_.barrier().wait();
    if (w.index == 0) since_ = 0, ++rebuilds_;
    team_.barrier().wait();
  }
  // Sorts the particles by cells: particles that are near in space are then near in memory.
  void sort_by_cells(Worker w) {
    cells_.sort(w, particles.at.data(), particles.count);
    each(w, [&](std::size_t i) {
      const std::uint32_t from = cells_.number[i];
      built_[i] = particles.at[from], spare_[i] = particles.velocity[from];
      spare_[i].c[3] = particles.number[from];
    });
    team_.barrier().wait();
    each(w, [&](std::size_t i) {
      particles.at[i] = built_[i];
      particles.number[i] = static_cast<std::uint32_t>(std::exchange(spare_[i].c[3], 0.0));
      particles.velocity[i] = spare_[i];
    });
    team_.barrier().wait();
  }
  void forces(Worker w) {
    if (!in_order_) return;
    std::size_t places = 0;
    each(w, [&](std::size_t i) {
      const std::size_t count = neighbours.count(i);
      add_pair_forces(particles.at[i], particles.force[i], neighbours.list(i), count, particles.at.data());
      places += count;
    });
    places_[w.index].count += places;
    team_.barrier().wait();  // no thread may move a particle that another thread still reads
  }

  struct alignas(64) Places {
    std::size_t count = 0;
  };
  const Problem& problem_;
  const Box& box_;
  const Block& block_;
  Team& team_;
  Cells cells_;
  Migration<Link> migration_;
  Buffer<Point> built_, spare_;  // positions of the particles when the lists were built
  std::vector<Places> places_;
  std::size_t since_ = 0, rebuilds_ = 0, done_ = 0;
  std::atomic<bool> in_order_{true};
};

}  // namespace steelyard::md
