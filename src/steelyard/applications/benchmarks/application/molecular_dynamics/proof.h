// Proves that a run is right: by its energy, its momentum, and a comparison of forces with sums over all particles.
#pragma once
#include "simulation.h"

namespace steelyard::md {

// The state of a system in a few sums, each per particle. `modified` is the energy plus its second-order change in a
// step, step^2 (sum of v U'' v / 12 - F^2 / 24). Velocity Verlet conserves it to fourth order (E. Hairer, C. Lubich, G.
// Wanner, Acta Numerica 12, 2003).
struct State {
  double kinetic = NAN, potential = NAN, modified = NAN, correction = NAN;
  Triple momentum{NAN, NAN, NAN};
  double energy() const { return kinetic + potential; }
};

struct Proof {
  State before, after;
  std::size_t steps = 0, particle_count = 0;
  double force_error =
      NAN;  // greatest error in a sample of particles, relative to the sum of the magnitudes of pair forces

  // The remaining error of the energy is of fourth order. Measurements show at most hundredths of the correction.
  static constexpr double rest = 0.1;
  // Rounding errors of some 50 pairs per particle: coordinates reach 1e2, and a force changes by 1e3 per length.
  static constexpr double momentum_allowed = 1e-12, force_allowed = 1e-11;

  double energy_allowed() const { return rest * (std::abs(before.correction) + std::abs(after.correction)) + jump(); }
  // The force jumps at the cutoff, so pairs that cross it in a step add random errors: six standard deviations.
  // Kinetic theory gives 2 pi cutoff^2 density w crossings per particle and time, w = sqrt(2 T); each adds half of
  // force times w times step.
  double jump() const {
    const double w = std::sqrt(4.0 / 3 * std::max(before.kinetic, after.kinetic));
    const double crossings =
        2 * std::numbers::pi * cutoff * cutoff * density * w * time_step * static_cast<double>(steps);
    const double each = std::abs(Pair(cutoff * cutoff).slope) * cutoff * w * time_step / 2;
    return 6 * each * std::sqrt(crossings / static_cast<double>(particle_count));
  }
  bool is_energy_kept() const { return std::abs(after.modified - before.modified) <= energy_allowed(); }
  double momentum_drift() const {
    double most = 0;
    for (double p : after.momentum) most = std::isfinite(p) ? std::max(most, std::abs(p)) : p;
    return most;
  }
  bool is_at_rest() const { return momentum_drift() <= momentum_allowed; }
  bool are_forces_right() const { return force_error <= force_allowed; }
};

template <class Link>
class Prover {
 public:
  Prover(Simulation<Link>& simulation, const Problem& problem, const Box& box, Link& link, Team& team)
      : simulation_(simulation), problem_(problem), box_(box), link_(link), team_(team) {}

  // Every thread calls it. It uses the lists, which hold all pairs until a particle has crossed half of the skin.
  State state(Worker w) {
    Particles& p = simulation_.particles;
    simulation_.halo.send_to_neighbours(w, p.velocity.data(), false);
    typename Reduction<Link>::Values mine{};
    for (auto [i, end] = w.part(p.count); i < end; ++i) add(i, mine);
    auto sums = simulation_.reduction.sum(w, mine);
    const auto n = static_cast<double>(problem_.particles);
    for (double& sum : sums) sum /= n;
    State out;
    out.kinetic = sums[0], out.potential = sums[1];
    out.correction = time_step * time_step * (sums[2] / 12 - sums[3] / 24);
    out.modified = out.energy() + out.correction;
    for (int d = 0; d < 3; ++d) out.momentum[d] = sums[4 + d];
    return out;
  }

