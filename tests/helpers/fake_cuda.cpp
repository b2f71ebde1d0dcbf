// A driver and a compiler that a test can plant things in: CUDA's names and HIP's, on the processor.
//
// Kernels are compiled by the system's C++ compiler and executed, each work item in a fiber of its own, so that
// barriers hold. The environment says how the device is and how it fails:
//   FAKE_DEVICES, FAKE_NAME, FAKE_CAPABILITY ("90"), FAKE_UNITS, FAKE_MEMORY (bytes), FAKE_BUS
//   FAKE_KERNEL (seconds of a kernel; it is then not executed), FAKE_GRAPH (the same within a graph), FAKE_COPY
//   (bytes/s), FAKE_SLOW ("3:1.3": device 3 takes 1.3 times as long), FAKE_APART (devices reach each other by the
//   host), FAKE_COLLECTIVE (seconds of a call of NCCL for each device), FAKE_FAIL ("cuMemAlloc_v2:2:1": from its second
//   call on, error 1), FAKE_HANG (the name of a function)
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string told(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Counts the calls of a function, and fails or hangs as the environment says.
int called(const char* name) {
  static std::map<std::string, int> calls;
  if (told("FAKE_HANG", "") == name) std::this_thread::sleep_for(std::chrono::hours(1));
  const std::string fail = told("FAKE_FAIL", "");
  const std::size_t first = fail.find(':'), second = fail.rfind(':');
  int count = ++calls[name];
  if (first == std::string::npos || fail.substr(0, first) != name) return 0;
  return count >= std::atoi(fail.c_str() + first + 1) ? std::atoi(fail.c_str() + second + 1) : 0;
}

int contexts[64], current = 0;  // of the devices; which of them is current

struct Stream {
  double busy_until = 0, worked = 0;  // worked: seconds that were planted
  bool captured = false;
  int device = current;
  void use(double seconds) {
    const std::string slow = told("FAKE_SLOW", "-1:1");
    if (std::atoi(slow.c_str()) == device) seconds *= std::stod(slow.substr(slow.find(':') + 1));
    busy_until = std::max(busy_until, now()) + seconds, worked += seconds;
  }
  double clock() const {
    static const bool planted = std::getenv("FAKE_KERNEL") || std::getenv("FAKE_GRAPH") || std::getenv("FAKE_COPY");
    return planted ? worked : std::max(now(), busy_until);
  }
};
struct Event {
  double at = 0;
};
struct Kernel {
  void (*call)(void**);
};
// The launches of one kernel with one pointer.
struct Graph {
  std::size_t kernels = 0;
  Kernel* kernel = nullptr;
  unsigned items = 0;
  void* argument = nullptr;
};
struct Index {
  unsigned x, y, z;
};
Graph recorded;

// The prelude of a kernel's text: the words of CUDA for a compiler of C++.
constexpr const char* prelude = R"(
#include <cmath>
#include <cstring>
#include <utility>
using std::fma;
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(n)
struct double2 { double x, y; };
struct double4 { double x, y, z, w; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };
static double2 make_double2(double x, double y) { return {x, y}; }
static double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }
struct Index { unsigned x, y, z; };
extern "C" Index threadIdx, blockIdx, blockDim, gridDim;
extern "C" void fake_barrier();
static void __syncthreads() { fake_barrier(); }
template <class A, class B> static auto min(A a, B b) { return a < b ? a : (std::common_type_t<A, B>)b; }
template <class A, class B> static auto max(A a, B b) { return a > b ? a : (std::common_type_t<A, B>)b; }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
template <class T> static T atomicAdd(T* p, T v) { T old = *p; *p += v; return old; }
static long long __double_as_longlong(double v) { long long r; std::memcpy(&r, &v, 8); return r; }
static double __longlong_as_double(long long v) { double r; std::memcpy(&r, &v, 8); return r; }
template <class... A, std::size_t... I>
static void invoke(void (*f)(A...), void** p, std::index_sequence<I...>) { f(*static_cast<std::remove_reference_t<A>*>(p[I])...); }
template <class... A>
static void invoke(void (*f)(A...), void** p) { invoke(f, p, std::index_sequence_for<A...>()); }
#define CALL_OF(n) extern "C" void call_##n(void** p) { invoke(&n, p); }
#define CALL(n) CALL_OF(n)
)";

