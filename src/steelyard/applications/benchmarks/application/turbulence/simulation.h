// The simulation on threads and on ranks: a number of steps, from the vortex of Taylor and Green on.
//
// A Link moves fields between columns and planes, and adds values: `to_planes(flow)`, `to_columns(flow)`,
// `sum(values)`.
#pragma once
#include "../npb/problem.h"
#include "proof.h"

namespace steelyard::turbulence {

// The parameters of a case.
struct Request {
  Grid grid;
  std::size_t steps;
  bool phases;
  MemoryPolicy policy;

  Request(Params& p, const std::string& model)
      : grid(p.count("points", 262144)),
        steps(p.count("steps", 8)),
        phases(p.choice("phases", "off", {"off", "on"}) == "on"),
        policy(p) {
    p.choice("model", model, {model});
    auto most = static_cast<std::size_t>(longest / grid.step());
    if (steps < 1 || steps > most)
      throw CaseError(join({"steps='", steps, "' cannot be verified on ", grid.words(), ": expected 1 to ", most}));
  }
  // Checks the memory before the allocation, for this number of ranks on this host and of threads per rank.
  void require(std::size_t ranks, std::size_t me, std::size_t here, std::size_t threads) const {
    std::size_t most = std::min(grid.z.n, grid.columns);
    if (ranks > most)
      throw CaseError(join({"ranks='", ranks, "' cannot share ", grid.words(), ": expected 1 to ", most}));
    auto bytes = static_cast<std::size_t>(Flow::bytes(grid, ranks, me, threads)) * here;
    if (std::size_t available = available_memory(); bytes > available)
      throw CaseError(join({"not enough memory: ", grid.words(), " need ", bytes >> 20, " MiB on this host, but ",
                            available >> 20, " MiB may be used"}));
  }
};

template <class Link>
class Simulation {
 public:
  Simulation(const Request& request, std::size_t ranks, std::size_t me, Team& team, Link& link)
      : request_(request),
        team_(team),
        link_(link),
        flow_(request.grid, ranks, me, request.policy, team),
        phases_(request.phases, {"columns", "to planes", "planes", "to columns"}) {}

  // Clears the result: the result of an earlier run would pass the check.
  void prepare(Worker w) {
    if (w.index == 0) ran_ = 0;
    flow_.begin(w);
  }
  void run(Worker w) {
    if (w.index == 0) phases_.begin();
    flow_.compute_fields(w);
    const std::size_t all = stages * request_.steps;
    for (std::size_t i = 0; i < all; ++i) {
      move_between_phases(w, 0, [&] { link_.to_planes(flow_); });
      flow_.multiply(w);
      move_between_phases(w, 2, [&] { link_.to_columns(flow_); });
      flow_.advance(w, i % stages, i + 1 == all);
    }
    if (w.index == 0) phases_.end_phase(0), ran_ = request_.steps;
  }
  void corrupt() { flow_.make_wrong(); }
  Work work() const {
    const Grid& g = request_.grid;
    double steps = static_cast<double>(request_.steps), modes = static_cast<double>(g.columns * g.z.modes());
    // Velocities and the last stage's changes are read and written. Six fields go to the planes, and three come back.
    double number = 16 * lanes, way = static_cast<double>(g.columns * g.z.n) * (six + three) * 2;
    double bytes = stages * number * (modes * three * 4 + way);
    return {{"operations", steps * g.points()},
            {"points", g.points()},
            {"steps", steps},
            {"flops", steps * flow_.flops()},
            {"bytes", steps * bytes},
            {"working_set", number * (modes * three * 2 + way / 2)}};
  }
  Check check() {
    std::vector<Sums> shares(team_.size());
    team_.each([&](Worker w) { shares[w.index] = flow_.sums(w); });
    proof_ = {};
    for (Sums& share : shares)
      for (std::size_t i = 0; i < share.all().size(); ++i) *proof_.sums.all()[i] += *share.all()[i];
    link_.sum(proof_.sums.all());
    proof_.time = static_cast<double>(ran_) * request_.grid.step();
    if (ran_ == 0) return {false, "nothing ran"};
    return proof_.check(allowed());
  }
  std::string details() const {
    const Grid& g = request_.grid;
    json::Object out;
    out.add("points", json::list(std::vector<std::size_t>{g.x.n, g.y.n, g.z.n}))
        .add("time", proof_.time)
        .add("energy", proof_.sums.energy())
        .add("enstrophy", proof_.sums.enstrophy)
        .add("energy_off", proof_.energy_error())
        .add("enstrophy_off", proof_.enstrophy_error())
        .add("divergence", proof_.divergence());
    if (request_.phases) out.add("phases", phases_.json());
    return out.str();
  }

 private:
  // All threads have ended a phase. One worker then moves the fields to the next phase.
  template <class Carry>
  void move_between_phases(Worker w, std::size_t phase, Carry carry) {
    team_.barrier().wait();
    if (w.index == 0) phases_.end_phase(phase), carry(), phases_.end_phase(phase + 1);
    team_.barrier().wait();
  }
  // The error of third-order steps is 0.0026 times their cube in each unit of time, plus rounding.
  double allowed() const {
    double step = request_.grid.step();
    return 0.005 * step * step * step * proof_.time + 1e-13;
  }

  Request request_;
  Team& team_;
  Link& link_;
  Flow flow_;
  npb::PhaseTimes phases_;
  Proof proof_;
  std::size_t ran_ = 0;
};

}  // namespace steelyard::turbulence