  // Compares the forces on a sample of particles with sums over all particles. All processes have the same sample.
  double find_worst_force() {
    std::vector<double> sample = gather_sample(), sums(4 * samples);
    std::vector<std::vector<double>> parts(team_.size(), sums);
    team_.each([&](Worker w) { sum_all_forces(w, sample, parts[w.index]); });
    for (const auto& part : parts)
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += part[k];
    link_.sum(sums.data(), sums.size());
    double most = 0;
    for (std::size_t s = 0; s < samples; ++s) {
      if (sample[words * s + 6] != 1) return NAN;  // no process has the particle, or two have it
      for (std::size_t d = 0; d < 3; ++d) {
        const double off = std::abs(sample[words * s + 3 + d] - sums[4 * s + d]) / sums[4 * s + 3];
        most = off <= most ? most : off;
      }
    }
    return most;
  }
  std::size_t count_particles() {
    auto count = static_cast<double>(simulation_.particles.count);
    link_.sum(&count, 1);
    return static_cast<std::size_t>(count);
  }

  static constexpr std::size_t samples = 32;
  // Returns the k-th particle of the sample.
  std::size_t sampled(std::size_t k) const { return k * problem_.particles / samples; }

 private:
  static constexpr std::size_t words = 7;  // position, force, number of processes that have the particle

  void add(std::size_t i, typename Reduction<Link>::Values& to) const {
    const Particles& p = simulation_.particles;
    const auto &at = p.at[i].c, &v = p.velocity[i].c, &f = p.force[i].c;
    for (std::size_t d = 0; d < 3; ++d) to[0] += v[d] * v[d] / 2, to[3] += f[d] * f[d], to[4 + d] += v[d];
    double energy = 0, bent = 0;  // sums of this particle: one sum over all pairs would round far more
    const std::uint32_t* list = simulation_.neighbours.list(i);
    for (std::size_t k = 0; k < simulation_.neighbours.count(i); ++k) {
      const auto &other = p.at[list[k]].c, &u = p.velocity[list[k]].c;
      double r2 = 0, along = 0, square = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const double r = at[d] - other[d], relative = v[d] - u[d];
        r2 += r * r, along += r * relative, square += relative * relative;
      }
      if (!(r2 < cutoff * cutoff)) continue;
      const Pair pair(r2);
      along *= along / r2;
      energy += pair.energy / 2;
      bent += (pair.curvature * along + pair.slope * (square - along)) / 2;
    }
    to[1] += energy, to[2] += bent;
  }
  std::vector<double> gather_sample() {
    const Particles& p = simulation_.particles;
    std::vector<double> out(words * samples);
    for (std::size_t i = 0; i < p.count; ++i) {
      const std::size_t k = (p.number[i] * samples + problem_.particles - 1) / problem_.particles;
      if (k >= samples || sampled(k) != p.number[i]) continue;
      for (std::size_t d = 0; d < 3; ++d) out[words * k + d] = p.at[i].c[d], out[words * k + 3 + d] = p.force[i].c[d];
      out[words * k + 6] += 1;
    }
    link_.sum(out.data(), out.size());
    return out;
  }
  // Adds the forces of the block's particles on each particle of the sample: the nearest image of each, in double
  // precision, one after the other.
  void sum_all_forces(Worker w, const std::vector<double>& sample, std::vector<double>& sums) const {
    const Particles& p = simulation_.particles;
    for (auto [i, end] = w.part(p.count); i < end; ++i)
      for (std::size_t s = 0; s < samples; ++s) {
        if (p.number[i] == sampled(s)) continue;
        Triple r;
        double r2 = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          r[d] = sample[words * s + d] - p.at[i].c[d];
          r[d] -= box_.length[d] * std::nearbyint(r[d] / box_.length[d]);
          r2 += r[d] * r[d];
        }
        if (!(r2 < cutoff * cutoff)) continue;
        const Pair pair(r2);
        for (std::size_t d = 0; d < 3; ++d) sums[4 * s + d] -= pair.slope * r[d];
        sums[4 * s + 3] += std::abs(pair.slope) * std::sqrt(r2);
      }
  }

  Simulation<Link>& simulation_;
  const Problem& problem_;
  const Box& box_;
  Link& link_;
  Team& team_;
};

}  // namespace steelyard::md
