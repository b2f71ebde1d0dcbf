// Exchanges images of particles near the borders of a block, and particles that leave it. The axes follow each other,
// so that particles at edges and corners are passed on.
#pragma once
#include <functional>

#include "domain.h"

namespace steelyard::md {

// The particles that satisfy at least one of two conditions. All threads search; the order is that of the numbers.
class Selection {
 public:
  explicit Selection(Team& team) : team_(team), mine_(team.size()) {}

  std::array<std::vector<std::uint32_t>, 2> found;

  // Every thread calls it. `which(i)` is 0 or 1 for one condition, 2 for both, and −1 for neither.
  template <class Which>
  void collect(Worker w, std::size_t n, Which which) {
    auto& mine = mine_[w.index].lists;
    for (auto& list : mine) list.clear();
    for (auto [i, end] = w.part(n); i < end; ++i) {
      const int side = which(i);
      if (side == 0 || side == 2) mine[0].push_back(static_cast<std::uint32_t>(i));
      if (side == 1 || side == 2) mine[1].push_back(static_cast<std::uint32_t>(i));
    }
    team_.barrier().wait();
    if (w.index == 0)
      for (std::size_t side : {0, 1}) {
        found[side].clear();
        for (auto& each : mine_)
          found[side].insert(found[side].end(), each.lists[side].begin(), each.lists[side].end());
      }
    team_.barrier().wait();
  }

 private:
  struct alignas(64) Lists {
    std::array<std::vector<std::uint32_t>, 2> lists;
  };
  Team& team_;
  std::vector<Lists> mine_;
};

// The particles that go to and come from the neighbours along an axis: [0] is the lower neighbour, [1] the upper one.
struct Mail {
  std::array<std::vector<double>, 2> out, in;
};

// One thread of each process calls the functions of a Link. `counts(d, {a, b})` sends a to the lower and b to the upper
// neighbour and returns their numbers. `swap(d, mail)` sends mail.out and fills mail.in. `sum(values, n)` and
// `greatest(value)` combine the values of all processes.
template <class Link>
class Halo {
 public:
  Halo(const Box& box, const Block& block, Link& link, Team& team, std::size_t room)
      : box_(box), block_(block), link_(link), team_(team), room_(room), axes_{Axis(team), Axis(team), Axis(team)} {}

  // Chooses the images of the `n` particles of the block. Returns the number of particles and images, which do not fit
  // if it exceeds the room. Every thread calls it.
  std::size_t choose_images(Worker w, Point* points, std::size_t n) {
    std::size_t total = n;
    for (int d = 0; d < 3; ++d) {
      Axis& axis = axes_[d];
      const double low = block_.low[d] + reach, high = block_.high[d] - reach;
      axis.selection.collect(w, total, [&](std::size_t i) {
        const double at = points[i].c[d];
        return at < low ? (at >= high ? 2 : 0) : at >= high ? 1 : -1;
      });
      if (w.index == 0) exchange_counts(d, total);
      team_.barrier().wait();
      total = axis.end;
      if (!fits_) return room_ + 1;
      send_to_neighbours(w, d, points, true);
    }
    return total;
  }
  // Stores the images behind their particles. `positions`: no velocities, which do not depend on the side of the box.
  void send_to_neighbours(Worker w, Point* points, bool positions) {
    for (int d = 0; d < 3; ++d) send_to_neighbours(w, d, points, positions);
  }

 private:
  struct Axis {
    explicit Axis(Team& team) : selection(team) {}
    Selection selection;
    std::array<std::size_t, 2> first{}, count{};  // of the images from the lower and the upper neighbour
    std::size_t end = 0;
    Mail mail;
  };

  void exchange_counts(int d, std::size_t total) {
    Axis& axis = axes_[d];
    std::array<std::size_t, 2> out{axis.selection.found[0].size(), axis.selection.found[1].size()};
    // A block that is its own neighbour gets from above what it gives to the neighbour below.
    axis.count = block_.alone[d] ? std::array{out[1], out[0]} : link_.counts(d, out);
    axis.first = {total, total + axis.count[0]};
    axis.end = total + axis.count[0] + axis.count[1];
    fits_ = link_.greatest(axis.end > room_) == 0;  // all processes continue, or none: none waits for a message
    for (std::size_t side : {0, 1}) {
      axis.mail.out[side].resize(block_.alone[d] ? 0 : 3 * out[side]);
      axis.mail.in[side].resize(block_.alone[d] ? 0 : 3 * axis.count[side]);
    }
  }
  Point image_shift(int d, std::size_t side, bool positions) const {
    Point out;
    if (positions && (side == 0 ? block_.first[d] : block_.last[d]))
      out.c[d] = side == 0 ? box_.length[d] : -box_.length[d];
    return out;
  }
  void send_to_neighbours(Worker w, int d, Point* points, bool positions) {
    Axis& axis = axes_[d];
    for (std::size_t side : {0, 1}) {
      const auto& list = axis.selection.found[side];
      const Point by = image_shift(d, side, positions);
      Point* const images = points + axis.first[1 - side];
      double* const out = axis.mail.out[side].data();
      for (auto [g, end] = w.part(list.size()); g < end; ++g) {
        const Four at = four(points[list[g]]) + four(by);
        if (block_.alone[d])
          four(images[g]) = at;
        else
          for (int e = 0; e < 3; ++e) out[3 * g + e] = at[e];
      }
    }
    team_.barrier().wait();
    if (block_.alone[d]) return;
    if (w.index == 0) link_.exchange_mail(d, axis.mail);
    team_.barrier().wait();
    for (std::size_t side : {0, 1})
      for (auto [g, end] = w.part(axis.count[side]); g < end; ++g)
        for (int e = 0; e < 3; ++e) points[axis.first[side] + g].c[e] = axis.mail.in[side][3 * g + e];
    team_.barrier().wait();
  }

