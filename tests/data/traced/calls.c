// One of each kind of call that the tracer knows; what it sends is checked, so that the tracer changes nothing.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static void expect(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  exit(9);
}

static void blocking(void) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  double a[64] = {rank}, b[64];
  MPI_Status status;
  if (rank % 2 == 0) {
    MPI_Send(a, 64, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    MPI_Recv(b, 64, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(b, 64, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == left, "another source");
    MPI_Ssend(a, 64, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
  }
  MPI_Sendrecv(a, 64, MPI_DOUBLE, right, 2, b, 64, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(b[0] == left, "another value");
  MPI_Sendrecv(a, 1, MPI_DOUBLE, rank ? MPI_PROC_NULL : 1, 3, b, 1, MPI_DOUBLE, rank == 1 ? 0 : MPI_PROC_NULL, 3,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(a, 8, MPI_INT, 1, 4, MPI_COMM_WORLD);
  if (rank == 1) {
    int there = 0;
    while (!there) MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &there, &status);
    MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
    MPI_Recv(b, 8, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) MPI_Send(a, 8, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Message message;
    MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(b, 8, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
}

static void nonblocking(void) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int a[100] = {rank}, b[4][100];
  MPI_Request r[8];
  MPI_Status s[8];
  int index, count, done[8], flag = 0;
  for (int i = 0; i < 4; ++i)
    MPI_Irecv(b[i], 100, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, r + i);
  MPI_Isend(a, 100, MPI_INT, right, 10, MPI_COMM_WORLD, r + 4);
  MPI_Issend(a, 100, MPI_INT, right, 11, MPI_COMM_WORLD, r + 5);
  MPI_Isend(a, 100, MPI_INT, right, 12, MPI_COMM_WORLD, r + 6);
  MPI_Isend(a, 100, MPI_INT, right, 13, MPI_COMM_WORLD, r + 7);
  MPI_Waitany(8, r, &index, s);
  MPI_Waitsome(8, r, &count, done, MPI_STATUSES_IGNORE);
  while (!flag) MPI_Testall(8, r, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; ++i) expect(b[i][0] == left, "another value, not waited for");
  // Large ones, which many MPIs send when they are received.
  char *big = malloc(1 << 20), *other = malloc(1 << 20);
  memset(big, 1, 1 << 20);
  MPI_Irecv(other, 1 << 20, MPI_CHAR, left, 14, MPI_COMM_WORLD, r);
  MPI_Isend(big, 1 << 20, MPI_CHAR, right, 14, MPI_COMM_WORLD, r + 1);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  MPI_Wait(r + 1, MPI_STATUS_IGNORE);
  // One that is never sent.
  MPI_Irecv(other, 1, MPI_CHAR, MPI_ANY_SOURCE, 15, MPI_COMM_WORLD, r);
  MPI_Irecv(other, 1, MPI_CHAR, left, 15, MPI_COMM_WORLD, r + 1);
  MPI_Cancel(r);
  MPI_Cancel(r + 1);
  MPI_Waitall(2, r, s);
  free(big);
  free(other);
}

static void persistent(void) {
  int a = rank, b = -1, left = (rank + ranks - 1) % ranks;
  MPI_Request r[2];
  MPI_Recv_init(&b, 1, MPI_INT, left, 20, MPI_COMM_WORLD, r);
  MPI_Send_init(&a, 1, MPI_INT, (rank + 1) % ranks, 20, MPI_COMM_WORLD, r + 1);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Start(r);
  MPI_Start(r + 1);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Request_free(r);
  MPI_Request_free(r + 1);
  expect(b == left, "another value, persistent");
}

static void collectives(MPI_Comm c) {
  int own, n, counts[64], at[64], one[64], two[64];
  MPI_Comm_rank(c, &own);
  MPI_Comm_size(c, &n);
  for (int i = 0; i < n; ++i) counts[i] = 1, at[i] = i, one[i] = own;
  MPI_Barrier(c);
  MPI_Bcast(one, 10, MPI_INT, n - 1, c);
  MPI_Reduce(one, two, 10, MPI_INT, MPI_SUM, 0, c);
  MPI_Allreduce(MPI_IN_PLACE, two, 10, MPI_INT, MPI_MAX, c);
  MPI_Scan(one, two, 1, MPI_INT, MPI_SUM, c);
  MPI_Gather(one, 1, MPI_INT, two, 1, MPI_INT, 0, c);
  MPI_Scatter(two, 1, MPI_INT, one, 1, MPI_INT, 0, c);
  MPI_Allgather(one, 1, MPI_INT, two, 1, MPI_INT, c);
  MPI_Alltoall(one, 1, MPI_INT, two, 1, MPI_INT, c);
  MPI_Gatherv(one, 1, MPI_INT, two, counts, at, MPI_INT, 0, c);
  MPI_Scatterv(two, counts, at, MPI_INT, one, 1, MPI_INT, 0, c);
  MPI_Allgatherv(one, 1, MPI_INT, two, counts, at, MPI_INT, c);
  MPI_Alltoallv(one, counts, at, MPI_INT, two, counts, at, MPI_INT, c);
  MPI_Reduce_scatter(one, two, counts, MPI_INT, MPI_SUM, c);
  MPI_Reduce_scatter_block(one, two, 1, MPI_INT, MPI_SUM, c);
  MPI_Request r[3];
  int flag;
  MPI_Iallreduce(one, two, 10, MPI_INT, MPI_SUM, c, r);
  MPI_Ibarrier(c, r + 1);
  MPI_Ibcast(one, 4, MPI_INT, 0, c, r + 2);
  MPI_Test(r, &flag, MPI_STATUS_IGNORE);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
}

static void communicators(void) {
  MPI_Comm made, sub, cart;
  MPI_Group world, some;
  MPI_Request r;
  int dims[2] = {0, 0}, periods[2] = {1, 1}, remain[2] = {1, 0}, few[2] = {ranks - 1, 0}, x = rank;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  collectives(made);
  MPI_Comm_split(made, rank % 2, -rank, &sub);
  collectives(sub);
  int own, n;
  MPI_Comm_rank(sub, &own);
  MPI_Comm_size(sub, &n);
  MPI_Sendrecv_replace(&x, 1, MPI_INT, (own + 1) % n, 0, (own + n - 1) % n, 0, sub, MPI_STATUS_IGNORE);
  MPI_Dims_create(ranks, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  MPI_Comm_free(&sub);
  MPI_Cart_sub(cart, remain, &sub);
  collectives(sub);
  MPI_Comm_free(&sub);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, few, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &sub);
  if (sub != MPI_COMM_NULL) {
    collectives(sub);
    MPI_Comm_free(&sub);
  }
  if (rank == 0 || rank == ranks - 1) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &sub);
    collectives(sub);
    MPI_Comm_free(&sub);
  }
  MPI_Comm_idup(cart, &sub, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  collectives(sub);
  int near[4], given[4] = {rank, rank, rank, rank};
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, near, 1, MPI_INT, cart);
  MPI_Ineighbor_alltoall(given, 1, MPI_INT, near, 1, MPI_INT, cart, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  collectives(MPI_COMM_SELF);
}

// From one half of the ranks to the other, and then on a communicator of both.
static void between(void) {
  MPI_Comm half, both, merged;
  const int upper = rank >= ranks / 2, size = upper ? ranks / 2 : ranks - ranks / 2;
  int own, x = rank, y = -1;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : ranks / 2, 9, &both);
  MPI_Comm_rank(half, &own);
  if (!upper) MPI_Send(&x, 1, MPI_INT, own % size, 4, both);
  for (int i = own; upper && i < ranks / 2; i += ranks - ranks / 2) {
    MPI_Recv(&y, 1, MPI_INT, i, 4, both, MPI_STATUS_IGNORE);
    expect(y == i, "another value between groups");
  }
  MPI_Barrier(both);
  MPI_Intercomm_merge(both, upper, &merged);
  collectives(merged);
}

static void onesided(void) {
  int shown[4] = {0}, a = rank, got = -1, right = (rank + 1) % ranks;
  MPI_Win w;
  MPI_Win_create(shown, sizeof shown, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
  MPI_Win_fence(0, w);
  MPI_Put(&a, 1, MPI_INT, right, 0, 1, MPI_INT, w);
  MPI_Accumulate(&a, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, w);
  MPI_Win_fence(0, w);
  MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, w);
  MPI_Win_fence(0, w);
  expect(got == rank, "another value got");
  MPI_Win_free(&w);
}

int main(int count, char** words) {
  int given;
  MPI_Init_thread(&count, &words, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  blocking();
  nonblocking();
  persistent();
  collectives(MPI_COMM_WORLD);
  communicators();
  between();
  onesided();
  MPI_Finalize();
  return 0;
}
