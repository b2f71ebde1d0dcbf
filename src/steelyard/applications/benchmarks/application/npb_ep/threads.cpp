// EP on threads that share memory: each thread computes its share of the batches.
#include "ep.h"
#include "kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct EP {
  static constexpr bool whole = true;
  Problem problem;
  Team& team;
  EpSums state;
  std::vector<double> sums;
  struct alignas(64) Share {
    EpSums::Counts counts;
  };
  std::vector<Share> shares;
  PhaseTimes phases;

  EP(Params& p, Team& t)
      : problem(p, thread_model().name, "SWABCD", Growth::any),
        team(t),
        state(ep_class(problem)),
        phases(problem.phases, {"pairs", "sums"}) {
    problem.require(2 * EpSums::batches * sizeof(double) + t.size() * sizeof(Share));
    sums.resize(2 * EpSums::batches);
    shares.resize(t.size());
  }
  void prepare(Worker, std::size_t) {}
  void run(Worker w, std::size_t) {
    if (w.index == 0) phases.begin();
    auto [first, last] = w.part(EpSums::batches, 1);
    shares[w.index].counts = state.add(first, last, sums.data());
    team.barrier().wait();
    if (w.index != 0) return;
    phases.end_phase(0);
    EpSums::Counts counts{};
    for (const Share& share : shares)
      for (std::size_t l = 0; l < bins; ++l) counts[l] += share.counts[l];
    state.finish(sums.data(), counts);
    phases.end_phase(1);
  }
  Work work() const { return {{"operations", state.operations()}}; }
  Check check() { return state.verification().check(); }
  void corrupt() {
    state.make_wrong();
    team.each([&](Worker w) { run(w, 1); });
  }
  std::string details() const { return state.details(problem, phases).str(); }
};

int main() { return serve({kernel<EP>("ep")}); }
