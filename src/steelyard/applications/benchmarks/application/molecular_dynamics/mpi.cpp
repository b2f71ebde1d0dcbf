// Molecular dynamics on ranks (MPI): each rank has a block of the box, and its threads share this block.
#include "../rank_team.h"
#include "dynamics.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::md;

namespace {

class MessageLink {
 public:
  MessageLink(const Ranks& ranks, const Decomposition& cut) : comm_(ranks.comm()), alone_(ranks.size() == 1) {
    for (int d = 0; d < 3; ++d)
      for (std::size_t side : {0, 1}) peers_[d][side] = cut.neighbour(ranks.rank(), d, side == 0 ? -1 : 1);
  }
  std::array<std::size_t, 2> counts(int d, std::array<std::size_t, 2> out) {
    std::array<unsigned long, 2> gives{out[0], out[1]}, gets{};
    MPI_Request all[4];
    for (std::size_t side : {0, 1}) {
      // The message that one rank sends downwards arrives from above: the tag is the direction in which it travels.
      MPI_Irecv(&gets[side], 1, MPI_UNSIGNED_LONG, peers_[d][side], tag(d, 1 - side), comm_, &all[side]);
      MPI_Isend(&gives[side], 1, MPI_UNSIGNED_LONG, peers_[d][side], tag(d, side), comm_, &all[2 + side]);
    }
    complete(4, all);
    return {gets[0], gets[1]};
  }
  void exchange_mail(int d, Mail& mail) {
    MPI_Request all[4];
    for (std::size_t side : {0, 1})
      MPI_Irecv(mail.in[side].data(), static_cast<int>(mail.in[side].size()), MPI_DOUBLE, peers_[d][side],
                tag(d, 1 - side), comm_, &all[side]);
    for (std::size_t side : {0, 1})
      MPI_Isend(mail.out[side].data(), static_cast<int>(mail.out[side].size()), MPI_DOUBLE, peers_[d][side],
                tag(d, side), comm_, &all[2 + side]);
    complete(4, all);
  }
  void sum(double* values, std::size_t n) { reduce(values, n, MPI_SUM); }
  double greatest(double value) {
    reduce(&value, 1, MPI_MAX);
    return value;
  }

 private:
  static int tag(int d, std::size_t towards) { return 2 * d + static_cast<int>(towards); }
  void reduce(double* values, std::size_t n, MPI_Op how) {
    if (alone_) return;
    std::vector<double> mine(values, values + n);
    steelyard::reduce(mine.data(), values, n, comm_, how);
  }
  MPI_Comm comm_;
  const bool alone_;
  std::array<std::array<int, 2>, 3> peers_{};
};

struct MolecularDynamics {
  static constexpr bool whole = true;
  Problem problem;
  MemoryPolicy policy;
  std::unique_ptr<Team> team;
  MessageLink link;
  Dynamics<MessageLink> dynamics;

  MolecularDynamics(Params& p, Ranks& ranks)
      : problem(p, "mpi"),
        policy(p),
        team(team_of(ranks, p.count("threads", 1))),
        link(ranks, Decomposition(Box(problem.particles), ranks.size())),
        dynamics(problem, policy, link, *team, ranks.size(), ranks.rank(), static_cast<int>(ranks.sharing_host())) {}
  void prepare(std::size_t) {
    team->each([&](Worker w) { dynamics.prepare(w); });
  }
  void run(std::size_t) {
    team->each([&](Worker w) { dynamics.run(w); });
  }
  Work work() const { return dynamics.work(); }
  Check check() { return dynamics.check(); }
  void corrupt() { dynamics.corrupt(); }
  std::string details() const { return dynamics.details(); }
};

}  // namespace

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<MolecularDynamics>("dynamics")}); }
