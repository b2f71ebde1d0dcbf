// The file of one traced rank, as the tracer writes it and the replay reads it. docs/formats.md has it byte by byte.
#pragma once
#include <cstdint>

namespace steelyard::trace {

constexpr char MAGIC[8] = {'S', 'T', 'L', 'Y', 'T', 'R', 'C', '1'};

// Little-endian, at the beginning of the file; records follow it at once.
struct Header {
  char magic[8];
  std::uint32_t rank, ranks;
  std::uint32_t shift;     // times count ticks >> shift
  std::uint32_t finished;  // 1: MPI_Finalize was called, 2: MPI_Abort
  // Two readings of the clock: at the beginning, and the latest one. A tick has a constant length between them.
  std::uint64_t begin_ticks, begin_ns, end_ticks, end_ns;
  std::int64_t offset_begin, offset_end;  // ns: what rank 0's clock shows more than the own one
  std::uint64_t offset_error,
      offset_known;           // ns: half of the exchange's round trip; 1: at the beginning, 2: at both ends
  std::uint64_t first_ticks;  // zero of the times of the records
  char host[64];
};
static_assert(sizeof(Header) == 160);

// A record is a kind, whose highest bit says that a communicator's number follows the times (else it is
// MPI_COMM_WORLD), the time since the end of the record before, the call's duration, and what stands beside each kind.
// All numbers are varints of 7 bits a byte, lowest first; what may be negative is folded: 0, -1, 1, -2 … are 0, 1, 2, 3
// …
enum class Kind : std::uint8_t {
  end,         // no record: what was not written yet
  call,        // no message
  send,        // to, tag, bytes
  isend,       // to, tag, bytes, request
  receive,     // from, tag: those of the message that came
  ireceive,    // from, tag, request; -1: any
  exchange,    // to, tag, bytes, from, tag (MPI_Sendrecv); a partner of -2 is none
  complete,    // how many of the following are meant (Completion), and of each request · 4 + Ended; received: from, tag
  probe,       // from, tag
  collective,  // Collective, root, bytes
  icollective,   // the same, and a request
  vectors,       // Collective, root, how many numbers, bytes …
  ivectors,      // the same, and a request
  communicator,  // number, key, members: how many, and each less the one before, folded
  released,      // request: MPI_Request_free
  window,        // number
  fence,         // window
  put,           // window, target, bytes
  get,           // window, target, bytes
  polled,        // how many calls found nothing: the duration is that of all of them
  preempted,     // ns that the rank waited for a processor in the time before; the duration is the tracer's own
  tool,          // the duration is the tracer's own
  finalize,
  abort,
  region,  // level: MPI_Pcontrol
  last,
};
constexpr std::uint8_t OTHER = 0x80;

// The outcome of a request.
enum class Ended : std::uint8_t { plain, received, cancelled };

enum class Collective : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  last,
};

constexpr std::int64_t ANY = -1, NOBODY = -2;

}  // namespace steelyard::trace
