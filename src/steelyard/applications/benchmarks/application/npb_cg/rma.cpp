// NPB CG with one-sided communication (MPI-3): ranks put data into windows of others, and then a number as the signal.
#include <atomic>

#include "rank_solver.h"

using namespace steelyard;
using namespace steelyard::npb::cg;

class PutLink {
 public:
  static constexpr const char* model = "rma";

  PutLink(Ranks& ranks, const MemoryPolicy&, std::size_t doubles, std::size_t stages)
      : comm_(ranks.comm()),
        patience_(ranks),
        doubles_(doubles),
        sent_(stages),
        window_(make(ranks, (doubles + stages) * sizeof(double))) {
    // An MPI may begin a window at any address. All offsets count from its first whole cache line.
    shifts_.resize(static_cast<std::size_t>(ranks.size()));
    auto mine = static_cast<MPI_Aint>(window_->shift());
    MPI_Allgather(&mine, 1, MPI_AINT, shifts_.data(), 1, MPI_AINT, comm_);
    std::memset(window_->data(), 0, (doubles + stages) * sizeof(double));
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_->get());
  }
  ~PutLink() { MPI_Win_unlock_all(window_->get()); }

  double* data() const { return reinterpret_cast<double*>(window_->data()); }
  void exchange(std::size_t stage, int partner, const double* from, std::size_t to, std::size_t, std::size_t count) {
    put(partner, from, to, count, MPI_DOUBLE);
    ++sent_[stage];
    put(partner, &sent_[stage], doubles_ + stage, 1, MPI_UINT64_T);
    std::atomic_ref<std::uint64_t> come(*(reinterpret_cast<std::uint64_t*>(data()) + doubles_ + stage));
    patience_.wait_until([&] {
      MPI_Win_sync(window_->get());
      if (come.load(std::memory_order_acquire) >= sent_[stage]) return true;
      int waiting;  // an MPI without hardware for puts makes progress in any call
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &waiting, MPI_STATUS_IGNORE);
      return false;
    });
  }

 private:
  static std::unique_ptr<Window> make(Ranks& ranks, std::size_t bytes) {
    all_or_none(ranks, [&] { need_room(std::max(bytes, small_page), ranks); });
    return std::make_unique<Window>(ranks.comm(), bytes, kind_of_window(ranks, 0));
  }
  // The data are complete at the partner when the call returns. `to` counts words of 8 bytes.
  void put(int partner, const void* from, std::size_t to, std::size_t count, MPI_Datatype type) {
    MPI_Aint at = shifts_[static_cast<std::size_t>(partner)] + static_cast<MPI_Aint>(8 * to);
    int length = static_cast<int>(count);
    MPI_Put(from, length, type, partner, at, length, type, window_->get());
    MPI_Win_flush(partner, window_->get());
  }

  MPI_Comm comm_;
  BackoffWait patience_;
  std::size_t doubles_;
  std::vector<std::uint64_t> sent_;  // signals sent in each stage
  std::unique_ptr<Window> window_;
  std::vector<MPI_Aint> shifts_;
};

int main(int argc, char** argv) {
  keep_windows_to_the_transport();
  return serve_ranks(argc, argv, {rank_kernel<RankCG<PutLink>>("cg")});
}
