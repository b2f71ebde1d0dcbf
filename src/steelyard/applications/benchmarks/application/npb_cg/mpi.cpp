// NPB CG with messages (MPI): a swap is a pair of nonblocking messages.
#include "rank_solver.h"

using namespace steelyard;
using namespace steelyard::npb::cg;

class MessageLink {
 public:
  static constexpr const char* model = "mpi";

  MessageLink(Ranks& ranks, const MemoryPolicy& policy, std::size_t doubles, std::size_t)
      : comm_(ranks.comm()), patience_(ranks), arena_(doubles, policy, ranks.team()) {}

  double* data() const { return arena_.data(); }
  void exchange(std::size_t stage, int partner, const double* from, std::size_t, std::size_t in, std::size_t count) {
    MPI_Request both[2];
    int length = static_cast<int>(count), tag = static_cast<int>(stage);
    MPI_Irecv(data() + in, length, MPI_DOUBLE, partner, tag, comm_, &both[0]);
    MPI_Isend(from, length, MPI_DOUBLE, partner, tag, comm_, &both[1]);
    int done = 0;
    patience_.wait_until([&] {
      MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
      return done != 0;
    });
  }

 private:
  MPI_Comm comm_;
  BackoffWait patience_;
  Buffer<double> arena_;
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<RankCG<MessageLink>>("cg")}); }
