// The solver, which all threads run together: a time step, and the adaptation of the mesh between two steps.
#pragma once
#include "../npb/verification.h"
// problem.h defines what verification.h declares
#include "../npb/problem.h"
#include "../npb/threads.h"
#include "convection.h"
#include "state.h"
#include "transfer.h"

namespace steelyard::npb::ua {

// All threads call each member function that has a Worker at the same time.
class Solver {
 public:
  enum Phase { adapting, convecting, guessing, operating, summing, finishing };
  static inline const std::vector<std::string> phase_names = {"adaptation", "convection",  "initial guess",
                                                              "operator",   "mortar sums", "new temperature"};

  Solver(const Class& problem, const Bounds& most, const MemoryPolicy& policy, Team& team, PhaseTimes& phases)
      : class_(problem),
        dt_(step_of(problem)),
        team_(team),
        sum_(team),
        phases_(phases),
        meshes_{Octree(problem.finest), Octree(problem.finest)},
        state_(most, policy, team),
        maker_(state_.topology, tables_, dt_) {}

  // Creates the mesh of the start, with a temperature of 0.
  void start(Worker w) {
    adapt(w, 0, false);
    set_to_zero(w);
  }
  void set_to_zero(Worker w) {
    state_.each_block(w, [&](std::size_t b) { std::fill_n(state_.node_values(b), nodes * lanes, 0.0); });
    team_.barrier().wait();
  }

  // Creates the mesh around the source after `step` steps, and transfers the solution to it.
  void adapt(Worker w, int step, bool carry = true) {
    team_.barrier().wait();
    if (w.index == 0) {
      std::swap(meshes_[0], meshes_[1]);
      state_.swap_temperatures();
      meshes_[0].build(centre_at(step * dt_), class_.radius);
    }
    team_.barrier().wait();
    state_.topology.number(w, meshes_[0]);
    state_.refuse_overflow();
    Share& share = state_.topology.share(w);
    SplitLists(state_.topology, share).make(w);
    SourceLists(state_.topology, share).make();
    if (carry) state_.each_block(w, [&](std::size_t b) { carry_over(b); });
    prepare_blocks(w);
    mark(w, adapting);
  }

  void step(Worker w, double time) {
    advance_convection(w, time);
    double rho = set_initial_guess(w), alpha = 0, beta = 0;
    for (int i = 0; i < iterations; ++i) {
      alpha = rho / sum_(w, apply_operator(w, i > 0, alpha, beta));
      mark(w, operating);
      if (i + 1 == iterations) break;
      double next = sum_(w, reduce(w, alpha));
      beta = next / rho, rho = next;
      update_direction(w, alpha, beta);
      mark(w, summing);
    }
    finish(w, alpha);
  }

  // Returns this thread's share of the integral of the temperature.
  double integral(Worker w) const {
    double out = 0;
    state_.each_block(w, [&](std::size_t b) {
      Pack sum{}, half = state_.blocks[b].edge / 2;
      for (std::size_t n = 0; n < nodes; ++n) sum += node_weight[n] * pack_at(state_.node_values(b) + n * lanes);
      out += total(sum * half * half * half);
    });
    return out;
  }

  std::size_t elements() const { return meshes_[0].leaves().size(); }
  const State& state() const { return state_; }

 private:
  void mark(Worker w, Phase phase) {
    if (w.index == 0) phases_.end_phase(phase);
  }

  void carry_over(std::size_t b) {
    FormerSolution former(meshes_[1], state_.former_values());
    const auto& leaves = meshes_[0].leaves();
    double* to = state_.node_values(b);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::size_t e = b * lanes + lane;
      Values values = e < leaves.size() ? former.values(leaves[e]) : Values{};
      for (std::size_t n = 0; n < nodes; ++n) to[n * lanes + lane] = values[n];
    }
  }

  // Computes the coefficients and the preconditioner: the diagonal is a sum over parts, like any other result.
  void prepare_blocks(Worker w) {
    const Share& share = state_.topology.share(w);
    double* parts = state_.parts.data();
    state_.each_block(w, [&](std::size_t b) { state_.blocks[b] = maker_.make(b, parts); });
    maker_.split_parts(w, share, parts);
    team_.barrier().wait();
    each_mortar<Sources::all>(share, parts, [&](int slot, Pack sum, const Batch&) {
      pack_at(state_.inverse.data() + slot) = sum > 0.0 ? 1 / sum : Pack{};
    });
    team_.barrier().wait();
  }

  // Computes the explicit half of the step. The initial guess is the average of the parts that it writes.
  void advance_convection(Worker w, double time) {
    state_.each_block(w, [&](std::size_t b) {
      const Block& block = state_.blocks[b];
      double *temperature = state_.node_values(b), *parts = state_.part(b), *x = State::inside(state_.inside_x, b);
      Convection(block, class_.radius, dt_).advance(temperature, time);
      for (std::size_t place = 0; place < surface; ++place)
        pack_at(parts + place * lanes) = pack_at(temperature + node_at[place] * lanes);
      for (std::size_t c = 0; c < 8; ++c) pack_at(parts + corner_node(c) * lanes) *= block.corner_weight[c];
      for (std::size_t n = 0; n < inner; ++n) pack_at(x + n * lanes) = pack_at(temperature + inner_node(n) * lanes);
    });
    team_.barrier().wait();
    mark(w, convecting);
  }

