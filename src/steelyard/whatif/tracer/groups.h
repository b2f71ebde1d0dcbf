// MPI's calls of whole communicators: collectives from one table, what makes communicators, one-sided transfers.
#pragma once
#include <initializer_list>

#include "messages.h"

using namespace steelyard::trace;

namespace steelyard::trace {

// A collective of which each rank knows one number of bytes. `request`: of one that does not wait.
inline void together(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root,
                     std::int64_t bytes) {
  const Communicator* found = known(c);
  if (!found || found->between) return plain(call);
  call.begin(request ? Kind::icollective : Kind::collective, found->number);
  state.stream.put(static_cast<std::uint64_t>(what));
  state.stream.put(static_cast<std::uint64_t>(root));
  state.stream.put(static_cast<std::uint64_t>(bytes));
}
inline bool recorded(MPI_Comm c) {
  const Communicator* found = known(c);
  return found && !found->between;
}
inline void finished(MPI_Request* request) {
  if (request) {
    Request entry{};
    entry.what = Request::other;
    entry.active = true;
    entry.number = state.request_numbers.take();
    state.requests.insert(word(*request), entry);
    state.stream.put(entry.number);
  }
  state.stream.done();
}
inline void whole(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root, std::int64_t bytes) {
  if (!recorded(c)) return plain(call);
  together(call, c, request, what, root, bytes);
  finished(request);
}

inline std::int64_t part(const void* b, int n, MPI_Datatype t, int m, MPI_Datatype u) {
  return b == MPI_IN_PLACE ? bytes_of(m, u) : bytes_of(n, t);
}
inline int rank_in(MPI_Comm c) {
  int rank = 0;
  PMPI_Comm_rank(c, &rank);
  return rank;
}
inline int size_of(MPI_Comm c) {
  int size = 0;
  PMPI_Comm_size(c, &size);
  return size;
}
inline std::int64_t sum(const int* counts, MPI_Datatype t, MPI_Comm c) {
  std::int64_t found = 0;
  for (int i = 0, n = size_of(c); i < n; ++i) found += bytes_of(counts[i], t);
  return found;
}

// A number of bytes for each member; `counts` null: of none. One type, or one for each.
struct Vector {
  const int* counts;
  MPI_Datatype type;
  const MPI_Datatype* types = nullptr;
};
inline void varied(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root, Vector a,
                   Vector b = {nullptr, MPI_BYTE}) {
  if (!recorded(c)) return plain(call);
  const int n = size_of(c), lists = (a.counts ? 1 : 0) + (b.counts ? 1 : 0);
  call.begin(request ? Kind::ivectors : Kind::vectors, number_of(c), 64 + 20 * static_cast<std::size_t>(n));
  state.stream.put(static_cast<std::uint64_t>(what));
  state.stream.put(static_cast<std::uint64_t>(root));
  state.stream.put(static_cast<std::uint64_t>(lists * n));
  for (const Vector& v : {a, b})
    for (int i = 0; v.counts && i < n; ++i)
      state.stream.put(static_cast<std::uint64_t>(bytes_of(v.counts[i], v.types ? v.types[i] : v.type)));
  finished(request);
}

// The part of a rank that is not the root, in a collective with a count for each.
inline void whole_of_vectors(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root,
                             std::int64_t bytes) {
  if (!recorded(c)) return plain(call);
  call.begin(request ? Kind::ivectors : Kind::vectors, number_of(c));
  state.stream.put(static_cast<std::uint64_t>(what));
  state.stream.put(static_cast<std::uint64_t>(root));
  state.stream.put(1);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  finished(request);
}

// The key of a communicator that only its members make: of them and of the tag.
inline std::uint64_t members_key(MPI_Group group, std::uint64_t key) {
  MPI_Group world;
  int size = 0;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  for (int i = 0, rank = 0; i < size; ++i) {
    PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
    key = mixed(key, static_cast<std::uint64_t>(rank));
  }
  PMPI_Group_free(&world);
  return key;
}
inline std::uint64_t key_of(MPI_Comm parent, MPI_Comm made, int tag) {
  const Communicator* from = known(parent);
  if (made == MPI_COMM_NULL) return 0;
  MPI_Group group;
  PMPI_Comm_group(made, &group);
  const std::uint64_t key = members_key(group, mixed(from ? from->key : 3, static_cast<std::uint64_t>(tag) << 32));
  PMPI_Group_free(&group);
  return key;
}
inline std::uint64_t key_between(MPI_Comm made, int tag) {
  if (made == MPI_COMM_NULL) return 0;
  MPI_Group own, other;
  PMPI_Comm_group(made, &own);
  PMPI_Comm_remote_group(made, &other);
  const std::uint64_t key = mixed(members_key(own, 5) + members_key(other, 5), static_cast<std::uint64_t>(tag));
  PMPI_Group_free(&own);
  PMPI_Group_free(&other);
  return key;
}

// What does not wait, and is no message of the model: its request is known.
inline void pending(const Call& call, MPI_Request* request) {
  plain(call);
  Request entry{};
  entry.what = Request::other;
  entry.active = true;
  entry.number = state.request_numbers.take();
  state.requests.insert(word(*request), entry);
}

inline void window_made(const Call& call, MPI_Comm c, MPI_Win made) {
  const Window window{state.next_window++, number_of(c)};
  state.windows.insert(word(made), window);
  call.begin(Kind::window, window.communicator);
  state.stream.put(window.number);
  state.stream.done();
}
inline void moved(const Call& call, Kind kind, MPI_Win w, int target, std::int64_t bytes) {
  const Window* window = state.windows.find(word(w));
  if (!window || target == MPI_PROC_NULL) return plain(call);
  call.begin(kind, window->communicator);
  state.stream.put(window->number);
  state.stream.folded(target);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  state.stream.done();
}

}  // namespace steelyard::trace