// Fibers: the work items of a group.
ucontext_t scheduler;
std::vector<ucontext_t> items;
std::size_t running;
std::vector<char> done;
void (*job)(void**);
void** values;
void work() {
  job(values);
  done[running] = 1;
}

}  // namespace

extern "C" {

Index threadIdx, blockIdx, blockDim, gridDim;
void fake_barrier() {
  std::size_t own = running;
  swapcontext(&items[own], &scheduler);
}

static void execute(Kernel* kernel, unsigned gx, unsigned bx, void** parameters) {
  constexpr std::size_t stack = 64 << 10;
  std::vector<char> stacks(stack * bx);
  job = kernel->call, values = parameters, blockDim = {bx, 1, 1}, gridDim = {gx, 1, 1};
  for (unsigned group = 0; group < gx; ++group) {
    blockIdx = {group, 0, 0};
    items.assign(bx, {}), done.assign(bx, 0);
    for (unsigned i = 0; i < bx; ++i) {
      getcontext(&items[i]);
      items[i].uc_stack.ss_sp = stacks.data() + stack * i;
      items[i].uc_stack.ss_size = stack;
      items[i].uc_link = &scheduler;
      makecontext(&items[i], work, 0);
    }
    for (bool left = true; left;) {
      left = false;
      for (running = 0; running < bx; ++running)
        if (!done[running]) {
          threadIdx = {static_cast<unsigned>(running), 0, 0};
          swapcontext(&scheduler, &items[running]);
          left = left || !done[running];
        }
    }
  }
}

int cuInit(unsigned) { return called("cuInit"); }
int cuDeviceGetCount(int* n) { return *n = std::stoi(told("FAKE_DEVICES", "1")), called("cuDeviceGetCount"); }
int cuDeviceGet(int* device, int n) { return *device = n, called("cuDeviceGet"); }
int cuDeviceGetName(char* text, int size, int) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%s", told("FAKE_NAME", "Fake H200").c_str()),
         called("cuDeviceGetName");
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return *bytes = std::stoull(told("FAKE_MEMORY", "4294967296")), called("cuDeviceTotalMem_v2");
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%s", told("FAKE_BUS", "0000:01:00.0").c_str()),
         text[0] ? text[std::strlen(text) - 1] = static_cast<char>('0' + device) : 0, called("cuDeviceGetPCIBusId");
}
int cuDeviceGetAttribute(int* value, int what, int) {
  const int capability = std::stoi(told("FAKE_CAPABILITY", "90"));
  const std::map<int, int> known{{16, std::stoi(told("FAKE_UNITS", "4"))},
                                 {13, 1'980'000},
                                 {36, 3'201'000},
                                 {37, 6144},
                                 {38, 62'914'560},
                                 {32, 1},
                                 {75, capability / 10},
                                 {76, capability % 10}};
  auto found = known.find(what);
  return *value = found == known.end() ? 0 : found->second, called("cuDeviceGetAttribute");
}
int hipDeviceGetAttribute(int* value, int what, int device) {
  const std::map<int, int> of_cuda{{63, 16}, {5, 13}, {60, 36}, {59, 37}, {19, 38}};
  auto found = of_cuda.find(what);
  return cuDeviceGetAttribute(value, found == of_cuda.end() ? -1 : found->second, device);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = contexts + device, called("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int) { return called("cuDevicePrimaryCtxRelease_v2"); }
int cuCtxSetCurrent(int* context) { return current = static_cast<int>(context - contexts), called("cuCtxSetCurrent"); }
int hipSetDevice(int device) { return current = device, called("hipSetDevice"); }
int cuDeviceCanAccessPeer(int* can, int, int) {
  return *can = told("FAKE_APART", "").empty(), called("cuDeviceCanAccessPeer");
}
int cuCtxEnablePeerAccess(void*, unsigned) { return called("cuCtxEnablePeerAccess"); }
int hipDeviceEnablePeerAccess(int, unsigned) { return called("hipDeviceEnablePeerAccess"); }

int cuMemAlloc_v2(void** memory, std::size_t bytes) {
  if (bytes > std::stoull(told("FAKE_MEMORY", "4294967296"))) return 2;
  return *memory = std::calloc(bytes, 1), called("cuMemAlloc_v2");
}
int cuMemFree_v2(void* memory) { return std::free(memory), called("cuMemFree_v2"); }
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return *memory = std::malloc(bytes), called("cuMemHostAlloc");
}
int cuMemFreeHost(void* memory) { return std::free(memory), called("cuMemFreeHost"); }
static int copy(void* to, const void* from, std::size_t bytes, Stream* stream) {
  std::memcpy(to, from, bytes);
  if (double rate = std::stod(told("FAKE_COPY", "0")); rate > 0) stream->use(static_cast<double>(bytes) / rate);
  return 0;
}
int cuMemcpyHtoDAsync_v2(void* to, const void* from, std::size_t bytes, Stream* stream) {
  return copy(to, from, bytes, stream), called("cuMemcpyHtoDAsync_v2");
}
int cuMemcpyDtoHAsync_v2(void* to, const void* from, std::size_t bytes, Stream* stream) {
  return copy(to, from, bytes, stream), called("cuMemcpyDtoHAsync_v2");
}
int cuMemcpyDtoDAsync_v2(void* to, const void* from, std::size_t bytes, Stream* stream) {
  return copy(to, from, bytes, stream), called("cuMemcpyDtoDAsync_v2");
}
int cuMemcpyPeerAsync(void* to, int* there, const void* from, int* here, std::size_t bytes, Stream* stream) {
  if (there < contexts || there >= contexts + 64 || here < contexts || here >= contexts + 64) return 201;
  return copy(to, from, bytes, stream), called("cuMemcpyPeerAsync");
}
int hipMemcpyPeerAsync(void* to, int there, const void* from, int here, std::size_t bytes, Stream* stream) {
  return cuMemcpyPeerAsync(to, contexts + there, from, contexts + here, bytes, stream);
}

int cuStreamCreate(Stream** stream, unsigned) { return *stream = new Stream, called("cuStreamCreate"); }
int cuStreamDestroy_v2(Stream* stream) { return delete stream, called("cuStreamDestroy_v2"); }
int cuStreamSynchronize(Stream* stream) {
  while (now() < stream->busy_until) {
  }
  return called("cuStreamSynchronize");
}
int cuEventCreate(Event** event, unsigned) { return *event = new Event, called("cuEventCreate"); }
int cuEventDestroy_v2(Event* event) { return delete event, called("cuEventDestroy_v2"); }
int cuEventRecord(Event* event, Stream* stream) { return event->at = stream->clock(), called("cuEventRecord"); }
int cuEventElapsedTime(float* time, Event* a, Event* b) {
  return *time = static_cast<float>(1e3 * (b->at - a->at)), called("cuEventElapsedTime");
}
int cuStreamBeginCapture_v2(Stream* stream, int) {
  return stream->captured = true, recorded = Graph{}, called("cuStreamBeginCapture_v2");
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  return stream->captured = false, *graph = &recorded, called("cuStreamEndCapture");
}
int cuGraphInstantiateWithFlags(Graph** ready, Graph* graph, unsigned long long) {
  return *ready = graph, called("cuGraphInstantiateWithFlags");
}
int cuGraphLaunch(Graph* graph, Stream* stream) {
  const double planted = std::stod(told("FAKE_GRAPH", "0"));
  stream->use(static_cast<double>(graph->kernels) * planted);
  void* parameters[] = {&graph->argument};
  for (std::size_t i = 0; graph->kernel->call && i < graph->kernels; ++i)
    execute(graph->kernel, 1, graph->items, parameters);
  return called("cuGraphLaunch");
}
int cuGraphDestroy(Graph*) { return called("cuGraphDestroy"); }
int cuGraphExecDestroy(Graph*) { return called("cuGraphExecDestroy"); }

// The code of a real compiler is not executed, but must have the kernels that are asked for.
static std::string elf;
int cuModuleLoadData(void** module, const void* path) {
  if (std::memcmp(path, "\177ELF", 4) == 0) {
    std::uint64_t sections = 0;
    std::uint16_t size = 0, count = 0;
    std::memcpy(&sections, static_cast<const char*>(path) + 40, 8);
    std::memcpy(&size, static_cast<const char*>(path) + 58, 2),
        std::memcpy(&count, static_cast<const char*>(path) + 60, 2);
    elf.assign(static_cast<const char*>(path), sections + std::uint64_t{size} * count);
    *module = &elf;
  } else {
    *module = dlopen(static_cast<const char*>(path), RTLD_NOW | RTLD_LOCAL);
  }
  if (!*module) std::fprintf(stderr, "%s\n", dlerror());
  return *module ? called("cuModuleLoadData") : 200;
}
int cuModuleUnload(void*) { return called("cuModuleUnload"); }
int cuModuleGetFunction(Kernel** kernel, void* module, const char* name) {
  static Kernel none{nullptr};
  if (module == &elf) {
    if (elf.find(std::string(".text.") + name + std::string(1, '\0')) == std::string::npos) return 500;
    return *kernel = &none, called("cuModuleGetFunction");
  }
  void* found = dlsym(module, (std::string("call_") + name).c_str());
  if (!found) return 500;
  return *kernel = new Kernel{reinterpret_cast<void (*)(void**)>(found)}, called("cuModuleGetFunction");
}
int cuLaunchKernel(Kernel* kernel, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned,
                   Stream* stream, void** parameters, void**) {
  if (stream->captured) {
    recorded = {recorded.kernels + 1, kernel, bx, *static_cast<void**>(parameters[0])};
    return called("cuLaunchKernel");
  }
  if (kernel->call && told("FAKE_SKIP", "").empty()) execute(kernel, gx, bx, parameters);
  stream->use(std::stod(told("FAKE_KERNEL", "0")));
  return called("cuLaunchKernel");
}

// The compiler. A program is its text; the code is the path of a shared library.
struct Program {
  std::string text, log, code;
};
int nvrtcCreateProgram(Program** program, const char* text, const char*, int, const char**, const char**) {
  return *program = new Program{text, "", ""}, called("nvrtcCreateProgram");
}
int nvrtcDestroyProgram(Program** program) { return delete *program, called("nvrtcDestroyProgram"); }
int nvrtcCompileProgram(Program* program, int count, const char** options) {
  std::string definitions;
  for (int i = 0; i < count; ++i)
    if (std::strncmp(options[i], "-D", 2) == 0) definitions += std::string(" '") + options[i] + "'";
  const std::size_t key = std::hash<std::string>()(program->text + definitions);
  const std::string base = told("FAKE_FOLDER", "/tmp") + "/fake" + std::to_string(key);
  program->code = base + ".so";
  if (access(program->code.c_str(), R_OK) == 0) return called("nvrtcCompileProgram");
  Dl_info own;
  dladdr(reinterpret_cast<void*>(&nvrtcCompileProgram), &own);
  std::ofstream(base + ".txt") << program->text;
  std::ofstream file(base + ".cpp");
  file << prelude << program->text << "\n";
  const std::regex kernels(R"(\n\s*(?:kernel\s+void\s+(\w+)|KERNEL_OF\(\w+, (\w+)\))\()");
  const std::string text =
      std::regex_replace(program->text, std::regex("#ifdef PROCESSOR[^#]*(#[^e][^#]*)*#endif"), "");
  for (std::sregex_iterator at(text.begin(), text.end(), kernels), end; at != end; ++at)
    file << "CALL(" << (*at)[1] << (*at)[2] << ")\n";
  file.close();
  const std::string command = "c++ -std=c++20 -O0 -w -fpermissive -fPIC -shared -Wl,-Bsymbolic -o " + base + ".so " +
                              base + ".cpp " + own.dli_fname + definitions + " > " + base + ".log 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(base + ".log");
    program->log.assign(std::istreambuf_iterator<char>(log), {});
    return 6;
  }
  return called("nvrtcCompileProgram");
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  return *size = program->log.size() + 1, called("nvrtcGetProgramLogSize");
}
int nvrtcGetProgramLog(Program* program, char* log) {
  return std::strcpy(log, program->log.c_str()), called("nvrtcGetProgramLog");
}
int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  return *size = program->code.size() + 1, called("nvrtcGetCUBINSize");
}
int nvrtcGetCUBIN(Program* program, char* code) {
  return std::strcpy(code, program->code.c_str()), called("nvrtcGetCUBIN");
}

