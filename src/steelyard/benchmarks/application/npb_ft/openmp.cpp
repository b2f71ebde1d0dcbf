// FT by OpenMP: the text of the threads, whose team is the compiler's runtime (native/team_openmp.cpp).
#include "threads.cpp"
