// Finite elements by messages (MPI): each rank has a box of the mesh's nodes, whose lines its threads share.
#include <optional>

#include "../../../../measure/benchmarks/network/windows.h"
#include "../npb/threads.h"
#include "../rank_team.h"
#include "halo.h"
#include "model.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::finite_elements;

// Between ranks the team's first thread alone talks.
class RankLink {
 public:
  RankLink(const Part& part, Ranks& ranks, Team& team)
      : comm_(ranks.comm()), halo_(part, ranks.comm()), team_(team), total_(team) {}
  template <class Call>
  void each(const Call& call) {
    team_.each(call);
  }
  void meet(Worker) { team_.barrier().wait(); }
  void exchange(Worker w, double* vector) {
    meet(w);
    if (w.index == 0) halo_.exchange(vector);
    meet(w);
  }
  // The next sum begins with a meeting of all threads: none still reads this one when it is overwritten.
  template <std::size_t n>
  std::array<double, n> sum(Worker w, std::array<double, n> mine) {
    static_assert(n <= npb::ThreadSum::most);
    std::array<double, n> ours = total_(w, mine);
    if (w.index == 0) {
      ours = all(ours, MPI_SUM);
      std::copy(ours.begin(), ours.end(), everyones_.begin());
    }
    meet(w);
    std::copy_n(everyones_.begin(), n, ours.begin());
    return ours;
  }
  void combine_proofs(Proof& proof) {
    put_together(proof.sums(), MPI_SUM);
    put_together(proof.maxima(), MPI_MAX);
  }

 private:
  template <std::size_t n>
  void put_together(std::array<double*, n> where, MPI_Op how) {
    std::array<double, n> mine;
    for (std::size_t i = 0; i < n; ++i) mine[i] = *where[i];
    mine = all(mine, how);
    for (std::size_t i = 0; i < n; ++i) *where[i] = mine[i];
  }
  template <std::size_t n>
  std::array<double, n> all(std::array<double, n> mine, MPI_Op how) {
    std::array<double, n> out;
    reduce(mine.data(), out.data(), n, comm_, how);
    return out;
  }

  MPI_Comm comm_;
  Halo halo_;
  Team& team_;
  npb::ThreadSum total_;  // of this rank's threads
  std::array<double, npb::ThreadSum::most> everyones_{};
};

template <Stage stage>
struct FiniteElements {
  static constexpr bool whole = true;
  Ranks& ranks;
  std::unique_ptr<Team> team;
  Request request;
  Part part;
  RankLink link;
  Model<RankLink, stage> model;

  FiniteElements(Params& p, Ranks& all)
      : ranks(all),
        team(team_of(all, p.count("threads", 1))),
        request(p, "mpi"),
        part(require_memory()),
        link(part, all, *team),
        model(request, part, *team, link) {}
  void prepare(std::size_t) {
    team->each([&](Worker w) { model.prepare(w); });
  }
  void run(std::size_t) {
    team->each([&](Worker w) { model.run(w); });
  }
  Work work() const { return model.work(); }
  Check check() { return model.check(); }
  void corrupt() { model.corrupt(); }
  std::string details() const { return model.details(); }

 private:
  Part require_memory() const {
    std::optional<Part> mine;
    all_or_none(ranks, [&] {
      mine.emplace(find_part(request.elements, ranks.size(), ranks.rank()));
      request.require(*mine, ranks.sharing_host());
    });
    return *mine;
  }
};

int main(int argc, char** argv) {
  return serve_ranks(
      argc, argv,
      {rank_kernel<FiniteElements<Stage::program>>("program"), rank_kernel<FiniteElements<Stage::assembly>>("assembly"),
       rank_kernel<FiniteElements<Stage::solver>>("solver")});
}