// The library: the product of two matrices of doubles. Its stream is the one that it was given last.
static Stream* of_library;
int cublasCreate_v2(void** handle) { return *handle = &recorded, called("cublasCreate_v2"); }
int cublasDestroy_v2(void*) { return called("cublasDestroy_v2"); }
int cublasSetStream_v2(void*, Stream* stream) { return of_library = stream, called("cublasSetStream_v2"); }
int cublasGemmEx(void*, int, int, int rows, int columns, int depth, const double* alpha, const double* a, int type,
                 int of_a, const double* b, int, int of_b, const double*, double* c, int, int of_c, int, int) {
  if (type != 1) return 15;
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += a[i + k * of_a] * b[k + j * of_b];
      c[i + j * of_c] = *alpha * sum;
    }
  of_library->use(std::stod(told("FAKE_KERNEL", "0")));
  return called("cublasGemmEx");
}
int rocblas_create_handle(void** handle) { return *handle = &recorded, called("rocblas_create_handle"); }
int rocblas_destroy_handle(void*) { return called("rocblas_destroy_handle"); }
int rocblas_set_stream(void*, Stream* stream) { return of_library = stream, called("rocblas_set_stream"); }
int rocblas_gemm_ex(void*, int first, int second, int rows, int columns, int depth, const double* alpha,
                    const double* a, int type, int of_a, const double* b, int, int of_b, const double* beta,
                    const double* c, int, int, double* d, int of_type, int of_d, int compute, int algorithm,
                    std::int32_t, std::uint32_t flags) {
  if (first != 111 || second != 111 || type != 152 || of_type != 152 || compute != 152 || algorithm || flags || c != d)
    return 11;
  const int failed =
      cublasGemmEx(nullptr, 0, 0, rows, columns, depth, alpha, a, 1, of_a, b, 1, of_b, beta, d, 1, of_d, 70, -1);
  return failed ? failed : called("rocblas_gemm_ex");
}

