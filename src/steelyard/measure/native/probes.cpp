// The harness's own probes: clocks and the pace of the machine, compiled with the flags of the kernels.
#include "clock.cpp"
#include "pace.cpp"
