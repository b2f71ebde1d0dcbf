// The collective operations of MPI: how each is called (blocking or not), its volume, and its right result.
#pragma once
#include "messages.h"

namespace steelyard {

// The arguments of a call. `out` and `in` hold one block of `count` elements, or one for each rank.
struct CallFrame {
  char *out = nullptr, *in = nullptr;
  int count = 0, rank = 0, size = 1, root = 0, step = 0;  // step: advance of the root after each call
  MPI_Datatype type = MPI_BYTE;
  MPI_Comm comm = MPI_COMM_NULL;
  const int *counts = nullptr, *places = nullptr;  // for the v operations: all blocks have one size, without gaps
  void move_root() {
    root += step;
    if (root == size) root = 0;
  }
};

// The two ways to call an operation: blocking, or with a request that completes later.
struct CallBlocking {
  template <class... Arguments>
  void operator()(auto blocking, auto, Arguments... arguments) const {
    blocking(arguments...);
  }
};
struct CallNonblocking {
  MPI_Request* request;
  template <class... Arguments>
  void operator()(auto, auto nonblocking, Arguments... arguments) const {
    nonblocking(arguments..., request);
  }
};

enum class Blocks { one, each };                     // number of blocks in a buffer: one, or one for each rank
enum class Volume { none, once, twice, all_pairs };  // least number of blocks that must be sent: P-1, 2(P-1), P(P-1)
struct Shape {
  const char* name;
  bool rooted, adds;
  Blocks out, in;
  Volume volume;
};
// The expected content: `blocks` blocks, each the sum of block `block` of the senders `first` to `last`. If both are
// -1, the sender is the rank of the block's own number.
struct Expected {
  int blocks, block, first, last;
};

struct Barrier {
  static constexpr Shape shape{"barrier", false, false, Blocks::one, Blocks::one, Volume::none};
  static Expected arrival(const CallFrame&) { return {0, 0, 0, 0}; }
  static void call(auto with, const CallFrame& f) { with(MPI_Barrier, MPI_Ibarrier, f.comm); }
};
struct Bcast {
  static constexpr Shape shape{"bcast", true, false, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return {f.rank != f.root, 0, f.root, f.root}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Bcast, MPI_Ibcast, f.rank == f.root ? f.out : f.in, f.count, f.type, f.root, f.comm);
  }
};
struct Reduce {
  static constexpr Shape shape{"reduce", true, true, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return {f.rank == f.root, 0, 0, f.size - 1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Reduce, MPI_Ireduce, f.out, f.in, f.count, f.type, MPI_SUM, f.root, f.comm);
  }
};
struct Allreduce {
  static constexpr Shape shape{"allreduce", false, true, Blocks::one, Blocks::one, Volume::twice};
  static Expected arrival(const CallFrame& f) { return {1, 0, 0, f.size - 1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Allreduce, MPI_Iallreduce, f.out, f.in, f.count, f.type, MPI_SUM, f.comm);
  }
};
struct ReduceScatterBlock {
  static constexpr Shape shape{"reduce_scatter_block", false, true, Blocks::each, Blocks::one, Volume::all_pairs};
  static Expected arrival(const CallFrame& f) { return {1, f.rank, 0, f.size - 1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, f.out, f.in, f.count, f.type, MPI_SUM, f.comm);
  }
};
struct Scan {
  static constexpr Shape shape{"scan", false, true, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return {1, 0, 0, f.rank}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Scan, MPI_Iscan, f.out, f.in, f.count, f.type, MPI_SUM, f.comm);
  }
};
struct Exscan {
  static constexpr Shape shape{"exscan", false, true, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return {f.rank > 0, 0, 0, f.rank - 1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Exscan, MPI_Iexscan, f.out, f.in, f.count, f.type, MPI_SUM, f.comm);
  }
};
struct Gather {
  static constexpr Shape shape{"gather", true, false, Blocks::one, Blocks::each, Volume::once};
  static Expected arrival(const CallFrame& f) { return {f.rank == f.root ? f.size : 0, 0, -1, -1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Gather, MPI_Igather, f.out, f.count, f.type, f.in, f.count, f.type, f.root, f.comm);
  }
};
struct Gatherv : Gather {
  static constexpr Shape shape{"gatherv", true, false, Blocks::one, Blocks::each, Volume::once};
  static void call(auto with, const CallFrame& f) {
    with(MPI_Gatherv, MPI_Igatherv, f.out, f.count, f.type, f.in, f.counts, f.places, f.type, f.root, f.comm);
  }
};
struct Scatter {
  static constexpr Shape shape{"scatter", true, false, Blocks::each, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return {1, f.rank, f.root, f.root}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Scatter, MPI_Iscatter, f.out, f.count, f.type, f.in, f.count, f.type, f.root, f.comm);
  }
};
struct Scatterv : Scatter {
  static constexpr Shape shape{"scatterv", true, false, Blocks::each, Blocks::one, Volume::once};
  static void call(auto with, const CallFrame& f) {
    with(MPI_Scatterv, MPI_Iscatterv, f.out, f.counts, f.places, f.type, f.in, f.count, f.type, f.root, f.comm);
  }
};
struct Allgather {
  static constexpr Shape shape{"allgather", false, false, Blocks::one, Blocks::each, Volume::all_pairs};
  static Expected arrival(const CallFrame& f) { return {f.size, 0, -1, -1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Allgather, MPI_Iallgather, f.out, f.count, f.type, f.in, f.count, f.type, f.comm);
  }
};
struct Allgatherv : Allgather {
  static constexpr Shape shape{"allgatherv", false, false, Blocks::one, Blocks::each, Volume::all_pairs};
  static void call(auto with, const CallFrame& f) {
    with(MPI_Allgatherv, MPI_Iallgatherv, f.out, f.count, f.type, f.in, f.counts, f.places, f.type, f.comm);
  }
};
struct Alltoall {
  static constexpr Shape shape{"alltoall", false, false, Blocks::each, Blocks::each, Volume::all_pairs};
  static Expected arrival(const CallFrame& f) { return {f.size, f.rank, -1, -1}; }
  static void call(auto with, const CallFrame& f) {
    with(MPI_Alltoall, MPI_Ialltoall, f.out, f.count, f.type, f.in, f.count, f.type, f.comm);
  }
};
struct Alltoallv : Alltoall {
  static constexpr Shape shape{"alltoallv", false, false, Blocks::each, Blocks::each, Volume::all_pairs};
  static void call(auto with, const CallFrame& f) {
    with(MPI_Alltoallv, MPI_Ialltoallv, f.out, f.counts, f.places, f.type, f.in, f.counts, f.places, f.type, f.comm);
  }
};

}  // namespace steelyard
