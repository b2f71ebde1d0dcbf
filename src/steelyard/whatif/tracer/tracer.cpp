// A library that is loaded into an application before its MPI, and writes a trace of its calls: one file a rank.
// It is linked with no MPI: what it calls is found in the application, and where there is none nothing calls it.
#include "calls.h"
#include "collectives.h"
#include "communicators.h"
#include "completion.h"
#include "onesided.h"

namespace steelyard::trace {
State state;
__thread bool inside __attribute__((tls_model("initial-exec"))) = false;
}  // namespace steelyard::trace

extern "C" {

int MPI_Init(int* count, char*** words) {
  expect_own();
  const int code = REAL(Init)(count, words);
  if (code == MPI_SUCCESS) begin_trace();
  return code;
}
int MPI_Init_thread(int* count, char*** words, int asked, int* given) {
  expect_own();
  const int code = REAL(Init_thread)(count, words, asked, given);
  if (code == MPI_SUCCESS) begin_trace();
  return code;
}
int MPI_Finalize() {
  end_trace(state.stream.clock.now());
  return REAL(Finalize)();
}
int MPI_Abort(MPI_Comm c, int why) {
  Call call;
  if (call.end_call()) {
    Lock hold;
    state.stream.calibrate();
    state.stream.header().finished = 2;
    call.begin(Kind::abort);
    state.stream.end_record();
    state.tracing = false;
  }
  return REAL(Abort)(c, why);
}

// Marks that the rank enters the region with this number.
RECORDED(Pcontrol, P(const int level, ...), P(level), , call.begin(Kind::region); state.stream.put_signed(level);
         state.stream.end_record())

ALSO(Init);
ALSO(Init_thread);
ALSO(Finalize);
ALSO(Abort);

}  // extern "C"
