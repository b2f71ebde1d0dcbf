// A line of Liballprof's: the call, when it began and ended, and its arguments in the order of MPI's C functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text.h"

namespace steelyard::whatif {

// What the calls are for the replay.
enum class Deed : std::uint8_t {
  nothing,    // no message that others must know
  file,       // no communication at all: its time is computing
  send,       // all kinds of sends
  receive,    //
  exchange,   // MPI_Sendrecv and its like
  wait,       // what completes requests
  test,       // what may complete requests
  released,   // MPI_Request_free
  barrier,    // and further collectives, each by the bytes that count
  broadcast,  //
  reduce,     //
  allreduce,  //
  scan,       //
  gather,     //
  scatter,    //
  allgather,  //
  alltoall,   //
  reduce_scatter,
  reduce_scatter_block,
  gather_several,
  scatter_several,
  allgather_several,
  alltoall_several,
  region,
  finalize,
  abort,
};

struct Communicator {
  std::int64_t rank = 0, size = 0;
};

// A call with its arguments, by what they are, in their order.
struct Call {
  Deed deed = Deed::nothing;
  std::string_view name;
  std::optional<std::int64_t> begin, end;  // ns; MPI_Init has no begin, MPI_Finalize no end
  std::vector<std::uint64_t> buffers;      // addresses
  std::vector<std::int64_t> counts, sizes, partners, tags;
  std::vector<std::vector<std::int64_t>> lists;  // counts, then displacements, as often as the call has them
  std::optional<std::int64_t> whole;             // a root, or a level
  std::optional<std::uint64_t> request;          // address of the first one
  Communicator communicator;

  bool nonblocking() const { return request && deed != Deed::wait && deed != Deed::test && deed != Deed::released; }
};

// The calls of one rank's file. A last line that is cut is none.
class Calls {
 public:
  Calls(const std::string& path, std::string_view text);
  bool next(Call& call);
  [[noreturn]] void refuse(const std::string& reason) const { lines_.refuse(reason); }
  // So many bytes are `count` pieces of `size`.
  std::int64_t bytes(std::int64_t count, std::int64_t size) const;

 private:
  void read(Call& call, std::string_view form, bool lists);
  std::optional<std::int64_t> moment(std::string_view word) const;
  std::int64_t datatype(std::string_view word) const;
  Communicator communicator(std::string_view word) const;
  std::vector<std::int64_t> list(std::string_view word) const;

  Lines lines_;
  std::vector<std::string_view> fields_;
};

}  // namespace steelyard::whatif
