// A kernel of many ranks carried out once, by itself: once PARAMETER ... OPERATIONS. KERNEL is the file with the
// kernel's main.
//
// MPI_Pcontrol marks what is timed, so that it is the first region of a trace. Rank 0 prints the seconds of the slowest
// rank, and whether the result is right.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rank_kernel.h"

namespace steelyard {
int serve_once(int argc, char** argv, std::vector<NamedRankKernel> kernels);
}
#define serve_ranks serve_once
#include KERNEL
#undef serve_ranks

namespace steelyard {
namespace {

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
  const double began = MPI_Wtime();
  made->run(operations);
  double mine = MPI_Wtime() - began, most = 0;
  MPI_Pcontrol(0);
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, ranks.comm());
  int right = made->check().passed, all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, ranks.comm());
  if (ranks.rank() == 0) std::printf("%.9f %s\n", most, all ? "right" : "wrong");
}

}  // namespace

int serve_once(int argc, char** argv, std::vector<NamedRankKernel> kernels) {
  if (argc < 3) return 2;
  MPI_Init(&argc, &argv);
  {
    Ranks ranks(allowed_processors(), 1);
    std::string words;
    for (int i = 1; i + 1 < argc; ++i) words.append(argv[i]).append(" ");
    Params params(words);
    ranks.muster(true);
    std::string name = params.word("kernel", kernels.front().name);
    auto named = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == name; });
    if (named == kernels.end()) return 2;
    carry_out(*named, params, ranks, static_cast<std::size_t>(std::atoll(argv[argc - 1])));
  }
  MPI_Finalize();
  return 0;
}

}  // namespace steelyard
