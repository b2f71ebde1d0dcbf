// The beginning and the end of a trace, the clocks of the ranks, and what MPI's calls have in common.
#pragma once
#include "state.h"

namespace steelyard::trace {

constexpr int EXCHANGES = 16, CLOCK_TAG = 1;

// Stores the offset of rank 0's clock from this one, by the shortest of several exchanges: its half is the error.
inline void compare_clocks(int ranks, bool end) {
  Header& header = state.stream.header();
  std::int64_t best = 0, shortest = INT64_MAX;
  for (int other = 1; other < ranks; ++other) {
    if (state.rank != 0 && state.rank != other) continue;
    for (int i = 0; i < EXCHANGES; ++i) {
      std::int64_t shown = 0;
      if (state.rank == 0) {
        PMPI_Recv(&shown, 8, MPI_BYTE, other, CLOCK_TAG, state.own, MPI_STATUS_IGNORE);
        shown = static_cast<std::int64_t>(nanoseconds());
        PMPI_Send(&shown, 8, MPI_BYTE, other, CLOCK_TAG, state.own);
      } else {
        const auto before = static_cast<std::int64_t>(nanoseconds());
        PMPI_Send(&shown, 8, MPI_BYTE, 0, CLOCK_TAG, state.own);
        PMPI_Recv(&shown, 8, MPI_BYTE, 0, CLOCK_TAG, state.own, MPI_STATUS_IGNORE);
        const auto after = static_cast<std::int64_t>(nanoseconds());
        if (after - before < shortest) shortest = after - before, best = shown - (before + after) / 2;
      }
    }
  }
  (end ? header.offset_end : header.offset_begin) = best;
  if (state.rank != 0) header.offset_error = static_cast<std::uint64_t>(shortest / 2);
  header.offset_known = end ? 2 : 1;
  PMPI_Barrier(state.own);
}

// Returns the wait of this thread for a processor so far, in ns; 0 if the kernel does not report it.
inline std::uint64_t time_in_queue() {
  char text[96];
  const ssize_t length = state.schedstat < 0 ? -1 : pread(state.schedstat, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  const char* second = std::strchr(text, ' ');
  return second ? std::strtoull(second, nullptr, 10) : 0;
}

// Counts the waits since the last look as those of the call that has just ended.
void wait_within_call() {
  const std::uint64_t waited = time_in_queue();
  if (waited > state.waited) state.within += waited - state.waited;
  state.waited = waited;
}

void look_at_queue(Ticks now) {
  Stream& stream = state.stream;
  flush_polls(now);
  const std::uint64_t waited = time_in_queue();
  stream.calibrate();
  if (state.within > 0) {  // before the computing
    stream.begin(Kind::preempted, stream.last(), stream.last(), 0);
    stream.put(state.within);
    stream.end_record();
    state.within = 0;
  }
  stream.begin(Kind::preempted, now, stream.clock.now(), 0);
  stream.put(waited > state.waited ? waited - state.waited : 0);
  stream.end_record();
  state.waited = waited;
}

// Handles are pointers in Open MPI and 32-bit integers in MPICH, so wrappers built for one cannot serve the other.
// Called before MPI_Init.
inline void expect_own() {
  next("PMPI_Init");  // makes an MPI known that was loaded for a module
  const bool open_mpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
#ifdef OPEN_MPI
  const bool own = open_mpi;
#else
  const bool own = !open_mpi;
#endif
  if (own) return;
  std::fprintf(stderr,
               "steelyard: the tracer was compiled for an MPI other than that of this program: name the right one with "
               "steelyard trace --mpi\n");
  _exit(1);
}

// Open MPI's handles are known to a library that is loaded before it only where it comes with the program.
inline bool is_known_early() {
#ifdef OPEN_MPI
  if (!&ompi_mpi_comm_world) {
    std::fprintf(stderr, "steelyard: no trace: this program loads its MPI late. Add its libmpi.so to LD_PRELOAD\n");
    return false;
  }
#endif
  return true;
}

inline void begin_trace() {
  const char* folder = getenv("STEELYARD_TRACE");
  int ranks = 0, level = 0;
  if (!folder || state.tracing || !is_known_early()) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Query_thread(&level);
  state.threads = level == MPI_THREAD_MULTIPLE;
  state.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  int good = state.stream.open(folder, state.rank, ranks), all = 0;
  if (!good) std::fprintf(stderr, "steelyard: rank %d cannot write its trace to %s\n", state.rank, folder);
  PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all || PMPI_Comm_dup(MPI_COMM_WORLD, &state.own) != MPI_SUCCESS) return;
  compare_clocks(ranks, false);
  state.stream.calibrate();
  Header& header = state.stream.header();
  const double pace = static_cast<double>(header.end_ticks - header.begin_ticks) /
                      static_cast<double>(header.end_ns - header.begin_ns + 1);
  state.patience = static_cast<Ticks>(1e6 * pace);
  state.waited = time_in_queue();
  state.stream.begin_here();
  state.tracing = true;
}

inline void end_trace(Ticks from) {
  if (!state.tracing) return;
  state.tracing = false;
  int ranks = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  flush_polls(from);
  look_at_queue(from);
  state.stream.begin(Kind::finalize, state.stream.clock.now(), state.stream.clock.now(), 0);
  state.stream.end_record();
  compare_clocks(ranks, true);
  PMPI_Comm_free(&state.own);
  state.stream.header().finished = 1;
  state.stream.close();
}

inline void record_plain(const Call& call) {
  call.begin(Kind::call);
  state.stream.end_record();
}

// Records the members of a new communicator, as ranks of the world.
inline void record_communicator(const Call& call, MPI_Comm made, std::uint64_t key, bool between) {
  MPI_Group group, world;
  int size = 0;
  if (between)
    PMPI_Comm_remote_group(made, &group);
  else
    PMPI_Comm_group(made, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  int* own = static_cast<int*>(std::malloc(2 * sizeof(int) * static_cast<std::size_t>(size + 1)));
  if (!own) std::abort();
  int* members = own + size;
  for (int i = 0; i < size; ++i) own[i] = i;
  PMPI_Group_translate_ranks(group, size, own, world, members);
  const Communicator entry{state.next_communicator++, 0, key, between};
  state.communicators.insert(bits(made), entry);
  Stream& stream = state.stream;
  call.begin(Kind::communicator, 0, 64 + 10 * static_cast<std::size_t>(size));
  stream.put(entry.number);
  stream.put(key);
  stream.put(static_cast<std::uint64_t>(size));
  for (int i = 0, before = 0; i < size; before = members[i++]) stream.put_signed(members[i] - before);
  stream.end_record();
  std::free(own);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  stream.record_own_work();
}

// Records a new communicator. All members compute the same key from the parent's key and the number of its children.
inline void record_new(const Call& call, MPI_Comm parent, MPI_Comm made) {
  Communicator* from = find_communicator(parent);
  const std::uint64_t key = from ? mix_keys(from->key, ++from->created) : 3;
  int between = 0;
  if (made == MPI_COMM_NULL) return record_plain(call);
  PMPI_Comm_test_inter(made, &between);
  record_communicator(call, made, key, between != 0);
}

// Records a communicator that only some members of the parent make. They count such communicators themselves.
inline void record_created_apart(const Call& call, MPI_Comm made, std::uint64_t key) {
  if (made == MPI_COMM_NULL) return record_plain(call);
  while (state.keys.find(key)) key = mix_keys(key, 1);
  state.keys.insert(key, key);
  int between = 0;
  PMPI_Comm_test_inter(made, &between);
  record_communicator(call, made, key, between != 0);
}

}  // namespace steelyard::trace
