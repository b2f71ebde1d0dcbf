// MPI's collectives, from one table.
#pragma once
#include <initializer_list>

#include "wrap.h"

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

inline void unmodelled(const Call& call, MPI_Request* request) { request ? pending(call, request) : plain(call); }

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

}  // namespace steelyard::trace

extern "C" {

// Each twice: one waits, the other leaves a request.
#define COLLECTIVE(NAME, INAME, PARAMETERS, ARGUMENTS, ...) \
  int MPI_##NAME(PARAMETERS) {                              \
    Call call;                                              \
    const int code = REAL(NAME)(ARGUMENTS);                 \
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
  ALSO(NAME);                                               \
  int MPI_##INAME(PARAMETERS, MPI_Request* request) {       \
    Call call;                                              \
    const int code = REAL(INAME)(ARGUMENTS, request);       \
    if (call.over()) {                                      \
      Lock hold;                                            \
      if (code == MPI_SUCCESS)                              \
        __VA_ARGS__;                                        \
      else                                                  \
        plain(call);                                        \
    }                                                       \
    return code;                                            \
  }                                                         \
  ALSO(INAME);

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

// Between neighbours of a topology: time that passes within MPI.
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c), P(b, n, t, d, m, u, c),
           unmodelled(call, request))
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           P(const void* b, int n, MPI_Datatype t, void* d, const int* m, const int* e, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, e, u, c), unmodelled(call, request))
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c), P(b, n, t, d, m, u, c),
           unmodelled(call, request))
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           P(const void* b, const int* n, const int* e, MPI_Datatype t, void* d, const int* m, const int* f,
             MPI_Datatype u, MPI_Comm c),
           P(b, n, e, t, d, m, f, u, c), unmodelled(call, request))
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           P(const void* b, const int* n, const MPI_Aint* e, const MPI_Datatype* t, void* d, const int* m,
             const MPI_Aint* f, const MPI_Datatype* u, MPI_Comm c),
           P(b, n, e, t, d, m, f, u, c), unmodelled(call, request))

}  // extern "C"