// The library for short numbers: the product of ones and zeros of 8 bits, the first factor transposed, as bfloat16.
struct Layout {
  int type;
  std::uint64_t rows;
};
int cublasLtCreate(void** handle) { return *handle = &recorded, called("cublasLtCreate"); }
int cublasLtDestroy(void*) { return 0; }
int cublasLtMatmulDescCreate(int** of, int compute, int scale) {
  return *of = new int(0), compute == 68 && scale == 0 ? called("cublasLtMatmulDescCreate") : 15;
}
int cublasLtMatmulDescSetAttribute(int* of, int what, const void* value, std::size_t) {
  return *of |= what == 3 ? *static_cast<const std::int32_t*>(value) : 0, called("cublasLtMatmulDescSetAttribute");
}
int cublasLtMatmulDescDestroy(int* of) { return delete of, 0; }
int cublasLtMatrixLayoutCreate(Layout** of, int type, std::uint64_t rows, std::uint64_t, std::int64_t) {
  return *of = new Layout{type, rows}, called("cublasLtMatrixLayoutCreate");
}
int cublasLtMatrixLayoutDestroy(Layout* of) { return delete of, 0; }
int cublasLtMatmulPreferenceCreate(void** of) { return *of = &recorded, called("cublasLtMatmulPreferenceCreate"); }
int cublasLtMatmulPreferenceSetAttribute(void*, int what, const void*, std::size_t) { return what == 1 ? 0 : 7; }
int cublasLtMatmulPreferenceDestroy(void*) { return 0; }
int cublasLtMatmulAlgoGetHeuristic(void*, int* of, Layout* a, Layout*, Layout*, Layout* d, void*, int, void*,
                                   int* count) {
  return *count = *of == 1 && a->type == 28 && d->type == 14, called("cublasLtMatmulAlgoGetHeuristic");
}
int cublasLtMatmul(void*, int*, const float*, const unsigned char* a, Layout* of_a, const unsigned char* b, Layout*,
                   const float*, const void*, Layout*, unsigned short* d, Layout*, const void*, void*, std::size_t,
                   Stream* stream) {
  const std::uint64_t n = of_a->rows;
  for (std::uint64_t j = 0; j < n; ++j)
    for (std::uint64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (std::uint64_t k = 0; k < n; ++k) sum += static_cast<float>((a[k + i * n] == 0x38) * (b[k + j * n] == 0x38));
      std::uint32_t bits;
      std::memcpy(&bits, &sum, 4);
      d[i + j * n] = static_cast<unsigned short>(bits >> 16);
    }
  stream->use(std::stod(told("FAKE_KERNEL", "0")));
  return called("cublasLtMatmul");
}

