// Collective operations as the messages that MPI libraries exchange for them. The size decides the algorithm.
#pragma once
#include <cstdint>
#include <vector>

#include "../tracer/format.h"
#include "schedule.h"

namespace steelyard::whatif {

// The ranks of a communicator, and its part in each message's tag. No member list means all ranks.
struct Group {
  std::uint32_t size = 0, own = 0;  // own: the rank's number in it
  const std::vector<std::uint32_t>* members = nullptr;
  std::uint32_t id = 0;

  std::uint32_t rank(std::uint32_t member) const { return members ? (*members)[member] : member; }
};

constexpr std::uint64_t tag_of(std::uint32_t group, std::int32_t tag) {
  return std::uint64_t{group} << 32 | static_cast<std::uint32_t>(tag);
}

// A collective as a trace has it: the bytes of all ranks alike, or a number for each rank.
struct Together {
  trace::Collective what;
  std::uint32_t root = 0;
  bool several = false;
  std::vector<std::int64_t> bytes{};

  // The count of `bytes` that rank `own` of `n` must have; 0 if there is no such collective.
  std::size_t count(std::size_t n, std::uint32_t own) const;
};

// The part that one rank has in collectives of a group. Sizes and limits after Thakur, Rabenseifner, Gropp,
// Optimization of Collective Communication Operations in MPICH, IJHPCA 2005; MPI libraries of today choose by the same
// kinds of rules.
class Collectives {
 public:
  // `stream`: a processor of the rank. A nonblocking collective has one for itself.
  Collectives(Rank& rank, const Group& group, std::size_t stream = 0)
      : rank_(rank), group_(group), n_(group.size), own_(group.own), tag_(tag_of(group.id, -1)), stream_(stream) {}

  void carry_out(const Together& call);
  void barrier();

 private:
  using Bytes = std::int64_t;
  void alike(const Together& call);
  void varied(const Together& call);
  void broadcast(std::uint32_t root, Bytes bytes);
  void reduce(std::uint32_t root, Bytes bytes);
  void allreduce(Bytes bytes);
  void allgather(Bytes each);
  void alltoall(Bytes each);
  void reduce_scatter(Bytes whole);
  void scan(Bytes bytes);
  // With a number of bytes for each member; the first two are those of the root.
  void gather_all();
  void scatter_all(const std::vector<Bytes>& counts);
  void allgather(const std::vector<Bytes>& counts);
  void alltoall(const std::vector<Bytes>& sent, const std::vector<Bytes>& received);
  void send(std::uint32_t to, Bytes bytes);
  void receive(std::uint32_t from);
  void exchange(std::uint32_t to, Bytes bytes, std::uint32_t from);
  std::uint32_t moved(std::uint32_t member, std::uint32_t by) const { return (member + by) % n_; }
  // The member that has a number among those of a power of two (see `fold`).
  static std::uint32_t unfolded(std::uint32_t number, std::uint32_t folded) {
    return number < folded ? 2 * number + 1 : number + folded;
  }
  // A tree in which member `relative` to the root receives from the one without its lowest bit, largest subtree first.
  void down(std::uint32_t root, Bytes each, bool whole);
  void up(std::uint32_t root, Bytes each, bool whole);
  void ring(Bytes each);
  void doubling(Bytes each, std::uint32_t own, std::uint32_t n, std::uint32_t folded);
  void halving(Bytes whole, std::uint32_t own, std::uint32_t n, std::uint32_t folded);
  std::uint32_t fold(Bytes bytes, std::uint32_t& own);
  void unfold(Bytes bytes);

  Rank& rank_;
  const Group& group_;
  const std::uint32_t n_, own_;
  const std::uint64_t tag_;
  const std::size_t stream_;
};

}  // namespace steelyard::whatif
