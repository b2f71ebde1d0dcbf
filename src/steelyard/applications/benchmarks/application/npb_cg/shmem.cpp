// NPB CG in a partitioned global address space (OpenSHMEM): ranks put into each other's symmetric memory.
#include <shmem.h>

#include "rank_solver.h"

using namespace steelyard;
using namespace steelyard::npb::cg;

class SymmetricLink {
 public:
  static constexpr const char* model = "shmem";

  SymmetricLink(Ranks& ranks, const MemoryPolicy&, std::size_t doubles, std::size_t stages)
      : patience_(ranks), sent_(stages) {
    start();
    std::size_t bytes = (doubles + stages) * sizeof(double);
    data_ = static_cast<double*>(shmem_align(64, bytes));
    all_or_none(ranks, [&] {
      if (!data_)
        throw CaseError(join(
            {"the symmetric heap has no room for ", bytes >> 20, " MiB more: increase SHMEM_SYMMETRIC_HEAP_SIZE"}));
    });
    come_ = reinterpret_cast<std::uint64_t*>(data_ + doubles);
    std::memset(data_, 0, bytes);
  }
  ~SymmetricLink() { shmem_free(data_); }

  double* data() const { return data_; }
  void exchange(std::size_t stage, int partner, const double* from, std::size_t to, std::size_t, std::size_t count) {
    shmem_putmem(data_ + to, from, count * sizeof(double), partner);
    shmem_fence();
    shmem_uint64_p(come_ + stage, ++sent_[stage], partner);
    patience_.wait_until([&] { return shmem_uint64_test(come_ + stage, SHMEM_CMP_GE, sent_[stage]) != 0; });
  }

 private:
  // Called once in a program, after MPI: both are in the same process.
  static void start() {
    static bool started = false;
    if (!std::exchange(started, true)) shmem_init();
  }

  BackoffWait patience_;
  double* data_ = nullptr;
  std::uint64_t* come_ = nullptr;
  std::vector<std::uint64_t> sent_;  // signals sent in each stage
};

int main(int argc, char** argv) {
  int code = serve_ranks(argc, argv, {rank_kernel<RankCG<SymmetricLink>>("cg")});
  // MPI has ended both. Open MPI's exit handler would end OpenSHMEM again, and call code that is already unloaded.
  _exit(code);
}
