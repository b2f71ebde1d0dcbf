// The doors "cuda" and "hip": a vendor's driver and its compiler at run time, called by the names of their functions.
//
// Both have the same functions with the same arguments under two families of names, but for those that `Driver` calls
// by one name alone. Their kernels are compiled as C++ after a head that gives the words of OpenCL C a meaning.
#include <map>
#include <set>

#include "accelerator.h"
#include "vendor_library.h"

namespace steelyard::accelerator {
namespace {

// The text that both compilers read before the text of a kernel. "global" is itself a word within __global__.
constexpr const char* driver_head = R"(
typedef unsigned int uint;
typedef unsigned long ulong;
#define kernel extern "C" __global__
#define GLOBAL
#define CONSTANT const
#define local __shared__
#define restrict __restrict__
#define LOCAL_POINTER
#define KERNEL_OF(items, name) kernel void __launch_bounds__(items) name
#define MAKE2 make_double2
#define MAKE4 make_double4
#define barrier(fence) __syncthreads()
#define get_local_id(dimension) (threadIdx.x)
#define get_group_id(dimension) (blockIdx.x)
#define get_num_groups(dimension) (gridDim.x)
#define get_local_size(dimension) (blockDim.x)
#define get_global_size(dimension) ((size_t)gridDim.x * blockDim.x)
#define get_global_id(dimension) ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define atomic_inc(place) atomicAdd(place, 1u)
#define as_ulong(value) ((ulong)__double_as_longlong(value))
#define as_double(value) __longlong_as_double((long long)(value))
#ifndef M_SQRT1_2
#define M_SQRT1_2 0.70710678118654752440
#endif
static __device__ double2 operator+(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }
static __device__ double2 operator-(double2 a, double2 b) { return make_double2(a.x - b.x, a.y - b.y); }
static __device__ double2 operator*(double2 a, double b) { return make_double2(a.x * b, a.y * b); }
static __device__ double2& operator+=(double2& a, double2 b) { return a = a + b; }
)";

// One function under its names.
struct Function {
  const char *cuda, *hip;
};
constexpr Function initialise{"cuInit", "hipInit"}, count_devices_of{"cuDeviceGetCount", "hipGetDeviceCount"},
    get_device{"cuDeviceGet", "hipDeviceGet"}, get_name{"cuDeviceGetName", "hipDeviceGetName"},
    get_memory{"cuDeviceTotalMem_v2", "hipDeviceTotalMem"}, get_bus{"cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId"},
    allocate_memory{"cuMemAlloc_v2", "hipMalloc"}, free_memory{"cuMemFree_v2", "hipFree"},
    pin_memory{"cuMemHostAlloc", "hipHostMalloc"}, unpin_memory{"cuMemFreeHost", "hipHostFree"},
    copy_there{"cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"}, copy_back{"cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"},
    copy_within{"cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"}, copy_to_peer{"cuMemcpyPeerAsync", "hipMemcpyPeerAsync"},
    can_reach{"cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"}, load_module{"cuModuleLoadData", "hipModuleLoadData"},
    unload_module{"cuModuleUnload", "hipModuleUnload"}, get_function{"cuModuleGetFunction", "hipModuleGetFunction"},
    launch{"cuLaunchKernel", "hipModuleLaunchKernel"}, make_stream{"cuStreamCreate", "hipStreamCreateWithFlags"},
    drop_stream{"cuStreamDestroy_v2", "hipStreamDestroy"},
    wait_for_stream{"cuStreamSynchronize", "hipStreamSynchronize"},
    make_event{"cuEventCreate", "hipEventCreateWithFlags"}, drop_event{"cuEventDestroy_v2", "hipEventDestroy"},
    record_event{"cuEventRecord", "hipEventRecord"}, between_events{"cuEventElapsedTime", "hipEventElapsedTime"},
    begin_capture{"cuStreamBeginCapture_v2", "hipStreamBeginCapture"},
    end_capture{"cuStreamEndCapture", "hipStreamEndCapture"},
    make_graph{"cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags"},
    launch_graph{"cuGraphLaunch", "hipGraphLaunch"}, drop_graph{"cuGraphDestroy", "hipGraphDestroy"},
    drop_ready_graph{"cuGraphExecDestroy", "hipGraphExecDestroy"},
    make_program{"nvrtcCreateProgram", "hiprtcCreateProgram"},
    drop_program{"nvrtcDestroyProgram", "hiprtcDestroyProgram"}, compile{"nvrtcCompileProgram", "hiprtcCompileProgram"},
    log_size{"nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize"}, get_log{"nvrtcGetProgramLog", "hiprtcGetProgramLog"},
    code_size{"nvrtcGetCUBINSize", "hiprtcGetCodeSize"}, get_code{"nvrtcGetCUBIN", "hiprtcGetCode"};
// Attributes of a device by their numbers in cuda.h and hip_runtime_api.h.
constexpr int cuda_multiprocessors = 16, cuda_major_version = 75, cuda_minor_version = 76, hip_multiprocessors = 63;
constexpr unsigned non_blocking = 1;  // of a stream

using Names = std::vector<std::string>;

const VendorLibrary& driver_of(bool cuda) {
  if (cuda) {
    static const VendorLibrary nvidia("STEELYARD_CUDA", {"libcuda.so.1"},
                                      "NVIDIA's driver is not on this machine: install it, or use another device");
    return nvidia;
  }
  static const VendorLibrary amd("STEELYARD_HIP",
                                 {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                                 "AMD's HIP is not on this machine: install it, or use another device");
  return amd;
}
const VendorLibrary& compiler_of(bool cuda) {
  if (cuda) {
    static const VendorLibrary nvrtc(
        "STEELYARD_NVRTC", {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"},
        "NVIDIA's compiler NVRTC is not on this machine. Install it: steelyard device install");
    return nvrtc;
  }
  // Since ROCm 6 in a library of its own.
  static const VendorLibrary hiprtc(
      "STEELYARD_HIPRTC", {"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so", "libamdhip64.so.5"},
      "AMD's compiler hiprtc is not on this machine: install it with HIP");
  return hiprtc;
}

std::string driver_error(int code) {
  static const std::map<int, const char*> names{{2, "the memory is not sufficient"},
                                                {100, "no device was found"},
                                                {101, "there is no such device"},
                                                {209, "the device cannot execute this code"},
                                                {214, "an error of the memory was found (ECC)"},
                                                {700, "a kernel used memory that is not its own"},
                                                {702, "a kernel took too long"},
                                                {719, "a kernel failed"},
                                                {999, "the reason is unknown"}};
  auto known = names.find(code);
  return join({(known == names.end() ? std::string("error") : known->second), " (error ", code, ")"});
}

class Driver final : public Device {
 public:
  Driver(bool cuda, std::size_t number);
  ~Driver() override;
  void build(const std::string& source, const std::string& options) override;
  void finish() override {
    for (Handle stream : streams_)
      if (stream) must(call(wait_for_stream, stream), "to finish its work");
  }
  void mark(unsigned which) override {
    if (!marks_[which]) must(call(make_event, &marks_[which], 0u), "to note the time");
    must(call(record_event, marks_[which], streams_[0]), "to note the time");
  }
  double marked_seconds() override {
    constexpr double milli = 1e-3;
    float time = 0;
    must(call(between_events, &time, marks_[0], marks_[1]), "to tell the time");
    return milli * static_cast<double>(time);
  }
  void record(void (*job)(void*), void* of) override;
  void replay() override { must(call(launch_graph, ready_, streams_[0]), "to start a graph"); }
  Handle allocate(std::size_t bytes, void*) override {
    Handle given = nullptr;
    must(call(allocate_memory, &given, bytes), join({"to give ", bytes >> 20, " MiB of its memory"}));
    return given;
  }
  void release(Handle given) override {
    if (given) call(free_memory, given);
  }
  void* pin(std::size_t bytes) override {
    void* place = nullptr;
    must(call(pin_memory, &place, bytes, 0u), join({"to fix ", bytes >> 20, " MiB of the host"}));
    return place;
  }
  void unpin(void* place) override { call(unpin_memory, place); }
  void copy_to(Handle to, const void* host, std::size_t first, std::size_t bytes, bool second) override {
    must(call(copy_there, at(to, first), host, bytes, stream(second)), "to take data");
  }
  void copy_from(Handle from, void* host, std::size_t first, std::size_t bytes, bool second) override {
    must(call(copy_back, host, at(from, first), bytes, stream(second)), "to give data back");
  }
  void copy_across(Handle from, Device& other, Handle to, std::size_t bytes) override;
  bool reaches(Device& other) override;
  Handle queue() override { return streams_[0]; }
  std::string bus() const override { return cuda_ ? bus_ : ""; }

 private:
  void start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
             std::initializer_list<Argument> arguments) override;
  template <class... Arguments>
  int call(const Function& function, Arguments... arguments) const {
    if (current_ != this) {  // of this thread
      cuda_ ? library_.call("cuCtxSetCurrent", context_) : library_.call("hipSetDevice", device_);
      current_ = this;
    }
    return library_.call(cuda_ ? function.cuda : function.hip, arguments...);
  }
  static Handle at(Handle begin, std::size_t first) { return static_cast<char*>(begin) + first; }
  Handle stream(bool second) {
    Handle& wanted = streams_[second];
    if (!wanted) must(call(make_stream, &wanted, non_blocking), "to make a queue");
    return wanted;
  }
  int attribute(int what) const {
    int value = 0;
    must(library_.call(cuda_ ? "cuDeviceGetAttribute" : "hipDeviceGetAttribute", &value, what, device_),
         "to describe itself");
    return value;
  }
  void must(int code, const std::string& what) const {
    if (code == 0) return;
    failed_ = true;
    throw CaseError(join({named(), " failed ", what, ": ", driver_error(code)}));
  }

  static thread_local const Driver* current_;
  static std::set<int> staying_;  // devices whose contexts stay
  mutable bool failed_ = false;
  const bool cuda_;
  const VendorLibrary& library_;
  int device_ = 0;
  Handle context_ = nullptr, streams_[2] = {}, marks_[2] = {}, graph_ = nullptr, ready_ = nullptr;
  std::string bus_, target_;
  std::vector<Handle> modules_;
  std::map<std::string, Handle> kernels_;
};
thread_local const Driver* Driver::current_ = nullptr;
std::set<int> Driver::staying_;

[[gnu::cold]] Driver::Driver(bool cuda, std::size_t number) : cuda_(cuda), library_(driver_of(cuda)) {
  language = cuda ? "CUDA" : "HIP";
  auto first = [&](const Function& function, auto... arguments) {  // before there is a context
    must(library_.call(cuda ? function.cuda : function.hip, arguments...), "to be opened");
  };
  int devices = 0;
  first(initialise, 0u);
  first(count_devices_of, &devices);
  if (number >= static_cast<std::size_t>(devices))
    throw CaseError(join({"device='", number, "': this machine has ", devices, " ", language,
                          " devices, and their numbers start at 0"}));
  first(get_device, &device_, static_cast<int>(number));
  char text[256] = {};
  first(get_name, text, 255, device_);
  name = text;
  std::size_t bytes = 0;
  first(get_memory, &bytes, device_);
  memory = largest = bytes;
  first(get_bus, text, 255, device_);
  bus_ = text;
  units = static_cast<std::uint32_t>(std::max(1, attribute(cuda ? cuda_multiprocessors : hip_multiprocessors)));
  if (cuda) {
    capability = 10 * attribute(cuda_major_version) + attribute(cuda_minor_version);
    target_ = join({"sm_", capability});
    must(library_.call("cuDevicePrimaryCtxRetain", &context_, device_), "to be opened");
    // It stays from case to case, because a new one takes some tenths of a second. A failure ends it.
    if (staying_.insert(device_).second) library_.call("cuDevicePrimaryCtxRetain", &context_, device_);
  } else {
    must(library_.call("hipSetDevice", device_), "to be opened");
  }
  stream(false);
}
Driver::~Driver() {
  call(drop_graph, graph_), call(drop_ready_graph, ready_);
  for (Handle event : marks_)
    if (event) call(drop_event, event);
  for (Handle loaded : modules_) call(unload_module, loaded);
  for (Handle stream : streams_)
    if (stream) call(drop_stream, stream);
  if (cuda_) library_.call("cuDevicePrimaryCtxRelease_v2", device_);
  if (cuda_ && failed_ && staying_.erase(device_) > 0) library_.call("cuDevicePrimaryCtxRelease_v2", device_);
  current_ = nullptr;
}

void Driver::build(const std::string& source, const std::string& options) {
  const VendorLibrary& compiler = compiler_of(cuda_);
  auto ask = [&](const Function& function, auto... arguments) {
    return compiler.call(cuda_ ? function.cuda : function.hip, arguments...);
  };
  // Functions without a word of CUDA are the device's, too.
  const std::string text = cuda_ ? driver_head + source
                                 : join({"#pragma clang force_cuda_host_device begin\n", driver_head, source,
                                         "\n#pragma clang force_cuda_host_device end\n"});
  Names given{"--std=c++17", "-w"};
  if (cuda_) given.insert(given.end(), {"-default-device", "--gpu-architecture=" + target_});
  if (source.find("FP_CONTRACT OFF") != std::string::npos)
    given.push_back(cuda_ ? "--fmad=false" : "-ffp-contract=off");
  for (std::size_t from = 0, to; from < options.size(); from = to + 1) {
    to = std::min(options.find(' ', from), options.size());
    if (to > from) given.push_back(options.substr(from, to - from));
  }
  std::vector<const char*> words;
  for (const std::string& word : given) words.push_back(word.c_str());
  Handle program = nullptr;
  must(ask(make_program, &program, text.c_str(), "kernel.cu", 0, static_cast<const char**>(nullptr),
           static_cast<const char**>(nullptr)),
       "to take the program");
  int code = ask(compile, program, static_cast<int>(words.size()), words.data());
  std::size_t size = 0;
  if (code != 0) {
    ask(log_size, program, &size);
    std::string log(size + 1, '\0');
    ask(get_log, program, log.data());
    ask(drop_program, &program);
    throw CaseError(join({named(), " cannot compile this kernel: ", log.c_str()}));
  }
  ask(code_size, program, &size);
  std::string made(size, '\0');
  ask(get_code, program, made.data());
  ask(drop_program, &program);
  modules_.push_back(nullptr);
  must(call(load_module, &modules_.back(), static_cast<const void*>(made.data())), "to take the program");
}

void Driver::start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
                   std::initializer_list<Argument> arguments) {
  if (first != 0) throw CaseError(join({named(), " cannot start ", kernel, " at another work item than the first"}));
  auto known = kernels_.find(kernel);
  if (known == kernels_.end()) {
    Handle found = nullptr;
    for (auto module = modules_.rbegin(); module != modules_.rend() && !found; ++module)
      if (call(get_function, &found, *module, kernel.c_str()) != 0) found = nullptr;
    if (!found) throw CaseError(join({named(), " failed to find the kernel ", kernel}));
    known = kernels_.emplace(kernel, found).first;
  }
  // Every work item must be one of the kernel's: without a wish, a group is the largest divisor that is usual.
  std::size_t items = group;
  if (!items)
    for (items = std::min<std::size_t>(256, last); last % items; --items) {
    }
  void* values[16];
  std::size_t count = 0;
  for (const Argument& one : arguments) values[count++] = const_cast<void*>(one.value);
  if (int code = call(launch, known->second, static_cast<unsigned>(last / items), 1u, 1u, static_cast<unsigned>(items),
                      1u, 1u, 0u, streams_[0], static_cast<void**>(values), static_cast<void**>(nullptr)))
    must(code, join({"to start ", kernel}));
}

void Driver::copy_across(Handle from, Device& other, Handle to, std::size_t bytes) {
  const auto& target = dynamic_cast<const Driver&>(other);
  int code = 0;
  if (&target == this)
    code = call(copy_within, to, from, bytes, streams_[0]);
  else if (cuda_)
    code = call(copy_to_peer, to, target.context_, from, context_, bytes, streams_[0]);
  else
    code = call(copy_to_peer, to, target.device_, from, device_, bytes, streams_[0]);
  must(code, "to copy between devices");
}
bool Driver::reaches(Device& other) {
  const auto& source = dynamic_cast<const Driver&>(other);
  constexpr int already = 704;  // cudaErrorPeerAccessAlreadyEnabled
  int can = 0;
  must(call(can_reach, &can, device_, source.device_), "to say which devices it reaches");
  if (!can || &source == this) return can != 0;
  int code = cuda_ ? library_.call("cuCtxEnablePeerAccess", source.context_, 0u)
                   : library_.call("hipDeviceEnablePeerAccess", source.device_, 0u);
  return code == 0 || code == already;
}

void Driver::record(void (*job)(void*), void* of) {
  constexpr int of_this_thread = 1;
  constexpr unsigned long long plain = 0;
  // A driver may load a kernel at its first start only, which it refuses while it records.
  job(of);
  finish();
  must(call(begin_capture, streams_[0], of_this_thread), "to record a graph");
  job(of);
  must(call(end_capture, streams_[0], &graph_), "to record a graph");
  must(call(make_graph, &ready_, graph_, plain), "to record a graph");
}

}  // namespace

[[gnu::cold]] std::unique_ptr<Device> open_driver(const std::string& door, std::size_t number) {
  return std::make_unique<Driver>(door == "cuda", number);
}

[[gnu::cold]] std::size_t count_devices(const std::string& door) {
  const bool cuda = door == "cuda";
  int count = 0;
  try {
    const VendorLibrary& library = driver_of(cuda);
    if (library.call(cuda ? initialise.cuda : initialise.hip, 0u) != 0 ||
        library.call(cuda ? count_devices_of.cuda : count_devices_of.hip, &count) != 0)
      return 0;
  } catch (const CaseError&) {
    return 0;
  }
  return static_cast<std::size_t>(std::max(0, count));
}

}  // namespace steelyard::accelerator