extern "C" {

#define P(...) __VA_ARGS__
// Each twice: one waits, the other leaves a request.
#define COLLECTIVE(NAME, INAME, PARAMETERS, ARGUMENTS, ...) \
  int MPI_##NAME(PARAMETERS) {                              \
    Call call;                                              \
    const int code = PMPI_##NAME(ARGUMENTS);                \
    if (call.over()) {                                      \
      MPI_Request* request = nullptr;                       \
      Lock hold;                                            \
      if (code == MPI_SUCCESS)                              \
        __VA_ARGS__;                                        \
      else                                                  \
        plain(call);                                        \
    }                                                       \
    return code;                                            \
  }                                                         \
  int MPI_##INAME(PARAMETERS, MPI_Request* request) {       \
    Call call;                                              \
    const int code = PMPI_##INAME(ARGUMENTS, request);      \
    if (call.over()) {                                      \
      Lock hold;                                            \
      if (code == MPI_SUCCESS)                              \
        __VA_ARGS__;                                        \
      else                                                  \
        plain(call);                                        \
    }                                                       \
    return code;                                            \
  }

// b, n, t: what is sent; d, m, u: what is received.
COLLECTIVE(Barrier, Ibarrier, P(MPI_Comm c), P(c), whole(call, c, request, Collective::barrier, 0, 0))
COLLECTIVE(Bcast, Ibcast, P(void* b, int n, MPI_Datatype t, int root, MPI_Comm c), P(b, n, t, root, c),
           whole(call, c, request, Collective::broadcast, root, bytes_of(n, t)))
COLLECTIVE(Reduce, Ireduce, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
           P(b, d, n, t, o, root, c), whole(call, c, request, Collective::reduce, root, bytes_of(n, t)))
COLLECTIVE(Allreduce, Iallreduce, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           P(b, d, n, t, o, c), whole(call, c, request, Collective::allreduce, 0, bytes_of(n, t)))
COLLECTIVE(Scan, Iscan, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           whole(call, c, request, Collective::scan, 0, bytes_of(n, t)))
COLLECTIVE(Exscan, Iexscan, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           whole(call, c, request, Collective::scan, 0, bytes_of(n, t)))
COLLECTIVE(Gather, Igather,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, int root, MPI_Comm c),
           P(b, n, t, d, m, u, root, c), whole(call, c, request, Collective::gather, root, part(b, n, t, m, u)))
