// The state of the tracer in this process: its stream, the open requests, the communicators, its clock beside
// rank 0's.
#pragma once
#include "handles.h"
#include "polls.h"
#include "real.h"
#include "stream.h"

// The library is loaded into programs that know no MPI, too (mpiexec, shells): there these do not exist, and nothing of
// them is looked at.
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Type_size
#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_request_null
#pragma weak ompi_message_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_mpi_win_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_op_min
#endif

namespace steelyard::trace {

struct Request {
  enum What : std::uint8_t { send, receive, other, duplicate };
  std::uint32_t number;
  What what;
  bool any, persistent, active, cancelled;
  // Data of a persistent request, and of a communicator that is being duplicated.
  int partner, tag;
  std::int64_t bytes;
  std::uint32_t communicator;
  std::uint64_t key;
  MPI_Comm* made;
};
struct Communicator {
  std::uint32_t number, created;
  std::uint64_t key;
  bool between;  // two groups: MPI_Intercomm_create
};
struct Window {
  std::uint32_t number, communicator;
};

struct State {
  Stream stream;
  Table<Request> requests;
  Table<Communicator> communicators;
  Table<Window> windows;
  Table<std::uint32_t> messages;  // of MPI_Mprobe: their communicator
  Table<std::uint64_t> keys;      // of communicators that a part of their parent made
  Numbers request_numbers;
  std::uint32_t next_communicator = 2, next_window = 0;
  Communicator world{0, 0, 1, false}, self{1, 0, 2, false};
  MPI_Datatype known_type;
  int known_size = -1;
  Ticks patience = 0;  // computing for so long is worth a look at the queue of the processor
  int schedstat = -1;
  std::uint64_t waited = 0, within = 0;  // ns: up to the last look; the part since then that lay in long calls
  Polls polls;
  MPI_Comm own;  // a communicator of the tracer's
  int rank = 0;
  bool threads = false;
  volatile bool tracing = false;
  volatile char lock = 0;
};
extern State state;
extern __thread bool inside __attribute__((tls_model("initial-exec")));

// If several threads call MPI at once, their records form one stream.
struct Lock {
  Lock() {
    if (state.threads)
      while (__atomic_test_and_set(&state.lock, __ATOMIC_ACQUIRE)) {
      }
  }
  ~Lock() {
    if (state.threads) __atomic_clear(&state.lock, __ATOMIC_RELEASE);
  }
};

void look_at_queue(Ticks now);
void wait_within_call();

// Records the calls that found nothing and their total wait. The rest of the time between them was computing.
inline void flush_polls(Ticks now) {
  if (__builtin_expect(!state.polls.count, 1)) return;
  const Ticks waited = state.polls.time_waited(now, state.patience, !state.threads);
  state.stream.begin(Kind::polled, now - waited, now, 0);
  state.stream.put(state.polls.count);
  state.stream.end_record();
  state.polls = {};
}

// One call of the application, from its begin until MPI returns. Calls that MPI makes meanwhile are not recorded.
class Call {
 public:
  Call() : on_(state.tracing && !inside) {
    if (!on_) return;
    inside = true;
    from_ = state.stream.clock.now();
    if (__builtin_expect(from_ - state.stream.last() > state.patience, 0)) {
      Lock hold;
      look_at_queue(from_);
      from_ = state.stream.clock.now();
    }
  }
  ~Call() {
    if (!on_) return;
    // A wait for a processor within a long call must not count for the computing that follows.
    if (__builtin_expect(state.tracing && to_ > from_ && to_ - from_ > state.patience, 0)) {
      Lock hold;
      wait_within_call();
    }
    inside = false;
  }
  // Returns whether the call is recorded.
  bool end_call() {
    if (!on_) return false;
    to_ = state.stream.clock.now();
    return true;
  }
  Ticks from() const { return from_; }
  Ticks to() const { return to_; }

  void begin(Kind kind, std::uint32_t communicator = 0, std::size_t most = 0) const {
    flush_polls(from_);
    state.stream.begin(kind, from_, to_, communicator, most);
  }

 private:
  const bool on_;
  Ticks from_ = 0, to_ = 0;
};

inline Communicator* find_communicator(MPI_Comm communicator) {
  if (__builtin_expect(communicator == MPI_COMM_WORLD, 1)) return &state.world;
  if (communicator == MPI_COMM_SELF) return &state.self;
  return state.communicators.find(bits(communicator));
}
inline std::uint32_t number_of(MPI_Comm communicator) {
  const Communicator* found = find_communicator(communicator);
  return found ? found->number : ~0u;
}

inline std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  if (state.known_size < 0 || type != state.known_type) {
    if (PMPI_Type_size(type, &state.known_size) != MPI_SUCCESS) state.known_size = -1;
    state.known_type = type;
  }
  return state.known_size > 0 && count > 0 ? count * state.known_size : 0;
}

inline std::int64_t partner_of(int rank) {
  return rank == MPI_ANY_SOURCE ? ANY : rank == MPI_PROC_NULL ? NOBODY : rank;
}
inline std::int64_t tag_of(int tag) { return tag == MPI_ANY_TAG ? ANY : tag; }

}  // namespace steelyard::trace
