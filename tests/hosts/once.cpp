// A kernel of many ranks carried out once, by itself: once PARAMETERS OPERATIONS. KERNEL is the file with the kernel's
// main.
//
// MPI_Pcontrol marks what is timed, so that a trace of it has that as its first region. Rank 0 prints the seconds of
// the slowest rank, those for which a rank waited for its processor, and whether the result is right.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "rank_kernel.h"

namespace steelyard {
int serve_once(int argc, char** argv, std::vector<NamedRankKernel> kernels);
}
#define serve_ranks serve_once
#include KERNEL
#undef serve_ranks

namespace steelyard {
namespace {

// Seconds for which this process was ready and had no processor, so far.
double preempted() {
  double running = 0, waiting = 0;
  std::ifstream("/proc/self/schedstat") >> running >> waiting;
  return 1e-9 * waiting;
}

// All pairs connect: the first message between two ranks takes several round trips.
void connect(const Ranks& ranks) {
  std::vector<char> out(static_cast<std::size_t>(ranks.size())), in(out);
  MPI_Alltoall(out.data(), 1, MPI_CHAR, in.data(), 1, MPI_CHAR, ranks.comm());
}

void carry_out(const NamedRankKernel& kernel, Params& params, Ranks& ranks, std::size_t operations) {
  auto made = kernel.make(params, ranks);
  connect(ranks);
  made->prepare(operations);
  MPI_Barrier(ranks.comm());
  MPI_Pcontrol(1);
  double waited = preempted(), began = MPI_Wtime();
  made->run(operations);
  double mine[2] = {MPI_Wtime() - began, preempted() - waited}, most[2];
  MPI_Pcontrol(0);
  MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, ranks.comm());
  int right = made->check().passed, all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, ranks.comm());
  if (ranks.rank() == 0) std::printf("%.9f %.9f %s\n", most[0], most[1], all ? "right" : "wrong");
}

}  // namespace

int serve_once(int argc, char** argv, std::vector<NamedRankKernel> kernels) {
  if (argc < 3) return 2;
  MPI_Init(&argc, &argv);
  {
    Ranks ranks(allowed_processors(), 1);
    Params params(argv[1]);
    ranks.muster(true);
    carry_out(kernels.front(), params, ranks, static_cast<std::size_t>(std::atoll(argv[2])));
  }
  MPI_Finalize();
  return 0;
}

}  // namespace steelyard
