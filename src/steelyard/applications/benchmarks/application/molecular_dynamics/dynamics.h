// The mini-application of both programs: each process has one block, and a run starts from the lattice.
#pragma once
#include "proof.h"

namespace steelyard::md {

template <class Link>
class Dynamics {
 public:
  // `here`: the number of these processes that share the memory of this host.
  Dynamics(const Problem& problem, const MemoryPolicy& policy, Link& link, Team& team, int ranks, int rank, int here)
      : problem_(problem),
        link_(link),
        team_(team),
        box_(problem.particles),
        cut_(box_, ranks),
        block_(check_room(here, rank)),
        simulation_(problem_, box_, block_, policy, link, team),
        prover_(simulation_, problem_, box_, link, team) {}

  void prepare(Worker w) {
    simulation_.start(w);
    const State state = prover_.state(w);
    if (w.index == 0) proof_ = {}, proof_.before = state;
    team_.barrier().wait();
  }
  void run(Worker w) { simulation_.run(w); }

  // Runs the simulation. One thread of every process calls it.
  Check check() {
    places_ = simulation_.places();
    link_.sum(&places_, 1);
    if (link_.greatest(simulation_.done() != problem_.steps) != 0)  // if one process failed, all processes report it
      return {false, simulation_.in_order() ? "no step was done" : "particles fly apart: they found no room in memory"};
    team_.each([&](Worker w) {
      const State state = prover_.state(w);
      if (w.index == 0) proof_.after = state;
    });
    proof_.steps = simulation_.done();
    proof_.particle_count = prover_.count_particles();
    proof_.force_error = prover_.find_worst_force();
    const bool passed = proof_.particle_count == problem_.particles && proof_.is_energy_kept() && proof_.is_at_rest() &&
                        proof_.are_forces_right();
    return {passed, describe_problem()};
  }
  // Moves one particle of the sample and makes it faster: then the force, the energy and the momentum are wrong.
  void corrupt() {
    Particles& p = simulation_.particles;
    for (std::size_t i = 0; i < p.count; ++i)
      if (p.number[i] == prover_.sampled(Prover<Link>::samples / 2)) p.at[i].c[0] += 0.01, p.velocity[i].c[0] += 100;
  }
  Work work() const {
    const auto n = static_cast<double>(problem_.particles), steps = static_cast<double>(problem_.steps);
    return {{"particle_steps", n * steps},
            {"flops", flops_of_place * places_ + 12 * n * steps},
            {"bytes", 4 * places_ + 8 * sizeof(Point) * n * steps},
            {"pairs", places_}};
  }
  std::string details() const {
    json::Object out;
    out.add("particles", static_cast<double>(proof_.particle_count))
        .add("steps", static_cast<double>(proof_.steps))
        .add("rebuilds", static_cast<double>(simulation_.rebuilds()))
        .add("blocks", json::text(join({cut_.blocks[0], " x ", cut_.blocks[1], " x ", cut_.blocks[2]})))
        .add("before", describe_state(proof_.before))
        .add("after", describe_state(proof_.after))
        .add("energy_allowed", proof_.energy_allowed())
        .add("energy_kept", proof_.is_energy_kept() ? "true" : "false")
        .add("momentum_zero", proof_.is_at_rest() ? "true" : "false")
        .add("force_error", proof_.force_error)
        .add("forces_right", proof_.are_forces_right() ? "true" : "false");
    return out.str();
  }

 private:
  Block check_room(int here, int rank) const {
    const Block block(box_, cut_, rank);
    const std::size_t bytes = static_cast<std::size_t>(here) * Simulation<Link>::bytes(block);
    if (std::size_t available = available_memory(); bytes > available)
      throw CaseError(join({"not enough memory: particles='", problem_.particles, "' need ", bytes >> 20,
                            " MiB on this host, but ", available >> 20, " MiB may be used"}));
    return block;
  }
  std::string describe_problem() const {
    const double drift = proof_.after.modified - proof_.before.modified;
    return join({proof_.particle_count, " of ", problem_.particles,
                 " particles; the energy of one, but for the step's known error, changed by ", drift, " (allowed ",
                 proof_.energy_allowed(), "); its momentum is ", proof_.momentum_drift(), " (allowed ",
                 Proof::momentum_allowed, "); forces on ", Prover<Link>::samples, " particles are ", proof_.force_error,
                 " off direct sums over all (allowed ", Proof::force_allowed, ")"});
  }
  static std::string describe_state(const State& s) {
    return json::Object()
        .add("kinetic", s.kinetic)
        .add("potential", s.potential)
        .add("correction", s.correction)
        .add("momentum_x", s.momentum[0])
        .add("momentum_y", s.momentum[1])
        .add("momentum_z", s.momentum[2])
        .str();
  }

  const Problem& problem_;
  Link& link_;
  Team& team_;
  const Box box_;
  const Decomposition cut_;
  const Block block_;
  Simulation<Link> simulation_;
  Prover<Link> prover_;
  Proof proof_;
  double places_ = 0;  // places in neighbour lists: the sum over all steps and processes
};

}  // namespace steelyard::md
