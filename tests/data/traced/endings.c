// Computes and talks, and ends in the way that its word names.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void compute(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

int main(int count, char** words) {
  int rank, ranks, a = 0, b = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* how = count > 1 ? words[1] : "";
  if (!strcmp(how, "known")) {  // what a test writes down by hand, too
    char* data = calloc(1, 100000);
    MPI_Request r[2];
    MPI_Bcast(data, 1024, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Irecv(data, 5000, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, r);
    MPI_Isend(data + 50000, 5000, MPI_CHAR, (rank + 1) % ranks, 7, MPI_COMM_WORLD, r + 1);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, data, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(data, 300, MPI_CHAR, data + 50000, 300, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
  }
  for (int i = 0; i < 5 && !strcmp(how, "regions"); ++i) {
    MPI_Pcontrol(1);
    compute(0.01);
    MPI_Pcontrol(2, "with words of its own");
    MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(-1);
  }
  if (!strcmp(how, "compute"))
    for (int i = 0; i < 10; ++i) {
      compute(0.05);
      MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  for (int i = 0; i < 100; ++i) {
    MPI_Sendrecv(&a, 1, MPI_INT, (rank + 1) % ranks, 1, &b, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (i == 50 && rank == 1) {
      if (!strcmp(how, "kill")) raise(SIGKILL);
      if (!strcmp(how, "abort")) abort();
      if (!strcmp(how, "crash")) *(volatile int*)16 = 1;
      if (!strcmp(how, "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Finalize();
  return 0;
}
