// MPI's calls between two ranks, each as its name says; what they have in common is in messages.h.
#pragma once
#include "wrap.h"

extern "C" {

// Tables of macros have no semicolons, which clang-format takes for one long line.
#define SENDS(NAME)                                                                                              \
  RECORDED(NAME, P(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), P(b, n, t, to, tag, c), , \
           note_sent(call, to, tag, n, t, c, code))
// clang-format off
SENDS(Send)
SENDS(Bsend)
SENDS(Ssend)
SENDS(Rsend)
// clang-format on

#define STARTS(NAME, BUFFER, WHAT, HOW)                                                                \
  RECORDED(NAME, P(BUFFER b, int n, MPI_Datatype t, int partner, int tag, MPI_Comm c, MPI_Request* r), \
           P(b, n, t, partner, tag, c, r), , HOW(call, make(Request::WHAT, partner, tag, n, t, c), *r, code))
// clang-format off
STARTS(Isend, const void*, send, record_posted_request)
STARTS(Ibsend, const void*, send, record_posted_request)
STARTS(Issend, const void*, send, record_posted_request)
STARTS(Irsend, const void*, send, record_posted_request)
STARTS(Irecv, void*, receive, record_posted_request)
STARTS(Send_init, const void*, send, keep_persistent_request)
STARTS(Bsend_init, const void*, send, keep_persistent_request)
STARTS(Ssend_init, const void*, send, keep_persistent_request)
STARTS(Rsend_init, const void*, send, keep_persistent_request)
STARTS(Recv_init, void*, receive, keep_persistent_request)
// clang-format on

RECORDED(Start, P(MPI_Request* r), P(r), , record_started_request(call, *r))
RECORDED(Startall, P(int n, MPI_Request* r), P(n, r), , for (int i = 0; i < n; ++i) record_started_request(call, r[i]))

RECORDED(Recv, P(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* asked),
         P(b, n, t, from, tag, c, status.data()), Statuses status(1, asked),
         note_received(call, status.data(), number_of(c), code))
RECORDED(Sendrecv,
         P(const void* b, int n, MPI_Datatype t, int to, int tag, void* d, int m, MPI_Datatype u, int from, int with,
           MPI_Comm c, MPI_Status* asked),
         P(b, n, t, to, tag, d, m, u, from, with, c, status.data()), Statuses status(1, asked),
         note_exchange(call, to, tag, bytes_of(n, t), status.data(), c))
RECORDED(Sendrecv_replace,
         P(void* b, int n, MPI_Datatype t, int to, int tag, int from, int with, MPI_Comm c, MPI_Status* asked),
         P(b, n, t, to, tag, from, with, c, status.data()), Statuses status(1, asked),
         note_exchange(call, to, tag, bytes_of(n, t), status.data(), c))

RECORDED(Probe, P(int from, int tag, MPI_Comm c, MPI_Status* asked), P(from, tag, c, status.data()),
         Statuses status(1, asked), record_probe(call, status.data(), c))
RECORDED(Iprobe, P(int from, int tag, MPI_Comm c, int* there, MPI_Status* asked), P(from, tag, c, there, status.data()),
         Statuses status(1, asked), *there ? record_probe(call, status.data(), c) : note_empty(call))
// Keeps the communicator of a matched message, because the call that receives it names none.
inline void note_match(const Call& call, MPI_Comm c, MPI_Message message, const MPI_Status* status) {
  record_probe(call, status, c);
  state.messages.insert(bits(message), number_of(c));
}
inline std::uint32_t communicator_of(std::uint64_t message) {
  std::uint32_t* found = state.messages.find(message);
  const std::uint32_t communicator = found ? *found : 0;
  if (found) state.messages.erase(found);
  return communicator;
}
RECORDED(Mprobe, P(int from, int tag, MPI_Comm c, MPI_Message* message, MPI_Status* asked),
         P(from, tag, c, message, status.data()), Statuses status(1, asked),
         note_match(call, c, *message, status.data()))
RECORDED(Improbe, P(int from, int tag, MPI_Comm c, int* there, MPI_Message* message, MPI_Status* asked),
         P(from, tag, c, there, message, status.data()), Statuses status(1, asked),
         *there ? note_match(call, c, *message, status.data()) : note_empty(call))
RECORDED(Mrecv, P(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Status* asked),
         P(b, n, t, message, status.data()), P(Statuses status(1, asked); const std::uint64_t which = bits(*message)),
         note_received(call, status.data(), communicator_of(which), code))
RECORDED(Imrecv, P(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Request* r), P(b, n, t, message, r),
         const std::uint64_t which = bits(*message),
         Request request = make(Request::receive, MPI_ANY_SOURCE, MPI_ANY_TAG, n, t, MPI_COMM_WORLD);
         request.communicator = communicator_of(which); record_posted_request(call, request, *r, code))

}  // extern "C"