  // Computes the initial guess, its residual and the first direction. Returns the square of the residual.
  double set_initial_guess(Worker w) {
    const Share& share = state_.topology.share(w);
    double *parts = state_.parts.data(), *x = state_.x.data();
    each_mortar<Sources::direct>(
        share, parts, [&](int slot, Pack sum, const Batch& batch) { pack_at(x + slot) = sum * batch.scale; });
    team_.barrier().wait();
    project_to_mortars(share, x);
    Pack rho{};
    state_.each_block(w, [&](std::size_t b) { rho += start_inside(b); });
    project_back(share, parts);
    team_.barrier().wait();
    each_mortar<Sources::all>(share, parts, [&](int slot, Pack sum, const Batch&) {
      Pack z = sum * pack_at(state_.inverse.data() + slot);
      pack_at(state_.r.data() + slot) = sum;
      pack_at(state_.p.data() + slot) = z;
      rho += sum * z;
    });
    double out = sum_(w, total(rho));
    mark(w, guessing);
    return out;
  }

  Pack start_inside(std::size_t b) {
    Pack u[nodes];
    load_surface(state_.topology, b, state_.x.data(), reinterpret_cast<double*>(u));
    const double* x = State::inside(state_.inside_x, b);
    for (std::size_t n = 0; n < inner; ++n) u[inner_node(n)] = pack_at(x + n * lanes);
    residual(state_.blocks[b], state_.node_values(b), u, state_.part(b));
    double* r = State::inside(state_.inside_r, b);
    std::copy_n(state_.part(b) + surface * lanes, inner * lanes, r);
    return square_residual_inside(state_.blocks[b], r);
  }

  // Applies the operator to the direction. Returns this thread's share of their product. The direction of inside nodes
  // is updated here, where it is needed, and the solution moves along the last direction.
  double apply_operator(Worker w, bool follows, double alpha, double beta) {
    const Share& share = state_.topology.share(w);
    project_to_mortars(share, state_.p.data());
    Pack product{};
    state_.each_block(w, [&](std::size_t b) {
      Pack u[nodes];
      const Block& block = state_.blocks[b];
      load_surface(state_.topology, b, state_.p.data(), reinterpret_cast<double*>(u));
      turn_inside(block, State::inside(state_.inside_r, b), State::inside(state_.inside_p, b),
                  State::inside(state_.inside_x, b), alpha, beta, follows, u);
      product += apply(block, u, state_.part(b));
    });
    project_back(share, state_.parts.data());
    return total(product);
  }

  // Subtracts alpha times the operator's result from the residual. Returns this thread's share of its new square.
  double reduce(Worker w, double alpha) {
    Pack rho{};
    each_mortar<Sources::all>(state_.topology.share(w), state_.parts.data(), [&](int slot, Pack sum, const Batch&) {
      Pack r = pack_at(state_.r.data() + slot) - alpha * sum;
      pack_at(state_.r.data() + slot) = r;
      rho += r * r * pack_at(state_.inverse.data() + slot);
    });
    state_.each_block_back(w, [&](std::size_t b) {
      const double* parts = state_.part(b) + surface * lanes;
      double* r = State::inside(state_.inside_r, b);
      for (std::size_t n = 0; n < inner * lanes; n += lanes) pack_at(r + n) -= alpha * pack_at(parts + n);
      rho += square_residual_inside(state_.blocks[b], r);
    });
    return total(rho);
  }

  // Computes the next direction at the mortars.
  void update_direction(Worker w, double alpha, double beta) {
    each_slot(state_.topology.share(w), [&](int slot) {
      Pack& p = pack_at(state_.p.data() + slot);
      pack_at(state_.x.data() + slot) += alpha * p;
      p = pack_at(state_.r.data() + slot) * pack_at(state_.inverse.data() + slot) + beta * p;
    });
    team_.barrier().wait();
  }

  // Moves the solution along the last direction, and computes the new temperature from it.
  void finish(Worker w, double alpha) {
    const Share& share = state_.topology.share(w);
    double* x = state_.x.data();
    each_slot(share, [&](int slot) { pack_at(x + slot) += alpha * pack_at(state_.p.data() + slot); });
    team_.barrier().wait();
    project_to_mortars(share, x);
    state_.each_block(w, [&](std::size_t b) {
      double* temperature = state_.node_values(b);
      const double *inside_x = State::inside(state_.inside_x, b), *inside_p = State::inside(state_.inside_p, b);
      load_surface(state_.topology, b, x, temperature);
      for (std::size_t n = 0; n < inner; ++n)
        pack_at(temperature + inner_node(n) * lanes) =
            pack_at(inside_x + n * lanes) + alpha * pack_at(inside_p + n * lanes);
    });
    mark(w, finishing);
  }

  Class class_;
  double dt_;
  Team& team_;
  ThreadSum sum_;
  PhaseTimes& phases_;
  Octree meshes_[2];  // the current mesh and the one before
  State state_;
  DiagonalTables tables_;
  BlockMaker maker_;
};

}  // namespace steelyard::npb::ua
