// What a plain program of CUDA measures on device 0, with the methods that others use: BabelStream's loops in several sizes
// of groups, launches as gpu-benches times them, and a chase of pointers in lines of 128 bytes. Prints "NAME VALUE" in B/s
// and seconds, the best of several turns.
//
//   nvcc -O3 -arch=native -o device_peer device_peer.cu && ./device_peer
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

static void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}
#define MUST(call) must(call, #call)

__global__ void copy(double* a, const double* b, const double*, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i];
}
__global__ void triad(double* a, const double* b, const double* c, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] + 3.0 * c[i];
}
// Loads of 16 bytes, few groups that stay, and a store that never happens.
__global__ void read(double* a, const double* b, const double*, std::size_t n) {
  const double2* pairs = reinterpret_cast<const double2*>(b);
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x, all = n / 2;
  double sum = 0;
#pragma unroll 8
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all; i += step) {
    const double2 pair = pairs[i];
    sum += pair.x + pair.y;
  }
  if (sum == 12345.678) a[0] = sum;
}
__global__ void set(double* a, std::size_t n, double value) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) a[i] = value;
}
__global__ void empty(unsigned* counter) {
  if (threadIdx.x == 0) counter[0] += 1;
}
__global__ void chase(const std::int64_t* at, std::int64_t* end, long steps) {
  for (long n = 0; n < steps; n += 32) {
#pragma unroll
    for (int k = 0; k < 32; ++k) at = reinterpret_cast<const std::int64_t*>(*at);
  }
  *end = reinterpret_cast<std::int64_t>(at);
}

static double fastest(const std::function<void()>& job, int turns, int times = 1) {
  cudaEvent_t begin, end;
  MUST(cudaEventCreate(&begin)), MUST(cudaEventCreate(&end));
  double best = 1e9;
  for (int turn = 0; turn < turns; ++turn) {
    MUST(cudaEventRecord(begin));
    for (int i = 0; i < times; ++i) job();
    MUST(cudaEventRecord(end)), MUST(cudaEventSynchronize(end));
    float milli = 0;
    MUST(cudaEventElapsedTime(&milli, begin, end));
    best = std::min(best, 1e-3 * milli / times);
  }
  return best;
}

static void bandwidths(int units) {
  const std::size_t n = std::size_t{1} << 27;
  double* memory[3];
  for (double*& array : memory) {
    MUST(cudaMalloc(&array, n * sizeof(double)));
    set<<<static_cast<unsigned>(n / 256), 256>>>(array, n, 1.0);
  }
  const struct {
    const char* name;
    void (*kernel)(double*, const double*, const double*, std::size_t);
    double arrays;
    bool stays;
  } kinds[] = {{"copy", copy, 2, false}, {"triad", triad, 3, false}, {"read", read, 1, true}};
  for (const auto& kind : kinds) {
    double best = 1e9;
    for (unsigned group : {128u, 256u, 512u, 1024u}) {
      const unsigned groups = kind.stays ? static_cast<unsigned>(units) * (2048 / group) : static_cast<unsigned>(n / group);
      best = std::min(best, fastest([&] { kind.kernel<<<groups, group>>>(memory[0], memory[1], memory[2], n); }, 20, 5));
    }
    std::printf("%s %.6g\n", kind.name, kind.arrays * n * sizeof(double) / best);
  }
  for (double* array : memory) MUST(cudaFree(array));
}

static void launches() {
  using Clock = std::chrono::steady_clock;
  unsigned* counter;
  MUST(cudaMalloc(&counter, sizeof *counter));
  auto host = [](const std::function<void()>& job, int times) {
    double best = 1e9;
    for (int turn = 0; turn < 20; ++turn) {
      MUST(cudaDeviceSynchronize());
      const auto began = Clock::now();
      job();
      MUST(cudaDeviceSynchronize());
      best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count() / times);
    }
    return best;
  };
  std::printf("launch %.6g\n", host([&] { for (int i = 0; i < 2000; ++i) empty<<<1, 32>>>(counter); }, 2000));
  std::printf("waited %.6g\n", host([&] {
                for (int i = 0; i < 200; ++i) empty<<<1, 32>>>(counter), MUST(cudaDeviceSynchronize());
              }, 200));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  MUST(cudaStreamCreate(&stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 64; ++i) empty<<<1, 32, 0, stream>>>(counter);
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  std::printf("graph %.6g\n", host([&] { for (int i = 0; i < 40; ++i) MUST(cudaGraphLaunch(ready, stream)); }, 40 * 64));
}

static void latencies() {
  std::mt19937_64 random(1);
  for (std::size_t bytes : {std::size_t{64} << 10, std::size_t{8} << 20, std::size_t{512} << 20}) {
    const std::size_t lines = bytes / 128;
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin() + 1, order.end(), random);
    std::int64_t *ring, *end;
    MUST(cudaMalloc(&ring, bytes)), MUST(cudaMalloc(&end, sizeof *end));
    std::vector<std::int64_t> contents(bytes / 8);
    for (std::size_t i = 0; i < lines; ++i)
      contents[std::size_t{order[i]} * 16] = reinterpret_cast<std::int64_t>(ring + std::size_t{order[(i + 1) % lines]} * 16);
    MUST(cudaMemcpy(ring, contents.data(), bytes, cudaMemcpyHostToDevice));
    const long steps = 1 << 19;
    std::printf("latency_%zu %.6g\n", bytes, fastest([&] { chase<<<1, 1>>>(ring, end, steps); }, 4) / steps);
    MUST(cudaFree(ring)), MUST(cudaFree(end));
  }
}

static void transfers() {
  const std::size_t bytes = std::size_t{1} << 28;
  void *device, *host;
  MUST(cudaMalloc(&device, bytes)), MUST(cudaMallocHost(&host, bytes));
  std::printf("to_device %.6g\n", bytes / fastest([&] { MUST(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice)); }, 20));
  std::printf("from_device %.6g\n", bytes / fastest([&] { MUST(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost)); }, 20));
}

int main() {
  cudaDeviceProp of;
  MUST(cudaGetDeviceProperties(&of, 0));
  bandwidths(of.multiProcessorCount);
  launches();
  latencies();
  transfers();
  return 0;
}
