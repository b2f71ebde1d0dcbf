// MPI's one-sided calls: windows, what is put and got between two fences.
#pragma once
#include "wrap.h"

namespace steelyard::trace {

inline void record_window(const Call& call, MPI_Comm c, MPI_Win made) {
  if (foreign(number_of(c))) return record_plain(call);
  const Window window{state.next_window++, number_of(c)};
  state.windows.insert(bits(made), window);
  call.begin(Kind::window, window.communicator);
  state.stream.put(window.number);
  state.stream.end_record();
}
inline void record_fence(const Call& call, const Window* window) {
  call.begin(window ? Kind::fence : Kind::call, window ? window->communicator : 0);
  if (window) state.stream.put(window->number);
  state.stream.end_record();
}
inline void record_transfer(const Call& call, Kind kind, MPI_Win w, int target, std::int64_t bytes) {
  const Window* window = state.windows.find(bits(w));
  if (!window || target == MPI_PROC_NULL) return record_plain(call);
  call.begin(kind, window->communicator);
  state.stream.put(window->number);
  state.stream.put_signed(target);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  state.stream.end_record();
}

}  // namespace steelyard::trace

extern "C" {

WRAP(Win_create, P(void* b, MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, MPI_Win* made), P(b, n, unit, i, c, made),
     record_window(call, c, *made))
WRAP(Win_allocate, P(MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void* b, MPI_Win* made), P(n, unit, i, c, b, made),
     record_window(call, c, *made))
WRAP(Win_allocate_shared, P(MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void* b, MPI_Win* made),
     P(n, unit, i, c, b, made), record_window(call, c, *made))
WRAP(Win_create_dynamic, P(MPI_Info i, MPI_Comm c, MPI_Win* made), P(i, c, made), record_window(call, c, *made))
RECORDED(Win_fence, P(int assertion, MPI_Win w), P(assertion, w), , record_fence(call, state.windows.find(bits(w))))
RECORDED(Win_free, P(MPI_Win* w), P(w), const std::uint64_t handle = bits(*w), record_plain(call);
         if (Window* found = state.windows.find(handle)) state.windows.erase(found))
#define PLACE int to, MPI_Aint at, int m, MPI_Datatype u
WRAP(Put, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Win w), P(b, n, t, to, at, m, u, w),
     record_transfer(call, Kind::put, w, to, bytes_of(n, t)))
WRAP(Get, P(void* b, int n, MPI_Datatype t, PLACE, MPI_Win w), P(b, n, t, to, at, m, u, w),
     record_transfer(call, Kind::get, w, to, bytes_of(n, t)))
WRAP(Accumulate, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Op o, MPI_Win w), P(b, n, t, to, at, m, u, o, w),
     record_transfer(call, Kind::put, w, to, bytes_of(n, t)))
WRAP(Get_accumulate,
     P(const void* b, int n, MPI_Datatype t, void* d, int k, MPI_Datatype s, PLACE, MPI_Op o, MPI_Win w),
     P(b, n, t, d, k, s, to, at, m, u, o, w), record_transfer(call, Kind::get, w, to, bytes_of(k, s)))
WRAP(Fetch_and_op, P(const void* b, void* d, MPI_Datatype t, int to, MPI_Aint at, MPI_Op o, MPI_Win w),
     P(b, d, t, to, at, o, w), record_transfer(call, Kind::get, w, to, bytes_of(1, t)))
WRAP(Compare_and_swap, P(const void* b, const void* x, void* d, MPI_Datatype t, int to, MPI_Aint at, MPI_Win w),
     P(b, x, d, t, to, at, w), record_transfer(call, Kind::get, w, to, bytes_of(1, t)))
// With locks, or with start and wait, no fence shows when the data arrive: these calls count as time within MPI.
WRAP(Rput, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Win w, MPI_Request* r), P(b, n, t, to, at, m, u, w, r),
     keep(call, r))
WRAP(Rget, P(void* b, int n, MPI_Datatype t, PLACE, MPI_Win w, MPI_Request* r), P(b, n, t, to, at, m, u, w, r),
     keep(call, r))
WRAP(Raccumulate, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Op o, MPI_Win w, MPI_Request* r),
     P(b, n, t, to, at, m, u, o, w, r), keep(call, r))
WRAP(Win_lock, P(int type, int rank, int assertion, MPI_Win w), P(type, rank, assertion, w), record_plain(call))
WRAP(Win_unlock, P(int rank, MPI_Win w), P(rank, w), record_plain(call))
WRAP(Win_lock_all, P(int assertion, MPI_Win w), P(assertion, w), record_plain(call))
WRAP(Win_unlock_all, P(MPI_Win w), P(w), record_plain(call))
WRAP(Win_flush, P(int rank, MPI_Win w), P(rank, w), record_plain(call))
WRAP(Win_flush_all, P(MPI_Win w), P(w), record_plain(call))
WRAP(Win_flush_local, P(int rank, MPI_Win w), P(rank, w), record_plain(call))
WRAP(Win_flush_local_all, P(MPI_Win w), P(w), record_plain(call))
WRAP(Win_post, P(MPI_Group g, int assertion, MPI_Win w), P(g, assertion, w), record_plain(call))
WRAP(Win_start, P(MPI_Group g, int assertion, MPI_Win w), P(g, assertion, w), record_plain(call))
WRAP(Win_complete, P(MPI_Win w), P(w), record_plain(call))
WRAP(Win_wait, P(MPI_Win w), P(w), record_plain(call))
WRAP(Win_sync, P(MPI_Win w), P(w), record_plain(call))

}  // extern "C"