COLLECTIVE(Scatter, Iscatter,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, int root, MPI_Comm c),
           P(b, n, t, d, m, u, root, c),
           whole(call, c, request, Collective::scatter, root, rank_in(c) == root ? bytes_of(n, t) : bytes_of(m, u)))
COLLECTIVE(Allgather, Iallgather, P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, u, c), whole(call, c, request, Collective::allgather, 0, part(b, n, t, m, u)))
COLLECTIVE(Alltoall, Ialltoall, P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, u, c), whole(call, c, request, Collective::alltoall, 0, part(b, n, t, m, u)))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           P(const void* b, void* d, const int* n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           whole(call, c, request, Collective::reduce_scatter, 0, sum(n, t, c)))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           whole(call, c, request, Collective::reduce_scatter, 0, size_of(c) * bytes_of(n, t)))
// The root of these knows all counts, the others their own. What a root receives the senders know, too.
COLLECTIVE(Gatherv, Igatherv,
           P(const void* b, int n, MPI_Datatype t, void* d, const int* m, const int* e, MPI_Datatype u, int root,
             MPI_Comm c),
           P(b, n, t, d, m, e, u, root, c),
           rank_in(c) == root ? varied(call, c, request, Collective::gather, root, {m, u})
                              : whole_of_vectors(call, c, request, Collective::gather, root, bytes_of(n, t)))
COLLECTIVE(Scatterv, Iscatterv,
           P(const void* b, const int* n, const int* e, MPI_Datatype t, void* d, int m, MPI_Datatype u, int root,
             MPI_Comm c),
           P(b, n, e, t, d, m, u, root, c),
           rank_in(c) == root ? varied(call, c, request, Collective::scatter, root, {n, t})
                              : whole_of_vectors(call, c, request, Collective::scatter, root, bytes_of(m, u)))
COLLECTIVE(Allgatherv, Iallgatherv,
           P(const void* b, int n, MPI_Datatype t, void* d, const int* m, const int* e, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, e, u, c), varied(call, c, request, Collective::allgather, 0, {m, u}))
COLLECTIVE(Alltoallv, Ialltoallv,
           P(const void* b, const int* n, const int* e, MPI_Datatype t, void* d, const int* m, const int* f,
             MPI_Datatype u, MPI_Comm c),
           P(b, n, e, t, d, m, f, u, c),
           b == MPI_IN_PLACE ? varied(call, c, request, Collective::alltoall, 0, {m, u}, {m, u})
                             : varied(call, c, request, Collective::alltoall, 0, {n, t}, {m, u}))
COLLECTIVE(Alltoallw, Ialltoallw,
           P(const void* b, const int* n, const int* e, const MPI_Datatype* t, void* d, const int* m, const int* f,
             const MPI_Datatype* u, MPI_Comm c),
           P(b, n, e, t, d, m, f, u, c),
           b == MPI_IN_PLACE ? varied(call, c, request, Collective::alltoall, 0, {m, MPI_BYTE, u}, {m, MPI_BYTE, u})
                             : varied(call, c, request, Collective::alltoall, 0, {n, MPI_BYTE, t}, {m, MPI_BYTE, u}))

// What makes a communicator of another one.
#define MAKES(NAME, PARAMETERS, ARGUMENTS, RECORD) \
  int MPI_##NAME(PARAMETERS) {                     \
    Call call;                                     \
    const int code = PMPI_##NAME(ARGUMENTS);       \
    if (call.over()) {                             \
      Lock hold;                                   \
      if (code == MPI_SUCCESS)                     \
        RECORD;                                    \
      else                                         \
        plain(call);                               \
    }                                              \
    return code;                                   \
  }
