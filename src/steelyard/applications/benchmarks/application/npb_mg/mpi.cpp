// MG on MPI ranks: each rank has a box of every large level. Every rank solves the small levels as a whole.
#include "halo.h"
#include "mg.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct MG {
  static constexpr bool whole = true;
  static constexpr Worker alone{0, 1};
  Problem problem;
  const MgClass c;
  MemoryPolicy policy;
  Ranks& ranks;
  Multigrid grids;
  Halo halo;
  Extremes charges;
  MgResult result;
  PhaseTimes phases;
  bool spoilt = false;

  MG(Params& p, Ranks& r)
      : problem(p, "mpi", "SWABCD", Growth::doubled),
        c(mg_class(problem)),
        policy(p),
        ranks(r),
        grids(c, require_memory(), policy, r.team()),
        halo(grids.layout(), grids.right(c.levels()), r.comm()),
        result{c, 0, 0, false, {}},
        phases(problem.phases, mg_phases(c)) {
    auto [first, last] = Worker{static_cast<std::size_t>(r.rank()), static_cast<std::size_t>(r.size())}.part(c.count());
    Extremes mine;
    mine.draw(first, last);
    share_extremes(mine);
  }
  void prepare(std::size_t) {
    auto meet = [] {};
    grids.fill(alone, charges, meet);
    begin();
    run_cycle(0);
    grids.fill(alone, charges, meet);
    if (spoilt) grids.put_charge(0, 1);
  }
  void run(std::size_t) {
    phases.begin();
    double first = begin(), squares = 0;
    phases.end_phase(0);
    for (int i = 0; i < c.iterations; ++i) squares = run_cycle(i);
    squares = sum(squares);
    end_exchange_phase();
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
    prepare(1);
    run(1);
  }
  std::string details() const { return result.details(problem, phases); }

 private:
  Layout require_memory() const {
    Layout layout = layout_of(c, ranks.size(), ranks.rank());
    problem.require(ranks.sharing_host() * Multigrid::bytes(c, layout, 1));
    return layout;
  }
  // Sends every rank's extremes to all ranks.
  void share_extremes(const Extremes& mine) {
    std::vector<Charge> own = mine.greatest();
    own.insert(own.end(), mine.smallest().begin(), mine.smallest().end());
    own.resize(2 * Extremes::each, own.front());
    std::vector<Charge> all(own.size() * static_cast<std::size_t>(ranks.size()));
    MPI_Request request;
    int bytes = static_cast<int>(own.size() * sizeof(Charge));
    MPI_Iallgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, ranks.comm(), &request);
    complete(1, &request);
    Extremes found;
    for (const Charge& charge : all) found.add(charge);
    charges = found;
  }
  void prove() {
    Grid& last = grids.solution(grids.top(), c.iterations);
    halo.exchange(last, 1);
    result.proof = {};
    result.proof.add(last, grids.right(grids.top()), 0, last.extent.points[2]);
    result.proof = {sum(result.proof.squares), sum(result.proof.sum)};
  }
  double sum(double mine) {
    double total = mine;
    if (ranks.size() > 1) reduce(&mine, &total, 1, ranks.comm());
    return total;
  }
  void end_exchange_phase() { phases.end_phase(static_cast<std::size_t>(c.levels()) + 1); }
  void exchange(Grid& grid, int depth) {
    halo.exchange(grid, depth);
    end_exchange_phase();
  }
  double begin() { return sum(grids.begin(alone)); }
  double run_cycle(int iteration) {
    int top = grids.top(), whole = grids.whole_level();
    for (int k = top - 1; k > 1; --k) {
      if (k > whole) exchange(grids.right(k), 1);
      if (k == whole && whole < top) halo.gather(grids.share(), grids.right(k)), end_exchange_phase();
      grids.restrict_to_coarser(k, alone);
      phases.end_phase(static_cast<std::size_t>(k));
    }
    grids.solve_last();
    for (int k = 2; k < top; ++k) {
      grids.correct_and_smooth(k, alone);
      phases.end_phase(static_cast<std::size_t>(k));
      if (k > whole) exchange(grids.solution(k), 2);
    }
    double squares = grids.finish_cycle(iteration, alone);
    phases.end_phase(static_cast<std::size_t>(top));
    if (whole < top && iteration + 1 < c.iterations) exchange(grids.solution(top, iteration + 1), Grid::halo);
    return squares;
  }
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<MG>("mg")}); }
