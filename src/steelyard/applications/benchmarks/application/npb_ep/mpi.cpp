// EP on MPI ranks: each rank computes its share of the batches. One sum over all ranks follows at the end.
#include "ep.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct EP {
  static constexpr bool whole = true;
  Problem problem;
  Ranks& ranks;
  EpSums state;
  std::vector<double> mine, all;  // the sums of every batch, 0 for batches of other ranks, then the counts
  PhaseTimes phases;

  EP(Params& p, Ranks& r)
      : problem(p, "mpi", "SWABCD", Growth::any),
        ranks(r),
        state(ep_class(problem)),
        phases(problem.phases, {"pairs", "sums"}) {
    std::size_t values = 2 * EpSums::batches + bins;
    problem.require(2 * values * sizeof(double) * r.sharing_host());
    mine.resize(values), all.resize(values);
  }
  void prepare(std::size_t) {}
  void run(std::size_t) {
    phases.begin();
    auto [first, last] =
        Worker{static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size())}.part(EpSums::batches, 1);
    EpSums::Counts counts = state.add(first, last, mine.data());
    std::copy(counts.begin(), counts.end(), mine.end() - bins);
    phases.end_phase(0);
    reduce(mine.data(), all.data(), all.size(), ranks.comm());
    std::copy(all.end() - bins, all.end(), counts.begin());
    state.finish(all.data(), counts);
    phases.end_phase(1);
  }
  Work work() const { return {{"operations", state.operations()}}; }
  Check check() { return state.verification().check(); }
  void corrupt() {
    state.make_wrong();
    run(1);
  }
  std::string details() const { return state.details(problem, phases).str(); }
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<EP>("ep")}); }
