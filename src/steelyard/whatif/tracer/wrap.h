// The wrappers of MPI's calls: what is called comes first, then what is recorded of it.
#pragma once
#include "messages.h"

using namespace steelyard::trace;

#define P(...) __VA_ARGS__
// BEFORE keeps what MPI changes. RECORD is written down behind the call, whose result is `code`.
#define RECORDED(NAME, PARAMETERS, ARGUMENTS, BEFORE, RECORD) \
  int MPI_##NAME(PARAMETERS) {                                \
    Call call;                                                \
    BEFORE;                                                   \
    const int code = REAL(NAME)(ARGUMENTS);                   \
    if (call.end_call()) {                                    \
      Lock hold;                                              \
      RECORD;                                                 \
    }                                                         \
    return code;                                              \
  }                                                           \
  ALSO(NAME);
// RECORD is of a call that did what it was asked for; of another one there is its time alone.
#define WRAP(NAME, PARAMETERS, ARGUMENTS, RECORD) \
  RECORDED(NAME, P(PARAMETERS), P(ARGUMENTS), , P(if (code == MPI_SUCCESS) { RECORD; } else record_plain(call)))
