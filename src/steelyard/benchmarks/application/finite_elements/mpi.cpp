// Finite elements by messages (MPI): each rank has a box of the mesh's nodes.
#include <optional>

#include "../../network/windows.h"
#include "halo.h"
#include "model.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::finite_elements;

class RankLink {
 public:
  RankLink(const Part& part, Ranks& ranks) : comm_(ranks.comm()), halo_(part, ranks.comm()) {}
  template <class Call>
  void each(const Call& call) {
    call(Worker{0, 1});
  }
  void meet(Worker) {}
  void exchange(Worker, double* vector) { halo_.exchange(vector); }
  template <std::size_t n>
  std::array<double, n> sum(Worker, std::array<double, n> mine) {
    return all(mine, MPI_SUM);
  }
  void combine(Proof& proof) {
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
    MPI_Request request;
    MPI_Iallreduce(mine.data(), out.data(), n, MPI_DOUBLE, how, comm_, &request);
    complete(1, &request);
    return out;
  }

  MPI_Comm comm_;
  Halo halo_;
};

template <Stage stage>
struct FiniteElements {
  static constexpr bool whole = true;
  Ranks& ranks;
  Request request;
  Part part;
  RankLink link;
  Model<RankLink, stage> model;

  FiniteElements(Params& p, Ranks& all)
      : ranks(all), request(p, "mpi"), part(affordable()), link(part, all), model(request, part, all.team(), link) {}
  void prepare(std::size_t) { model.prepare({0, 1}); }
  void run(std::size_t) { model.run({0, 1}); }
  Work work() const { return model.work(); }
  Check check() { return model.check(); }
  void corrupt() { model.corrupt(); }
  std::string details() const { return model.details(); }

 private:
  Part affordable() const {
    std::optional<Part> mine;
    all_or_none(ranks, [&] {
      mine.emplace(part_of(request.elements, ranks.size(), ranks.rank()));
      std::size_t parts = 0;
      for (int other = 0; other < ranks.size(); ++other) parts += ranks.same_host(other, ranks.rank());
      request.require(*mine, parts);
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
