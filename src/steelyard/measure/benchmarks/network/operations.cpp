// The basic operations of MPI on a few integers, each followed by a barrier: what they cost, and what the barrier does.
#include <unistd.h>

#include "collective_memory.h"

using namespace steelyard;

// Two neighbours, (0, 1), (2, 3) …; the last of an odd number has none, and its calls do nothing.
inline int neighbour(const CallFrame& f) { return (f.rank ^ 1) < f.size ? f.rank ^ 1 : MPI_PROC_NULL; }
inline Expected expect_from_neighbour(const CallFrame& f) {
  int other = neighbour(f);
  return {other != MPI_PROC_NULL, 0, other, other};
}

struct SendRecv {
  static constexpr Shape shape{"send_recv", false, false, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return f.rank % 2 ? expect_from_neighbour(f) : Expected{0, 0, 0, 0}; }
  static void call(auto, const CallFrame& f) {
    if (f.rank % 2)
      MPI_Recv(f.in, f.count, f.type, neighbour(f), 0, f.comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(f.out, f.count, f.type, neighbour(f), 0, f.comm);
  }
};
struct Sendrecv {
  static constexpr Shape shape{"sendrecv", false, false, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return expect_from_neighbour(f); }
  static void call(auto, const CallFrame& f) {
    MPI_Sendrecv(f.out, f.count, f.type, neighbour(f), 0, f.in, f.count, f.type, neighbour(f), 0, f.comm,
                 MPI_STATUS_IGNORE);
  }
};
struct IsendIrecv {
  static constexpr Shape shape{"isend_irecv", false, false, Blocks::one, Blocks::one, Volume::once};
  static Expected arrival(const CallFrame& f) { return expect_from_neighbour(f); }
  static void call(auto, const CallFrame& f) {
    MPI_Request both[2];
    MPI_Irecv(f.in, f.count, f.type, neighbour(f), 0, f.comm, &both[0]);
    MPI_Isend(f.out, f.count, f.type, neighbour(f), 0, f.comm, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
};
// An empty message there and back: S = T / 2N.
struct Latency {
  static constexpr Shape shape{"latency", false, false, Blocks::one, Blocks::one, Volume::none};
  static Expected arrival(const CallFrame&) { return {0, 0, 0, 0}; }
  static void call(auto, const CallFrame& f) { send_and_answer(f); }
  // The sender and the length of the message that arrived.
  static MPI_Status send_and_answer(const CallFrame& f) {
    MPI_Status status;
    const int other = neighbour(f);
    auto send = [&] { MPI_Send(f.out, 0, f.type, other, 0, f.comm); };
    auto receive = [&] { MPI_Recv(f.in, 0, f.type, other, 0, f.comm, &status); };
    if (f.rank % 2)
      receive(), send();
    else
      send(), receive();
    return status;
  }
};
struct Wtime {
  static constexpr Shape shape{"wtime", false, false, Blocks::one, Blocks::one, Volume::none};
  static Expected arrival(const CallFrame&) { return {0, 0, 0, 0}; }
  static void call(auto, const CallFrame&) { keep(MPI_Wtime()); }
};

inline const std::vector<Operation>& all() {
  static const std::vector<Operation> known{operation<Wtime>(),    operation<Barrier>(),  operation<Latency>(),
                                            operation<SendRecv>(), operation<Sendrecv>(), operation<IsendIrecv>(),
                                            operation<Bcast>(),    operation<Reduce>(),   operation<Allreduce>(),
                                            operation<Gather>(),   operation<Scatter>(),  operation<Allgather>(),
                                            operation<Alltoall>()};
  return known;
}

struct Basic {
  Operation operation;
  bool alone;  // no barrier follows: the barrier itself, and what no other rank hears of
  CollectiveMemory memory;
  std::size_t done = 0;

  Basic(Params& p, Ranks& ranks)
      : operation(named(all(), p.word("kernel", "barrier"))),
        alone(operation.shape.volume == Volume::none),
        memory(p, ranks, operation.shape, alone ? 0 : p.count("integers", 1), true),
        ranks_(ranks) {}
  void run(std::size_t operations) {
    (alone ? operation.now : operation.synchronised)(memory.frame, operations);
    done += operations;
  }
  Work work() const { return {{"operations", is("latency") ? 2 : 1}}; }
  Check check() {
    if (is("wtime")) return check_clock_advances();
    if (is("latency")) return check_all_answered();
    auto once = [&] { operation.now(memory.frame, 1); };
    memory.forget();
    Check found{true, ""};
    if (alone) {
      found = check_barrier(ranks_, corrupt_, once);
    } else {
      once();
      if (corrupt_) memory.corrupt();
      found = memory.compare(operation.arrival(memory.frame));
    }
    return done ? found : Check{false, "no operation was made"};
  }
  void corrupt() { corrupt_ = true; }  // when the check's own operation has been made

 private:
  bool is(const char* name) const { return std::string(name) == operation.shape.name; }
  Check check_all_answered() const {
    MPI_Status status = Latency::send_and_answer(memory.frame);
    if (corrupt_) ++status.MPI_SOURCE;
    int length = 0, other = neighbour(memory.frame);
    MPI_Get_count(&status, memory.frame.type, &length);
    bool right = done > 0 && length == 0 && status.MPI_SOURCE == other;
    return {right, done ? join({"an empty message came from rank ", other}) : "no operation was made"};
  }
  Check check_clock_advances() const {
    double before = MPI_Wtime();
    usleep(1000);
    double after = corrupt_ ? before : MPI_Wtime();
    return {done > 0 && after > before, done ? "the clock was compared with itself, 1 ms later" : "not read"};
  }
  Ranks& ranks_;
  bool corrupt_ = false;
};

int main(int argc, char** argv) {
  std::vector<NamedRankKernel> kernels;
  for (const Operation& one : all()) kernels.push_back(rank_kernel<Basic>(one.shape.name));
  return serve_ranks(argc, argv, kernels);
}
