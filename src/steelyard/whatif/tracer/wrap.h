// The wrappers of MPI's calls: each one calls MPI first, and then records the call.
#pragma once
#include "messages.h"

using namespace steelyard::trace;

#define P(...) __VA_ARGS__
// BEFORE keeps the arguments that MPI changes. RECORD runs after the call, whose result is `code`.
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
// RECORD is written only for a successful call. For a failed call, only its time is recorded.
#define WRAP(NAME, PARAMETERS, ARGUMENTS, RECORD) \
  RECORDED(NAME, P(PARAMETERS), P(ARGUMENTS), , P(if (code == MPI_SUCCESS) { RECORD; } else record_plain(call)))
