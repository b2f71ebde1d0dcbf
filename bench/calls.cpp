// What the tracer is measured by: 8 bytes to and fro between two ranks, and cheap calls of one rank. It prints the
// name of a series, how many calls of the critical path a repetition has, and the seconds of one repetition, sample by
// sample.
//
//     calls SAMPLES CPU CPU
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "../src/steelyard/measure/native/processor_set.h"

static int rank;

static void round_trip() {
  char text[8] = {};
  const int other = 1 - rank;
  if (rank == 0) MPI_Send(text, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  MPI_Recv(text, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(text, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
}
// No message: what remains of a call is MPI's own checks.
static void to_nobody() { MPI_Send(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }
static void alone() {
  int a = 1, b = 0;
  MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void to_itself() {
  char a[8] = {}, b[8];
  MPI_Request r[2];
  MPI_Irecv(b, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, r);
  MPI_Isend(a, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, r + 1);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void series(const char* name, int calls, int samples, int repetitions, void (*once)()) {
  for (int i = 0; i < repetitions; ++i) once();
  for (int s = 0; s < samples; ++s) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < repetitions; ++i) once();
    if (rank == 0) std::printf("%s %d %.6e\n", name, calls, (MPI_Wtime() - begin) / repetitions);
  }
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  steelyard::ProcessorSet own;
  own.add(std::atoi(words[2 + rank]));
  if (!own.pin()) MPI_Abort(MPI_COMM_WORLD, 3);
  const int samples = std::atoi(words[1]);
  series("ping-pong", 4, samples, 5000, round_trip);
  // The other rank waits, so that it takes nothing from the first.
  if (rank == 0) {
    series("send", 1, samples, 10000, to_nobody);
    series("allreduce", 1, samples, 10000, alone);
    series("isend", 3, samples, 5000, to_itself);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
