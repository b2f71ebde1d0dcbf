// UA, heat carried and spread on a mesh that follows its source, by the threads of one team.
#include <array>

#include "solver.h"

namespace steelyard::npb::ua {

// The meshes that a run goes through, found beforehand: how much memory and work it takes.
struct MeshHistory {
  std::size_t most = 0;  // elements at once
  double element_steps = 0;

  explicit MeshHistory(const Class& problem) {
    Octree mesh(problem.finest);
    std::size_t now = 0;
    for (int step = 0; step <= problem.steps; ++step) {
      if (step % adapt_every == 0 && step < problem.steps) {
        mesh.build(centre_at(step * step_of(problem)), problem.radius);
        now = mesh.leaves().size();
        most = std::max(most, now);
      }
      if (step > 0) element_steps += static_cast<double>(now);
    }
  }
};

struct UA {
  static constexpr bool whole = true;

  Problem problem;
  Class size;
  Team& team;
  PhaseTimes phases;
  MeshHistory course;
  Solver solver;
  Verification verification{tolerance, {}};
  bool ran = false;
  std::vector<std::array<std::size_t, 2>> elements;  // step and count at each adaptation

  UA(Params& p, Team& t)
      : problem(p, thread_model().name, "SWABCD"),
        size(class_of(problem.letter)),
        team(t),
        phases(problem.phases, Solver::phase_names),
        course(size),
        solver(size, provide_bounds(), MemoryPolicy(p), team, phases) {}

  void prepare(Worker w, std::size_t) {
    solver.start(w);
    solver.step(w, 0);
    solver.set_to_zero(w);
    if (w.index != 0) return;
    elements.reserve(static_cast<std::size_t>(size.steps / adapt_every));
    elements.assign(1, {0, solver.elements()});
  }

  void run(Worker w, std::size_t) {
    if (w.index == 0) phases.begin();
    double time = 0, dt = step_of(size);
    for (int step = 1; step <= size.steps; ++step, time += dt) {
      solver.step(w, time);
      if (step % adapt_every != 0 || step == size.steps) continue;
      solver.adapt(w, step);
      if (w.index == 0) elements.push_back({static_cast<std::size_t>(step), solver.elements()});
    }
    if (w.index == 0) ran = true;
  }

  // Bytes: doubles of an element that move between memory and processor where an array is larger than the caches. In
  // an iteration each inside node is touched 9 times (r, p and x read, p and x written; q written and read, r read and
  // written), each of 98 shared parts twice, and some 34 mortars 10 times (p; r twice, inverse; x and p twice, r,
  // inverse), besides some 86 indices: 822 doubles. The rest of a step touches temperature, parts, unknowns: 1326.
  Work work() const {
    constexpr double iteration = 27 * 9 + 98 * 2 + 34 * 10 + 43, rest = 1326;
    return {{"operations", nodes * (iterations + 1) * course.element_steps},
            {"bytes", 8 * (iterations * iteration + rest) * course.element_steps}};
  }

  Check check() {
    if (!ran) return verification.check();
    std::vector<double> shares(team.size());
    team.each([&](Worker w) { shares[w.index] = solver.integral(w); });
    double integral = 0;
    for (double share : shares) integral += share;
    verification.quantities = {{"integral of the temperature", integral, size.integral}};
    return verification.check();
  }

  // Makes the initial temperature wrong at one grid point.
  void corrupt() {
    team.each([&](Worker w) {
      prepare(w, 1);
      if (w.index == 0) solver.state().node_values(0)[nodes / 2 * lanes] = 1;
      team.barrier().wait();
      run(w, 1);
    });
  }

  std::string details() const {
    std::string rows;
    for (auto [step, count] : elements)
      rows.append(rows.empty() ? "[" : ",[")
          .append(std::to_string(step))
          .append(",")
          .append(std::to_string(count))
          .append(1, ']');
    return details_of(problem, verification, phases).add("elements", join({"[", rows, "]"})).str();
  }

 private:
  Bounds provide_bounds() const {
    Bounds most{course.most, team.size(), size.mortars};
    problem.require(most.bytes());
    return most;
  }
};

}  // namespace steelyard::npb::ua

int main() { return steelyard::serve({steelyard::kernel<steelyard::npb::ua::UA>("ua")}); }
