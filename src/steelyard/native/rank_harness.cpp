// The harness of ranks as one unit, as harness.cpp: linked with it, and compiled for each MPI.
#include "common_clock.cpp"
#include "rank_account.cpp"
#include "rank_pace.cpp"
#include "rank_sampling.cpp"
#include "rank_serve.cpp"
#include "ranks.cpp"
