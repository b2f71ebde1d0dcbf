// Wraps MPI's collectives. One table lists them.
#pragma once
#include <initializer_list>

#include "wrap.h"

namespace steelyard::trace {

// Begins the record of a collective with one number of bytes, or several; false if the replay has no such collective.
// `request`: that of a nonblocking one, or null.
inline bool begin_together(const Call& call, MPI_Comm c, MPI_Request* request, bool several, Collective what, int root,
                           std::size_t most = 0) {
  const Communicator* found = find_communicator(c);
  if (!found || found->between) {
    record_plain(call);
    return false;
  }
  call.begin(several ? (request ? Kind::ivectors : Kind::vectors) : (request ? Kind::icollective : Kind::collective),
             found->number, most);
  state.stream.put(static_cast<std::uint64_t>(what));
  state.stream.put(static_cast<std::uint64_t>(root));
  return true;
}
inline void end_together(MPI_Request* request) {
  if (request) {
    const Request entry = make_other_request(Request::other);
    state.requests.insert(bits(*request), entry);
    state.stream.put(entry.number);
  }
  state.stream.end_record();
}
// Records a collective with one number of bytes per rank, the most frequent kind. Flattened, because calls cost 2 ns.
[[gnu::flatten]] inline void note_whole(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root,
                                        std::int64_t bytes) {
  if (!begin_together(call, c, request, false, what, root)) return;
  state.stream.put(static_cast<std::uint64_t>(bytes));
  end_together(request);
}

inline void unmodelled(const Call& call, MPI_Request* request) { request ? keep(call, request) : record_plain(call); }

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

// Records a number of bytes for each member; null `counts`: none. There is one type, or one for each member.
struct Vector {
  const int* counts;
  MPI_Datatype type;
  const MPI_Datatype* types = nullptr;
};
inline void varied(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root, Vector a,
                   Vector b = {nullptr, MPI_BYTE}) {
  const int n = size_of(c), lists = (a.counts ? 1 : 0) + (b.counts ? 1 : 0);
  if (!begin_together(call, c, request, true, what, root, 64 + 20 * static_cast<std::size_t>(n))) return;
  state.stream.put(static_cast<std::uint64_t>(lists * n));
  for (const Vector& v : {a, b})
    for (int i = 0; v.counts && i < n; ++i)
      state.stream.put(static_cast<std::uint64_t>(bytes_of(v.counts[i], v.types ? v.types[i] : v.type)));
  end_together(request);
}

// Records the part of a rank that is not the root, in a collective with a count for each rank.
inline void whole_of_vectors(const Call& call, MPI_Comm c, MPI_Request* request, Collective what, int root,
                             std::int64_t bytes) {
  if (!begin_together(call, c, request, true, what, root)) return;
  state.stream.put(1);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  end_together(request);
}

}  // namespace steelyard::trace

extern "C" {

// Each collective has two forms: one waits, and the other returns a request.
#define COLLECTIVE(NAME, INAME, PARAMETERS, ARGUMENTS, ...)                               \
  WRAP(NAME, P(PARAMETERS), P(ARGUMENTS), P(MPI_Request* request = nullptr; __VA_ARGS__)) \
  WRAP(INAME, P(PARAMETERS, MPI_Request* request), P(ARGUMENTS, request), P(__VA_ARGS__))

// b, n, t: what is sent; d, m, u: what is received.
COLLECTIVE(Barrier, Ibarrier, P(MPI_Comm c), P(c), note_whole(call, c, request, Collective::barrier, 0, 0))
COLLECTIVE(Bcast, Ibcast, P(void* b, int n, MPI_Datatype t, int root, MPI_Comm c), P(b, n, t, root, c),
           note_whole(call, c, request, Collective::broadcast, root, bytes_of(n, t)))
COLLECTIVE(Reduce, Ireduce, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
           P(b, d, n, t, o, root, c), note_whole(call, c, request, Collective::reduce, root, bytes_of(n, t)))
COLLECTIVE(Allreduce, Iallreduce, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           P(b, d, n, t, o, c), note_whole(call, c, request, Collective::allreduce, 0, bytes_of(n, t)))
COLLECTIVE(Scan, Iscan, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           note_whole(call, c, request, Collective::scan, 0, bytes_of(n, t)))
COLLECTIVE(Exscan, Iexscan, P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           note_whole(call, c, request, Collective::scan, 0, bytes_of(n, t)))
COLLECTIVE(Gather, Igather,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, int root, MPI_Comm c),
           P(b, n, t, d, m, u, root, c), note_whole(call, c, request, Collective::gather, root, part(b, n, t, m, u)))
COLLECTIVE(Scatter, Iscatter,
           P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, int root, MPI_Comm c),
           P(b, n, t, d, m, u, root, c),
           note_whole(call, c, request, Collective::scatter, root,
                      rank_in(c) == root ? bytes_of(n, t) : bytes_of(m, u)))
COLLECTIVE(Allgather, Iallgather, P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, u, c), note_whole(call, c, request, Collective::allgather, 0, part(b, n, t, m, u)))
COLLECTIVE(Alltoall, Ialltoall, P(const void* b, int n, MPI_Datatype t, void* d, int m, MPI_Datatype u, MPI_Comm c),
           P(b, n, t, d, m, u, c), note_whole(call, c, request, Collective::alltoall, 0, part(b, n, t, m, u)))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           P(const void* b, void* d, const int* n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           note_whole(call, c, request, Collective::reduce_scatter, 0, sum(n, t, c)))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           P(const void* b, void* d, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), P(b, d, n, t, o, c),
           note_whole(call, c, request, Collective::reduce_scatter, 0, size_of(c) * bytes_of(n, t)))
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
