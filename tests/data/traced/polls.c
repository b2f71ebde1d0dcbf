// Rank 1 asks again and again for what rank 0 sends after a while; what it does between is what its word names.
#include <mpi.h>
#include <string.h>
#include <time.h>

static void compute(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}
static void rest(double seconds) {
  const struct timespec length = {0, (long)(1e9 * seconds)};
  nanosleep(&length, 0);
}

int main(int count, char** words) {
  int rank, a = 0, b = 0, flag = 0;
  MPI_Request r;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    rest(0.1);
    MPI_Send(&a, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Irecv(&b, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
    for (;;) {
      MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
      if (flag) break;
      if (!strcmp(words[1], "spin")) compute(2e-6);
      if (!strcmp(words[1], "sleep")) rest(0.5e-3);
      if (!strcmp(words[1], "compute")) compute(0.2e-3);
    }
  }
  MPI_Finalize();
  return 0;
}
