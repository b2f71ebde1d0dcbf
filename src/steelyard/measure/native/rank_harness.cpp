// The harness of ranks as one unit, as harness.cpp: linked with it, and compiled for each MPI.
#include "rank_serve.cpp"
#include "ranks.cpp"