  const Box& box_;
  const Block& block_;
  Link& link_;
  Team& team_;
  const std::size_t room_;
  bool fits_ = true;
  std::array<Axis, 3> axes_;
};

// The particles of a block: their positions, velocities and forces, and their numbers in the whole system.
struct Particles {
  std::size_t count = 0;
  Buffer<Point> at;  // own particles, then images, and at the end one particle that is far from all others
  Buffer<Point> velocity, force;
  Buffer<std::uint32_t> number;

  Particles(const Block& block, const MemoryPolicy& policy, Team& team)
      : at(block.room_with_images() + 1, policy, team),
        velocity(block.room_with_images() + 1, policy, team),  // the velocities of images are for the proof only
        force(block.own_room(), policy, team),
        number(block.own_room(), policy, team) {}

  static std::size_t bytes(const Block& block) {
    return 2 * sizeof(Point) * block.room_with_images() + (sizeof(Point) + 4) * block.own_room();
  }
};

// Moves particles that have left the block to their new block: to the other side of the box, or to a neighbour.
template <class Link>
class Migration {
 public:
  Migration(const Box& box, const Block& block, Link& link, Team& team)
      : box_(box), block_(block), link_(link), team_(team), leavers_(team) {}

  // Every thread calls it. Returns false if the particles that arrived do not fit.
  bool move(Worker w, Particles& p) {
    for (int d = 0; d < 3; ++d) {
      const double length = box_.length[d];
      if (block_.alone[d]) {
        for (auto [i, end] = w.part(p.count); i < end; ++i) {
          double& at = p.at[i].c[d];
          at += at < 0 ? length : at >= length ? -length : 0;
        }
        team_.barrier().wait();
        continue;
      }
      leavers_.collect(w, p.count, [&](std::size_t i) {
        const double at = p.at[i].c[d];
        return at < block_.low[d] ? 0 : at >= block_.high[d] ? 1 : -1;
      });
      if (w.index == 0) fits_ = exchange(d, p);
      team_.barrier().wait();
      if (!fits_) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t words = 7;  // numbers of a particle: position, velocity, number

  bool exchange(int d, Particles& p) {
    for (std::size_t side : {0, 1}) {
      auto& out = mail_.out[side];
      out.clear();
      const bool around = side == 0 ? block_.first[d] : block_.last[d];
      for (std::uint32_t i : leavers_.found[side]) {
        for (int e = 0; e < 3; ++e) out.push_back(p.at[i].c[e]);
        if (around) out[out.size() - 3 + d] += side == 0 ? box_.length[d] : -box_.length[d];
        for (int e = 0; e < 3; ++e) out.push_back(p.velocity[i].c[e]);
        out.push_back(p.number[i]);
      }
    }
    close_gaps(p);
    auto come = link_.counts(d, {mail_.out[0].size(), mail_.out[1].size()});
    for (std::size_t side : {0, 1}) mail_.in[side].resize(come[side]);
    link_.exchange_mail(d, mail_);
    const bool fits = p.count + (come[0] + come[1]) / words <= block_.own_room();
    if (link_.greatest(!fits) != 0) return false;  // all processes must decide alike
    for (const auto& in : mail_.in)
      for (std::size_t k = 0; k < in.size(); k += words, ++p.count) {
        p.at[p.count].c = {in[k], in[k + 1], in[k + 2], 0};
        p.velocity[p.count].c = {in[k + 3], in[k + 4], in[k + 5], 0};
        p.number[p.count] = static_cast<std::uint32_t>(in[k + 6]);
      }
    return true;
  }
  // Moves the last particles to the places of the particles that left.
  void close_gaps(Particles& p) {
    std::vector<std::uint32_t> gone = leavers_.found[0];
    gone.insert(gone.end(), leavers_.found[1].begin(), leavers_.found[1].end());
    std::sort(gone.begin(), gone.end(), std::greater<>());
    for (std::uint32_t i : gone) {
      --p.count;
      p.at[i] = p.at[p.count], p.velocity[i] = p.velocity[p.count], p.number[i] = p.number[p.count];
    }
  }

  const Box& box_;
  const Block& block_;
  Link& link_;
  Team& team_;
  Selection leavers_;
  Mail mail_;
  bool fits_ = true;
};

}  // namespace steelyard::md
