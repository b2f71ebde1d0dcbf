// MG on threads that share memory: each thread has its boxes of every level.
#include "kernel.h"
#include "mg.h"

using namespace steelyard;
using namespace steelyard::npb;

struct MG {
  static constexpr bool whole = true;
  // One thread computes grids up to 16³: barriers would take longer.
  static constexpr int alone = 4;
  Problem problem;
  const MgClass c;
  MemoryPolicy policy;
  Team& team;
  Multigrid grids;
  Extremes charges;
  ThreadSum sum;
  MgResult result;
  PhaseTimes phases;
  bool spoilt = false;

  MG(Params& p, Team& t)
      : problem(p, thread_model().name, "SWABCD", Growth::doubled),
        c(mg_class(problem)),
        policy(p),
        team(t),
        grids(c, require_memory(), policy, t),
        sum(t),
        result{c, 0, 0, false, {}},
        phases(problem.phases, mg_phases(c)) {
    std::vector<Extremes> found(t.size());
    t.each([&](Worker w) {
      auto [first, last] = w.part(c.count());
      found[w.index].draw(first, last);
    });
    for (const Extremes& e : found) charges.add(e);
  }
  void prepare(Worker w, std::size_t) {
    auto meet = [this] { team.barrier().wait(); };
    grids.fill(w, charges, meet);
    begin(w);
    run_cycle(w, 0);
    grids.fill(w, charges, meet);
    if (w.index == 0 && spoilt) grids.put_charge(0, 1);
    meet();
  }
  void run(Worker w, std::size_t) {
    if (w.index == 0) phases.begin();
    double first = begin(w), squares = 0;
    end_phase(w, 0);
    for (int i = 0; i < c.iterations; ++i) squares = run_cycle(w, i);
    squares = sum(w, squares);
    if (w.index != 0) return;
    result.first = std::sqrt(first / c.points());
    result.finish(squares);
  }
  Work work() const { return result.work(); }
  Check check() {
    if (!result.published()) prove();
    return result.verification().check();
  }
  void corrupt() {
    spoilt = true;
    team.each([&](Worker w) {
      prepare(w, 1);
      run(w, 1);
    });
  }
  std::string details() const { return result.details(problem, phases); }

 private:
  Layout require_memory() const {
    Layout layout{.whole = c.levels(), .longer = c.longer_directions()};
    problem.require(Multigrid::bytes(c, layout, team.size()));
    return layout;
  }
  void prove() {
    const Grid &last = grids.solution(grids.top(), c.iterations), &right = grids.right(grids.top());
    std::vector<MgProof> shares(team.size());
    team.each([&](Worker w) {
      auto [first, end] = w.part(static_cast<std::size_t>(last.extent.points[2]), 1);
      shares[w.index].add(last, right, static_cast<int>(first), static_cast<int>(end));
    });
    result.proof = {};
    for (const MgProof& share : shares) result.proof.squares += share.squares, result.proof.sum += share.sum;
  }
  double begin(Worker w) { return sum(w, grids.begin(w)); }  // the sum is a barrier, too
  double run_cycle(Worker w, int iteration) {
    int top = grids.top(), small = std::min(alone, top - 1);
    for (int k = top - 1; k > small; --k) {
      grids.restrict_to_coarser(k, w);
      meet_and_end_phase(w, k);
    }
    if (w.index == 0) {
      for (int k = small; k > 1; --k) grids.restrict_to_coarser(k, {0, 1}), end_phase(w, k);
      grids.solve_last();
      for (int k = 2; k <= small; ++k) grids.correct_and_smooth(k, {0, 1}), end_phase(w, k);
    }
    meet_and_end_phase(w, small);
    for (int k = small + 1; k < top; ++k) {
      grids.correct_and_smooth(k, w);
      meet_and_end_phase(w, k);
    }
    double squares = grids.finish_cycle(iteration, w);
    meet_and_end_phase(w, top);
    return squares;
  }
  void meet_and_end_phase(Worker w, int level) {
    team.barrier().wait();
    end_phase(w, level);
  }
  void end_phase(Worker w, int phase) {
    if (w.index == 0) phases.end_phase(static_cast<std::size_t>(phase));
  }
};

int main() { return serve({kernel<MG>("mg")}); }