// The collective library: what a group of calls asks for is done when it ends. FAKE_COLLECTIVE: seconds of each.
struct Communicator {
  int rank, count;
};
struct Asked {
  const float* out;
  float* in;
  std::size_t count;
  int peer, rank;
};
static std::vector<Asked> sums, sends, receives;
int ncclCommInitAll(Communicator** all, int count, const int*) {
  for (int i = 0; i < count; ++i) all[i] = new Communicator{i, count};
  return called("ncclCommInitAll");
}
int ncclCommDestroy(Communicator* one) { return delete one, 0; }
const char* ncclGetErrorString(int) { return "unhandled system error"; }
int ncclGroupStart() { return called("ncclGroupStart"); }
static int ask(std::vector<Asked>& where, Asked what, Stream* stream, const char* name) {
  where.push_back(what);
  stream->use(std::stod(told("FAKE_COLLECTIVE", "0")));
  return called(name);
}
int ncclAllReduce(const float* out, float* in, std::size_t count, int, int, Communicator* one, Stream* stream) {
  return ask(sums, {out, in, count, 0, one->rank}, stream, "ncclAllReduce");
}
int ncclSend(const float* out, std::size_t count, int, int peer, Communicator* one, Stream* stream) {
  return ask(sends, {out, nullptr, count, peer, one->rank}, stream, "ncclSend");
}
int ncclRecv(float* in, std::size_t count, int, int peer, Communicator* one, Stream* stream) {
  return ask(receives, {nullptr, in, count, peer, one->rank}, stream, "ncclRecv");
}
int ncclGroupEnd() {
  for (std::size_t i = 0; !sums.empty() && i < sums[0].count; ++i) {
    float all = 0;
    for (const Asked& one : sums) all += one.out[i];
    for (const Asked& one : sums) one.in[i] = all;
  }
  for (const Asked& to : receives)
    for (const Asked& from : sends)
      if (from.rank == to.peer && from.peer == to.rank) std::memcpy(to.in, from.out, to.count * sizeof(float));
  sums.clear(), sends.clear(), receives.clear();
  return called("ncclGroupEnd");
}

