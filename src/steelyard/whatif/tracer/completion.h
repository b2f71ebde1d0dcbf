// MPI's calls that complete what was begun.
#pragma once
#include "wrap.h"

extern "C" {

// MPI sets the requests that it completes to null, so that their handles are kept before.
#define ONE P(Statuses statuses(1, asked); Handles handles(1, r))
#define ANY_OF P(Statuses statuses(1, asked); Handles handles(n, r))
#define ALL_OF P(Statuses statuses(n, asked); Handles handles(n, r))

RECORDED(Wait, P(MPI_Request* r, MPI_Status* asked), P(r, statuses.data()), ONE,
         record_completed(call, handles, nullptr, 1, statuses))
RECORDED(Test, P(MPI_Request* r, int* flag, MPI_Status* asked), P(r, flag, statuses.data()), ONE,
         *flag ? record_completed(call, handles, nullptr, 1, statuses) : note_empty(call))
RECORDED(Waitall, P(int n, MPI_Request* r, MPI_Status* asked), P(n, r, statuses.data()), ALL_OF,
         record_completed(call, handles, nullptr, n, statuses))
RECORDED(Testall, P(int n, MPI_Request* r, int* flag, MPI_Status* asked), P(n, r, flag, statuses.data()), ALL_OF,
         *flag ? record_completed(call, handles, nullptr, n, statuses) : note_empty(call))
RECORDED(Waitany, P(int n, MPI_Request* r, int* index, MPI_Status* asked), P(n, r, index, statuses.data()), ANY_OF,
         record_completed(call, handles, index, *index == MPI_UNDEFINED ? 0 : 1, statuses))
RECORDED(Testany, P(int n, MPI_Request* r, int* index, int* flag, MPI_Status* asked),
         P(n, r, index, flag, statuses.data()), ANY_OF,
         *flag ? record_completed(call, handles, index, *index == MPI_UNDEFINED ? 0 : 1, statuses) : note_empty(call))
RECORDED(Waitsome, P(int n, MPI_Request* r, int* count, int* indices, MPI_Status* asked),
         P(n, r, count, indices, statuses.data()), ALL_OF, record_completed(call, handles, indices, *count, statuses))
RECORDED(Testsome, P(int n, MPI_Request* r, int* count, int* indices, MPI_Status* asked),
         P(n, r, count, indices, statuses.data()), ALL_OF,
         *count ? record_completed(call, handles, indices, *count, statuses) : note_empty(call))

inline void forget_request(const Call& call, Request* request) {
  call.begin(request ? Kind::released : Kind::call);
  if (request) {
    state.stream.put(request->number);
    state.request_numbers.give(request->number);
    state.requests.erase(request);
  }
  state.stream.end_record();
}
RECORDED(Cancel, P(MPI_Request* r), P(r), const std::uint64_t handle = bits(*r),
         if (Request* request = state.requests.find(handle)) request->cancelled = true;
         record_plain(call))
RECORDED(Request_free, P(MPI_Request* r), P(r), const std::uint64_t handle = bits(*r),
         forget_request(call, state.requests.find(handle)))
int MPI_Type_free(MPI_Datatype* t) {
  state.known_size = -1;  // another type may get its handle
  return REAL(Type_free)(t);
}
ALSO(Type_free);

}  // extern "C"
