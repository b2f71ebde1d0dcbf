// The wrappers of MPI's calls: what is called comes first, then what is recorded of it.
#pragma once
#include "messages.h"

using namespace steelyard::trace;

namespace steelyard::trace {

// Nonblocking calls that are not messages of the model; their requests are known.
inline void pending(const Call& call, MPI_Request* request) {
  plain(call);
  Request entry{};
  entry.what = Request::other;
  entry.active = true;
  entry.number = state.request_numbers.take();
  state.requests.insert(word(*request), entry);
}

}  // namespace steelyard::trace

#define P(...) __VA_ARGS__
// RECORD is of a call that did what it was asked for; of another one there is its time alone.
#define WRAP(NAME, PARAMETERS, ARGUMENTS, RECORD) \
  int MPI_##NAME(PARAMETERS) {                    \
    Call call;                                    \
    const int code = REAL(NAME)(ARGUMENTS);       \
    if (call.over()) {                            \
      Lock hold;                                  \
      if (code == MPI_SUCCESS)                    \
        RECORD;                                   \
      else                                        \
        plain(call);                              \
    }                                             \
    return code;                                  \
  }                                               \
  ALSO(NAME);
