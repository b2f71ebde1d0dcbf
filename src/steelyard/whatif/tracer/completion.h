// MPI's calls that complete what was begun.
#pragma once
#include "wrap.h"

extern "C" {

int MPI_Wait(MPI_Request* r, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const std::uint64_t handle = word(*r);
  const int code = REAL(Wait)(r, status.data());
  if (call.over()) {
    Lock hold;
    completed(call, &handle, nullptr, 1, status.data());
  }
  return code;
}
int MPI_Test(MPI_Request* r, int* flag, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  const std::uint64_t handle = word(*r);
  const int code = REAL(Test)(r, flag, status.data());
  if (call.over()) {
    Lock hold;
    *flag ? completed(call, &handle, nullptr, 1, status.data()) : found_nothing(call);
  }
  return code;
}
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* asked) {
  Call call;
  Statuses statuses(n, asked);
  Handles handles(n, r);
  const int code = REAL(Waitall)(n, r, statuses.data());
  if (call.over()) {
    Lock hold;
    completed(call, handles.data(), nullptr, static_cast<std::size_t>(n), statuses.data());
  }
  return code;
}
int MPI_Testall(int n, MPI_Request* r, int* flag, MPI_Status* asked) {
  Call call;
  Statuses statuses(n, asked);
  Handles handles(n, r);
  const int code = REAL(Testall)(n, r, flag, statuses.data());
  if (call.over()) {
    Lock hold;
    *flag ? completed(call, handles.data(), nullptr, static_cast<std::size_t>(n), statuses.data())
          : found_nothing(call);
  }
  return code;
}
int MPI_Waitany(int n, MPI_Request* r, int* index, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  Handles handles(n, r);
  const int code = REAL(Waitany)(n, r, index, status.data());
  if (call.over()) {
    Lock hold;
    completed(call, handles.data(), index, *index == MPI_UNDEFINED ? 0 : 1, status.data());
  }
  return code;
}
int MPI_Testany(int n, MPI_Request* r, int* index, int* flag, MPI_Status* asked) {
  Call call;
  Statuses status(1, asked);
  Handles handles(n, r);
  const int code = REAL(Testany)(n, r, index, flag, status.data());
  if (call.over()) {
    Lock hold;
    *flag ? completed(call, handles.data(), index, *index == MPI_UNDEFINED ? 0 : 1, status.data())
          : found_nothing(call);
  }
  return code;
}
int MPI_Waitsome(int n, MPI_Request* r, int* count, int* indices, MPI_Status* asked) {
  Call call;
  Statuses statuses(n, asked);
  Handles handles(n, r);
  const int code = REAL(Waitsome)(n, r, count, indices, statuses.data());
  if (call.over()) {
    Lock hold;
    completed(call, handles.data(), indices, *count > 0 ? static_cast<std::size_t>(*count) : 0, statuses.data());
  }
  return code;
}
int MPI_Testsome(int n, MPI_Request* r, int* count, int* indices, MPI_Status* asked) {
  Call call;
  Statuses statuses(n, asked);
  Handles handles(n, r);
  const int code = REAL(Testsome)(n, r, count, indices, statuses.data());
  if (call.over()) {
    Lock hold;
    *count
        ? completed(call, handles.data(), indices, *count > 0 ? static_cast<std::size_t>(*count) : 0, statuses.data())
        : found_nothing(call);
  }
  return code;
}

int MPI_Cancel(MPI_Request* r) {
  Call call;
  const std::uint64_t handle = word(*r);
  const int code = REAL(Cancel)(r);
  if (call.over()) {
    Lock hold;
    if (Request* request = state.requests.find(handle)) request->cancelled = true;
    plain(call);
  }
  return code;
}
int MPI_Request_free(MPI_Request* r) {
  Call call;
  const std::uint64_t handle = word(*r);
  const int code = REAL(Request_free)(r);
  if (call.over()) {
    Lock hold;
    Request* request = state.requests.find(handle);
    call.begin(request ? Kind::released : Kind::call);
    if (request) {
      state.stream.put(request->number);
      state.request_numbers.give(request->number);
      state.requests.erase(request);
    }
    state.stream.done();
  }
  return code;
}
int MPI_Type_free(MPI_Datatype* t) {
  state.known_size = -1;  // another type may get its handle
  return REAL(Type_free)(t);
}

ALSO(Wait);
ALSO(Test);
ALSO(Waitall);
ALSO(Testall);
ALSO(Waitany);
ALSO(Testany);
ALSO(Waitsome);
ALSO(Testsome);
ALSO(Cancel);
ALSO(Request_free);
ALSO(Type_free);

}  // extern "C"