#define ALSO(hip, cuda) __attribute__((alias(#cuda))) decltype(cuda) hip;
ALSO(hipInit, cuInit)
ALSO(hipGetDeviceCount, cuDeviceGetCount)
ALSO(hipDeviceGet, cuDeviceGet)
ALSO(hipDeviceGetName, cuDeviceGetName)
ALSO(hipDeviceTotalMem, cuDeviceTotalMem_v2)
ALSO(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId)
ALSO(hipMalloc, cuMemAlloc_v2)
ALSO(hipFree, cuMemFree_v2)
ALSO(hipHostMalloc, cuMemHostAlloc)
ALSO(hipHostFree, cuMemFreeHost)
ALSO(hipMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)
ALSO(hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)
ALSO(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
ALSO(hipDeviceCanAccessPeer, cuDeviceCanAccessPeer)
ALSO(hipModuleLoadData, cuModuleLoadData)
ALSO(hipModuleUnload, cuModuleUnload)
ALSO(hipModuleGetFunction, cuModuleGetFunction)
ALSO(hipModuleLaunchKernel, cuLaunchKernel)
ALSO(hipStreamCreateWithFlags, cuStreamCreate)
ALSO(hipStreamDestroy, cuStreamDestroy_v2)
ALSO(hipStreamSynchronize, cuStreamSynchronize)
ALSO(hipEventCreateWithFlags, cuEventCreate)
ALSO(hipEventDestroy, cuEventDestroy_v2)
ALSO(hipEventRecord, cuEventRecord)
ALSO(hipEventElapsedTime, cuEventElapsedTime)
ALSO(hipStreamBeginCapture, cuStreamBeginCapture_v2)
ALSO(hipStreamEndCapture, cuStreamEndCapture)
ALSO(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)
ALSO(hipGraphLaunch, cuGraphLaunch)
ALSO(hipGraphDestroy, cuGraphDestroy)
ALSO(hipGraphExecDestroy, cuGraphExecDestroy)
ALSO(hiprtcCreateProgram, nvrtcCreateProgram)
ALSO(hiprtcDestroyProgram, nvrtcDestroyProgram)
ALSO(hiprtcCompileProgram, nvrtcCompileProgram)
ALSO(hiprtcGetProgramLogSize, nvrtcGetProgramLogSize)
ALSO(hiprtcGetProgramLog, nvrtcGetProgramLog)
ALSO(hiprtcGetCodeSize, nvrtcGetCUBINSize)
ALSO(hiprtcGetCode, nvrtcGetCUBIN)

}  // extern "C"
