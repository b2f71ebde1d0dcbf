// The plain loop that an MPI without IMB's binaries is compared by: MPI_Wtime around n repetitions, as IMB counts them.
//
//     loop PingPong|Sendrecv [CACHES [REPETITIONS [BYTES]]]
//
// CACHES: bytes, or 0; the buffers then walk through twice that, as with -off_cache. REPETITIONS: of a size at most;
// IMB's 1000 are over in less than a millisecond. BYTES: this size alone. Warm-up and the walk are IMB's by default
// (without its cut to 10 s a size, which only slow networks need). It prints a table that is read like IMB's, with more
// digits.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "ranks.h"  // only for the pinning: both sides must sit on the same processors

static constexpr std::size_t largest = std::size_t{4} << 20, volume = std::size_t{40} << 20, line = 64;

struct Walk {
  std::size_t stride, places;
  Walk(std::size_t bytes, std::size_t repetitions, std::size_t caches)
      : stride(((bytes + line - 1) / line + 1) * line) {
    places = caches ? std::min(repetitions, (2 * caches + stride - 1) / stride) : 1;
  }
};

struct Asked {
  bool there_and_back;
  std::size_t caches = 0, most = 1000;
  std::vector<std::size_t> sizes;

  std::size_t repetitions(std::size_t bytes) const {
    return bytes ? std::clamp<std::size_t>(volume / bytes, 1, most) : most;
  }
  Walk walk(std::size_t bytes) const { return {bytes, repetitions(bytes), caches}; }
};

// Repetitions from a place in the walk on.
static void repeat(bool there_and_back, std::size_t count, int bytes, const Walk& walk, char* out, char* in, int rank) {
  const int other = 1 - rank;
  for (std::size_t i = 0; i < count; ++i) {
    char *from = out + i % walk.places * walk.stride, *to = in + i % walk.places * walk.stride;
    if (!there_and_back) {
      MPI_Sendrecv(from, bytes, MPI_BYTE, other, 0, to, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
      MPI_Send(from, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
      MPI_Recv(to, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(to, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(from, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
  }
}

// Microseconds: of one way (a ping-pong), or of an exchange; the slower rank's mean.
static double microseconds(const Asked& asked, std::size_t bytes, char* out, char* in, int rank) {
  const std::size_t count = asked.repetitions(bytes);
  const Walk walk = asked.walk(bytes);
  int length = static_cast<int>(bytes);
  repeat(asked.there_and_back, std::max(count / 10, std::min<std::size_t>(10, count)), length, walk, out, in, rank);
  for (int i = 0; i < 2; ++i) MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  repeat(asked.there_and_back, count, length, walk, out, in, rank);
  double mine = (MPI_Wtime() - start) / static_cast<double>(count), slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return 1e6 * slowest / (asked.there_and_back ? 2 : 1);
}

static void measure(const Asked& asked, int rank) {
  std::size_t length = 0;
  for (std::size_t bytes : asked.sizes) {
    Walk walk = asked.walk(bytes);
    length = std::max(length, walk.places * walk.stride);
  }
  std::vector<char> out(length, 1), in(length, 2);  // written once: no page is touched first within the loop
  if (rank == 0)
    std::printf("#bytes #repetitions %s\n", asked.there_and_back ? "t[usec]" : "t_max[usec]"), std::fflush(stdout);
  for (std::size_t bytes : asked.sizes) {
    double time = microseconds(asked, bytes, out.data(), in.data(), rank);
    if (rank == 0) std::printf("%zu %zu %.4f\n", bytes, asked.repetitions(bytes), time), std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  steelyard::pin_by_launcher();
  // As IMB, most programs without threads, and the harness. Open MPI 4 takes a quarter longer for 8 bytes where threads
  // are announced (MPI_THREAD_FUNNELED): 196 instead of 157 ns.
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string pattern = argc > 1 ? argv[1] : "";
  if (ranks != 2 || (pattern != "PingPong" && pattern != "Sendrecv") || steelyard::allowed_processors().size() != 1) {
    if (rank == 0)
      std::fprintf(stderr,
                   "usage: loop PingPong|Sendrecv [CACHES [REPETITIONS [BYTES]]] as two ranks, each on one "
                   "processor\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Asked asked{pattern == "PingPong"};
  if (argc > 2) asked.caches = std::stoull(argv[2]);
  if (argc > 3) asked.most = std::stoull(argv[3]);
  if (argc > 4) {
    asked.sizes = {std::stoull(argv[4])};
  } else {
    asked.sizes = {0};
    for (std::size_t bytes = 1; bytes <= largest; bytes *= 2) asked.sizes.push_back(bytes);
  }
  measure(asked, rank);
  MPI_Finalize();
  return 0;
}
