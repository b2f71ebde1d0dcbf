// MPI's calls between two ranks, each as its name says; what they have in common is in messages.h.
#pragma once
#include "wrap.h"

extern "C" {

// Tables of macros have no semicolons, which clang-format takes for one long line.
#define SENDS(NAME)                                                                   \
  int MPI_##NAME(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) { \
    Call call;                                                                        \
    const int code = REAL(NAME)(b, n, t, to, tag, c);                                 \
    if (call.over()) {                                                                \
      Lock hold;                                                                      \
      sent(call, to, tag, n, t, c, code);                                             \
    }                                                                                 \
    return code;                                                                      \
  }                                                                                   \
  ALSO(NAME);
// clang-format off
SENDS(Send)
SENDS(Bsend)
SENDS(Ssend)
SENDS(Rsend)
// clang-format on

#define STARTS(NAME, BUFFER, WHAT, HOW)                                                               \
  int MPI_##NAME(BUFFER b, int n, MPI_Datatype t, int partner, int tag, MPI_Comm c, MPI_Request* r) { \
    Call call;                                                                                        \
    const int code = REAL(NAME)(b, n, t, partner, tag, c, r);                                         \
    if (call.over()) {                                                                                \
      Lock hold;                                                                                      \
      HOW(call, made(Request::WHAT, partner, tag, n, t, c), *r, code);                                \
    }                                                                                                 \
    return code;                                                                                      \
  }                                                                                                   \
  ALSO(NAME);
// clang-format off
STARTS(Isend, const void*, send, posted)
STARTS(Ibsend, const void*, send, posted)
STARTS(Issend, const void*, send, posted)
STARTS(Irsend, const void*, send, posted)
STARTS(Irecv, void*, receive, posted)
STARTS(Send_init, const void*, send, prepared)
STARTS(Bsend_init, const void*, send, prepared)
STARTS(Ssend_init, const void*, send, prepared)
STARTS(Rsend_init, const void*, send, prepared)
STARTS(Recv_init, void*, receive, prepared)
// clang-format on

int MPI_Start(MPI_Request* r) {
  Call call;
  const int code = REAL(Start)(r);
  if (call.over()) {
    Lock hold;
    started(call, *r);
  }
  return code;
}
int MPI_Startall(int n, MPI_Request* r) {
  Call call;
  const int code = REAL(Startall)(n, r);
  if (call.over()) {
    Lock hold;
    for (int i = 0; i < n; ++i) started(call, r[i]);
  }
  return code;
}

int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Recv)(b, n, t, from, tag, c, status.data());
  if (call.over()) {
    Lock hold;
    received(call, status.data(), number_of(c), code);
  }
  return code;
}
int MPI_Sendrecv(const void* b, int n, MPI_Datatype t, int to, int tag, void* d, int m, MPI_Datatype u, int from,
                 int with, MPI_Comm c, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Sendrecv)(b, n, t, to, tag, d, m, u, from, with, c, status.data());
  if (call.over()) {
    Lock hold;
    exchanged(call, to, tag, bytes_of(n, t), status.data(), c);
  }
  return code;
}
int MPI_Sendrecv_replace(void* b, int n, MPI_Datatype t, int to, int tag, int from, int with, MPI_Comm c,
                         MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Sendrecv_replace)(b, n, t, to, tag, from, with, c, status.data());
  if (call.over()) {
    Lock hold;
    exchanged(call, to, tag, bytes_of(n, t), status.data(), c);
  }
  return code;
}

int MPI_Probe(int from, int tag, MPI_Comm c, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Probe)(from, tag, c, status.data());
  if (call.over()) {
    Lock hold;
    probed(call, status.data(), c);
  }
  return code;
}
int MPI_Iprobe(int from, int tag, MPI_Comm c, int* there, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Iprobe)(from, tag, c, there, status.data());
  if (call.over()) {
    Lock hold;
    *there ? probed(call, status.data(), c) : found_nothing(call);
  }
  return code;
}
int MPI_Mprobe(int from, int tag, MPI_Comm c, MPI_Message* message, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Mprobe)(from, tag, c, message, status.data());
  if (call.over()) {
    Lock hold;
    probed(call, status.data(), c);
    state.messages.insert(word(*message), number_of(c));
  }
  return code;
}
int MPI_Improbe(int from, int tag, MPI_Comm c, int* there, MPI_Message* message, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const int code = REAL(Improbe)(from, tag, c, there, message, status.data());
  if (call.over()) {
    Lock hold;
    *there ? probed(call, status.data(), c) : found_nothing(call);
    if (*there) state.messages.insert(word(*message), number_of(c));
  }
  return code;
}
static std::uint32_t matched(std::uint64_t message) {
  std::uint32_t* found = state.messages.find(message);
  const std::uint32_t communicator = found ? *found : 0;
  if (found) state.messages.erase(found);
  return communicator;
}
int MPI_Mrecv(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const std::uint64_t which = word(*message);
  const int code = REAL(Mrecv)(b, n, t, message, status.data());
  if (call.over()) {
    Lock hold;
    received(call, status.data(), matched(which), code);
  }
  return code;
}
int MPI_Imrecv(void* b, int n, MPI_Datatype t, MPI_Message* message, MPI_Request* r) {
  Call call;
  const std::uint64_t which = word(*message);
  const int code = REAL(Imrecv)(b, n, t, message, r);
  if (call.over()) {
    Lock hold;
    Request request = made(Request::receive, MPI_ANY_SOURCE, MPI_ANY_TAG, n, t, MPI_COMM_WORLD);
    request.communicator = matched(which);
    posted(call, request, *r, code);
  }
  return code;
}

ALSO(Start);
ALSO(Startall);
ALSO(Recv);
ALSO(Sendrecv);
ALSO(Sendrecv_replace);
ALSO(Probe);
ALSO(Iprobe);
ALSO(Mprobe);
ALSO(Improbe);
ALSO(Mrecv);
ALSO(Imrecv);

}  // extern "C"
