// The collective operations, blocking and nonblocking, from one common moment to the last rank's end.
#include "collective_memory.h"
#include "overlap.h"

using namespace steelyard;

inline const std::vector<Operation>& all() {
  static const std::vector<Operation> known{
      operation<Barrier>(),   operation<Bcast>(),      operation<Reduce>(),
      operation<Allreduce>(), operation<Gather>(),     operation<Scatter>(),
      operation<Allgather>(), operation<Alltoall>(),   operation<ReduceScatterBlock>(),
      operation<Scan>(),      operation<Exscan>(),     operation<Gatherv>(),
      operation<Scatterv>(),  operation<Allgatherv>(), operation<Alltoallv>()};
  return known;
}

struct Collective {
  static constexpr const char* start = "clock";
  bool waits;  // blocking; a nonblocking one's name begins with i
  Operation operation;
  std::size_t elements, tests;
  CollectiveMemory memory;
  std::size_t done = 0;

  Collective(Params& p, Ranks& ranks)
      : waits(p.word("kernel", "bcast")[0] != 'i'),
        operation(named(all(), p.word("kernel", "bcast").substr(waits ? 0 : 1))),
        elements(counted(p)),
        tests(waits ? 0 : p.count("tests", 10)),
        memory(p, ranks, operation.shape, elements, operation.shape.adds),
        ranks_(ranks) {
    // A fixed root runs ahead of the others; one that moves on must have had the last message first.
    if (operation.shape.rooted) memory.frame.step = p.choice("root", "rotating", {"rotating", "fixed"}) == "rotating";
  }
  void run(std::size_t operations) {
    (waits ? operation.now : operation.later)(memory.frame, operations);
    done += operations;
  }
  Work work() const { return {{"operations", 1}, {"bytes", memory.least_bytes()}}; }
  Check check() {
    Expected arrival = operation.arrival(memory.frame);
    auto once = [&] { (waits ? operation.now : operation.later)(memory.frame, 1); };
    memory.forget();
    Check found{true, ""};
    if (operation.shape.volume == Volume::none) {
      found = check_barrier(ranks_, corrupt_, once);
    } else {
      once();
      if (corrupt_) memory.corrupt();
      found = memory.compare(arrival);
    }
    return done ? found : Check{false, "no operation was made"};
  }
  void corrupt() { corrupt_ = true; }  // when the check's own operation has been made
  std::string details() const {
    if (waits) return "";
    return Overlap(ranks_, tests).measure([&](MPI_Request* request) { operation.begin(memory.frame, request); });
  }

 private:
  std::size_t counted(Params& p) const {
    if (operation.shape.volume == Volume::none) return 0;
    std::size_t bytes = p.count("message_bytes", 8);
    if (!operation.shape.adds) return bytes;
    if (bytes % sizeof(std::uint32_t))
      throw CaseError(
          join({"message_bytes='", bytes, "' must be a multiple of 4: reductions add integers of 32 bits"}));
    return bytes / sizeof(std::uint32_t);
  }
  Ranks& ranks_;
  bool corrupt_ = false;
};

int main(int argc, char** argv) {
  std::vector<NamedRankKernel> kernels;
  std::list<std::string> names;  // kernels keep no copy of theirs
  for (const char* prefix : {"", "i"})
    for (const Operation& one : all()) {
      names.push_back(join({prefix, one.shape.name}));
      kernels.push_back(rank_kernel<Collective>(names.back().c_str()));
    }
  return serve_ranks(argc, argv, kernels);
}