MAKES(Comm_dup, P(MPI_Comm c, MPI_Comm* made), P(c, made), created(call, c, *made))
MAKES(Comm_dup_with_info, P(MPI_Comm c, MPI_Info i, MPI_Comm* made), P(c, i, made), created(call, c, *made))
MAKES(Comm_split, P(MPI_Comm c, int color, int key, MPI_Comm* made), P(c, color, key, made), created(call, c, *made))
MAKES(Comm_split_type, P(MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm* made), P(c, type, key, i, made),
      created(call, c, *made))
MAKES(Comm_create, P(MPI_Comm c, MPI_Group g, MPI_Comm* made), P(c, g, made), created(call, c, *made))
MAKES(Comm_create_group, P(MPI_Comm c, MPI_Group g, int tag, MPI_Comm* made), P(c, g, tag, made),
      created_apart(call, *made, key_of(c, *made, tag)))
MAKES(Cart_create, P(MPI_Comm c, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made),
      P(c, n, dims, periods, reorder, made), created(call, c, *made))
MAKES(Cart_sub, P(MPI_Comm c, const int* remain, MPI_Comm* made), P(c, remain, made), created(call, c, *made))
MAKES(Graph_create, P(MPI_Comm c, int n, const int* index, const int* edges, int reorder, MPI_Comm* made),
      P(c, n, index, edges, reorder, made), created(call, c, *made))
MAKES(Dist_graph_create_adjacent,
      P(MPI_Comm c, int n, const int* from, const int* w, int m, const int* to, const int* v, MPI_Info i, int reorder,
        MPI_Comm* made),
      P(c, n, from, w, m, to, v, i, reorder, made), created(call, c, *made))
MAKES(Dist_graph_create,
      P(MPI_Comm c, int n, const int* from, const int* degrees, const int* to, const int* w, MPI_Info i, int reorder,
        MPI_Comm* made),
      P(c, n, from, degrees, to, w, i, reorder, made), created(call, c, *made))
MAKES(Intercomm_create, P(MPI_Comm c, int leader, MPI_Comm peers, int other, int tag, MPI_Comm* made),
      P(c, leader, peers, other, tag, made), created_apart(call, *made, key_between(*made, tag)))
MAKES(Intercomm_merge, P(MPI_Comm c, int high, MPI_Comm* made), P(c, high, made), created(call, c, *made))
int MPI_Comm_idup(MPI_Comm c, MPI_Comm* made, MPI_Request* r) {
  Call call;
  const int code = PMPI_Comm_idup(c, made, r);
  if (call.over()) {
    Lock hold;
    plain(call);
    Communicator* from = known(c);
    Request entry{};
    entry.what = Request::duplicate;
    entry.active = true;
    entry.number = state.request_numbers.take();
    entry.made = made;
    entry.key = from ? mixed(from->key, ++from->created) : 3;
    state.requests.insert(word(*r), entry);
  }
  return code;
}
int MPI_Comm_free(MPI_Comm* c) {
  Call call;
  const std::uint64_t handle = word(*c);
  const int code = PMPI_Comm_free(c);
  if (call.over()) {
    Lock hold;
    plain(call);
    if (Communicator* found = state.communicators.find(handle)) state.communicators.erase(found);
  }
  return code;
}

MAKES(Win_create, P(void* b, MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, MPI_Win* made), P(b, n, unit, i, c, made),
      window_made(call, c, *made))
MAKES(Win_allocate, P(MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void* b, MPI_Win* made), P(n, unit, i, c, b, made),
      window_made(call, c, *made))
MAKES(Win_allocate_shared, P(MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void* b, MPI_Win* made),
      P(n, unit, i, c, b, made), window_made(call, c, *made))
