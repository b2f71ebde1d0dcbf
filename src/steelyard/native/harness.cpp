// The harness of threads as one unit: its parts share most of their headers, and compile in a third of the time so.
#include "buffers.cpp"
#include "clock.cpp"
#include "disturbance.cpp"
#include "json.cpp"
#include "modes.cpp"
#include "opencl.cpp"
#include "pace.cpp"
#include "params.cpp"
#include "record.cpp"
#include "sampling.cpp"
#include "serve.cpp"
#include "stopping.cpp"
#include "text.cpp"
#ifdef STEELYARD_OPENMP
#include "team_openmp.cpp"
#else
#include "team.cpp"
#endif
