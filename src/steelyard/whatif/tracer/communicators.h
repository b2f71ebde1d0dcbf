// MPI's calls that make a communicator of another one.
#pragma once
#include "wrap.h"

namespace steelyard::trace {

// Returns the key of a communicator that only its members make: it follows from them and from the tag.
inline std::uint64_t members_key(MPI_Group group, std::uint64_t key) {
  MPI_Group world;
  int size = 0;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  for (int i = 0, rank = 0; i < size; ++i) {
    PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
    key = mix_keys(key, static_cast<std::uint64_t>(rank));
  }
  PMPI_Group_free(&world);
  return key;
}
inline std::uint64_t shared_key(MPI_Comm parent, MPI_Comm made, int tag) {
  const Communicator* from = find_communicator(parent);
  if (made == MPI_COMM_NULL) return 0;
  MPI_Group group;
  PMPI_Comm_group(made, &group);
  const std::uint64_t key = members_key(group, mix_keys(from ? from->key : 3, static_cast<std::uint64_t>(tag) << 32));
  PMPI_Group_free(&group);
  return key;
}
inline std::uint64_t key_between(MPI_Comm made, int tag) {
  if (made == MPI_COMM_NULL) return 0;
  MPI_Group own, other;
  PMPI_Comm_group(made, &own);
  PMPI_Comm_remote_group(made, &other);
  const std::uint64_t key = mix_keys(members_key(own, 5) + members_key(other, 5), static_cast<std::uint64_t>(tag));
  PMPI_Group_free(&own);
  PMPI_Group_free(&other);
  return key;
}
// Keeps a communicator whose members are recorded when its request is completed.
inline void record_duplicate(const Call& call, MPI_Comm parent, MPI_Comm* made, MPI_Request handle) {
  record_plain(call);
  Communicator* from = find_communicator(parent);
  Request entry = make_other_request(Request::duplicate);
  entry.made = made;
  entry.key = from ? mix_keys(from->key, ++from->created) : 3;
  state.requests.insert(bits(handle), entry);
}

}  // namespace steelyard::trace

extern "C" {

WRAP(Comm_dup, P(MPI_Comm c, MPI_Comm* made), P(c, made), record_new(call, c, *made))
WRAP(Comm_dup_with_info, P(MPI_Comm c, MPI_Info i, MPI_Comm* made), P(c, i, made), record_new(call, c, *made))
WRAP(Comm_split, P(MPI_Comm c, int color, int key, MPI_Comm* made), P(c, color, key, made), record_new(call, c, *made))
WRAP(Comm_split_type, P(MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm* made), P(c, type, key, i, made),
     record_new(call, c, *made))
WRAP(Comm_create, P(MPI_Comm c, MPI_Group g, MPI_Comm* made), P(c, g, made), record_new(call, c, *made))
WRAP(Comm_create_group, P(MPI_Comm c, MPI_Group g, int tag, MPI_Comm* made), P(c, g, tag, made),
     record_created_apart(call, *made, shared_key(c, *made, tag)))
WRAP(Cart_create, P(MPI_Comm c, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made),
     P(c, n, dims, periods, reorder, made), record_new(call, c, *made))
WRAP(Cart_sub, P(MPI_Comm c, const int* remain, MPI_Comm* made), P(c, remain, made), record_new(call, c, *made))
WRAP(Graph_create, P(MPI_Comm c, int n, const int* index, const int* edges, int reorder, MPI_Comm* made),
     P(c, n, index, edges, reorder, made), record_new(call, c, *made))
WRAP(Dist_graph_create_adjacent,
     P(MPI_Comm c, int n, const int* from, const int* w, int m, const int* to, const int* v, MPI_Info i, int reorder,
       MPI_Comm* made),
     P(c, n, from, w, m, to, v, i, reorder, made), record_new(call, c, *made))
WRAP(Dist_graph_create,
     P(MPI_Comm c, int n, const int* from, const int* degrees, const int* to, const int* w, MPI_Info i, int reorder,
       MPI_Comm* made),
     P(c, n, from, degrees, to, w, i, reorder, made), record_new(call, c, *made))
WRAP(Intercomm_create, P(MPI_Comm c, int leader, MPI_Comm peers, int other, int tag, MPI_Comm* made),
     P(c, leader, peers, other, tag, made), record_created_apart(call, *made, key_between(*made, tag)))
WRAP(Intercomm_merge, P(MPI_Comm c, int high, MPI_Comm* made), P(c, high, made), record_new(call, c, *made))
// For processes of another MPI_COMM_WORLD. Messages to them are not recorded.
WRAP(Comm_spawn,
     P(const char* program, char** words, int n, MPI_Info i, int root, MPI_Comm c, MPI_Comm* made, int* codes),
     P(program, words, n, i, root, c, made, codes), record_plain(call))
WRAP(Comm_accept, P(const char* port, MPI_Info i, int root, MPI_Comm c, MPI_Comm* made), P(port, i, root, c, made),
     record_plain(call))
WRAP(Comm_connect, P(const char* port, MPI_Info i, int root, MPI_Comm c, MPI_Comm* made), P(port, i, root, c, made),
     record_plain(call))
RECORDED(Comm_idup, P(MPI_Comm c, MPI_Comm* made, MPI_Request* r), P(c, made, r), , record_duplicate(call, c, made, *r))
RECORDED(Comm_free, P(MPI_Comm* c), P(c), const std::uint64_t handle = bits(*c), record_plain(call);
         if (Communicator* found = state.communicators.find(handle)) state.communicators.erase(found))

}  // extern "C"