MAKES(Win_create_dynamic, P(MPI_Info i, MPI_Comm c, MPI_Win* made), P(i, c, made), window_made(call, c, *made))
int MPI_Win_fence(int assertion, MPI_Win w) {
  Call call;
  const int code = PMPI_Win_fence(assertion, w);
  if (call.over()) {
    Lock hold;
    const Window* window = state.windows.find(word(w));
    call.begin(window ? Kind::fence : Kind::call, window ? window->communicator : 0);
    if (window) state.stream.put(window->number);
    state.stream.done();
  }
  return code;
}
int MPI_Win_free(MPI_Win* w) {
  Call call;
  const std::uint64_t handle = word(*w);
  const int code = PMPI_Win_free(w);
  if (call.over()) {
    Lock hold;
    plain(call);
    if (Window* found = state.windows.find(handle)) state.windows.erase(found);
  }
  return code;
}
#define PLACE int to, MPI_Aint at, int m, MPI_Datatype u
MAKES(Put, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Win w), P(b, n, t, to, at, m, u, w),
      moved(call, Kind::put, w, to, bytes_of(n, t)))
MAKES(Get, P(void* b, int n, MPI_Datatype t, PLACE, MPI_Win w), P(b, n, t, to, at, m, u, w),
      moved(call, Kind::get, w, to, bytes_of(n, t)))
MAKES(Accumulate, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Op o, MPI_Win w), P(b, n, t, to, at, m, u, o, w),
      moved(call, Kind::put, w, to, bytes_of(n, t)))
MAKES(Get_accumulate,
      P(const void* b, int n, MPI_Datatype t, void* d, int k, MPI_Datatype s, PLACE, MPI_Op o, MPI_Win w),
      P(b, n, t, d, k, s, to, at, m, u, o, w), moved(call, Kind::get, w, to, bytes_of(k, s)))
MAKES(Fetch_and_op, P(const void* b, void* d, MPI_Datatype t, int to, MPI_Aint at, MPI_Op o, MPI_Win w),
      P(b, d, t, to, at, o, w), moved(call, Kind::get, w, to, bytes_of(1, t)))
MAKES(Compare_and_swap, P(const void* b, const void* x, void* d, MPI_Datatype t, int to, MPI_Aint at, MPI_Win w),
      P(b, x, d, t, to, at, w), moved(call, Kind::get, w, to, bytes_of(1, t)))
// With locks and with start and wait no fence says when the data are there: these count as time that MPI takes.
MAKES(Rput, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Win w, MPI_Request* r), P(b, n, t, to, at, m, u, w, r),
      pending(call, r))
MAKES(Rget, P(void* b, int n, MPI_Datatype t, PLACE, MPI_Win w, MPI_Request* r), P(b, n, t, to, at, m, u, w, r),
      pending(call, r))
MAKES(Raccumulate, P(const void* b, int n, MPI_Datatype t, PLACE, MPI_Op o, MPI_Win w, MPI_Request* r),
      P(b, n, t, to, at, m, u, o, w, r), pending(call, r))
MAKES(Win_lock, P(int type, int rank, int assertion, MPI_Win w), P(type, rank, assertion, w), plain(call))
MAKES(Win_unlock, P(int rank, MPI_Win w), P(rank, w), plain(call))
MAKES(Win_lock_all, P(int assertion, MPI_Win w), P(assertion, w), plain(call))
MAKES(Win_unlock_all, P(MPI_Win w), P(w), plain(call))
MAKES(Win_flush, P(int rank, MPI_Win w), P(rank, w), plain(call))
MAKES(Win_flush_all, P(MPI_Win w), P(w), plain(call))
MAKES(Win_flush_local, P(int rank, MPI_Win w), P(rank, w), plain(call))
MAKES(Win_flush_local_all, P(MPI_Win w), P(w), plain(call))
MAKES(Win_post, P(MPI_Group g, int assertion, MPI_Win w), P(g, assertion, w), plain(call))
MAKES(Win_start, P(MPI_Group g, int assertion, MPI_Win w), P(g, assertion, w), plain(call))
MAKES(Win_complete, P(MPI_Win w), P(w), plain(call))
MAKES(Win_wait, P(MPI_Win w), P(w), plain(call))
MAKES(Win_sync, P(MPI_Win w), P(w), plain(call))

}  // extern "C"
