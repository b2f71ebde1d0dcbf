// Calls OpenCL by the names of its functions.
#include "opencl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace steelyard::opencl {
namespace {

// The binary interface of OpenCL 1.2 as the Khronos specification states it, as far as it is used here.
using Flags = std::uint64_t;
constexpr Int success = 0;
constexpr Flags device_all = 0xFFFFFFFF, device_cpu = 2, memory_read_write = 1, memory_use_host = 8, map_read_write = 3;
constexpr unsigned info_type = 0x1000, info_units = 0x1002, info_largest_buffer = 0x1010, info_memory = 0x101F,
                   info_shares_memory = 0x1035, info_name = 0x102B, info_double = 0x1032, info_build_log = 0x1183,
                   info_vendor = 0x1001;
// NVIDIA's extension cl_nv_device_attribute_query; a slot is the number of the device and three bits for its function.
constexpr unsigned nvidia = 0x10DE, info_bus = 0x4008, info_slot = 0x4009, info_domain = 0x400A;

std::string error_name(Int code) {
  static const std::map<Int, const char*> names{{-1, "no device was found"},
                                                {-2, "the device is not available"},
                                                {-4, "the device has too little memory for a buffer"},
                                                {-5, "the device lacks resources"},
                                                {-6, "the host has too little memory"},
                                                {-11, "the program could not be built"},
                                                {-36, "the command queue is not valid any more"},
                                                {-54, "the size of a work group is not possible"},
                                                {-61, "the size of a buffer is not possible"},
                                                {-1001, "no platform is installed"}};
  auto known = names.find(code);
  return join({(known == names.end() ? std::string("error") : known->second), " (OpenCL error ", code, ")"});
}

}  // namespace

// The functions, found by name in the library that $STEELYARD_OPENCL names, or in the system's own.
class Library {
 public:
  static const Library& get() {
    static Library library;
    return library;
  }
  // Calls an OpenCL function by its name; the types of the arguments must be exactly those of the specification.
  template <class Answer = Int, class... Arguments>
  Answer call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<Answer (*)(Arguments...)>(symbol(name))(arguments...);
  }

 private:
  Library() {
    const char* own = std::getenv("STEELYARD_OPENCL");
    for (const char* name : {own ? own : "libOpenCL.so.1", own ? own : "libOpenCL.so"})
      if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library_)
      throw CaseError(
          join({"there is no OpenCL on this machine (", dlerror(),
                "). Install the driver of its GPU, or one for processors (apt-get install pocl-opencl-icd)"}));
  }
  void* symbol(const char* name) const {
    void* found = dlsym(library_, name);
    if (!found) throw CaseError(join({"the OpenCL library of this machine lacks the function ", name}));
    return found;
  }
  void* library_ = nullptr;
};

namespace {

const ProcessorSet at_start = ProcessorSet::of_thread();  // of the program, before anything is pinned

}  // namespace

Unpinned::Unpinned() : before_(ProcessorSet::of_thread()) { at_start.pin(); }
Unpinned::~Unpinned() { before_.pin(); }

template <class T>
T Device::info(unsigned what) const {
  if constexpr (std::is_same_v<T, std::string>) {
    std::string text(256, '\0');
    cl_.call("clGetDeviceInfo", device_, what, text.size(), static_cast<void*>(text.data()),
             static_cast<std::size_t*>(nullptr));
    return text;
  } else {
    T value{};
    cl_.call("clGetDeviceInfo", device_, what, sizeof value, static_cast<void*>(&value),
             static_cast<std::size_t*>(nullptr));
    return value;
  }
}

[[gnu::cold]] Device::Device(std::size_t number) : cl_(Library::get()) {
  Unpinned unpinned;
  std::vector<Handle> all = devices();
  if (number >= all.size())
    throw CaseError(join(
        {"device='", number, "': this machine has ", all.size(), " OpenCL devices, and their numbers start at 0"}));
  device_ = all[number];
  std::string text = info<std::string>(info_name);
  name = text.substr(0, text.find('\0'));
  memory = info<std::uint64_t>(info_memory), largest = info<std::uint64_t>(info_largest_buffer);
  shares_memory = info<std::uint32_t>(info_shares_memory) != 0;
  units = info<std::uint32_t>(info_units);
  is_processor = (info<std::uint64_t>(info_type) & device_cpu) != 0;
  if (info<std::uint64_t>(info_double) == 0)
    throw CaseError(join({"the OpenCL device '", name, "' does not support double precision"}));
  Int code = success;
  context_ = cl_.call<Handle>("clCreateContext", static_cast<const void*>(nullptr), 1u, &device_,
                              static_cast<void*>(nullptr), static_cast<void*>(nullptr), &code);
  must(code, "to open a context");
  queue_ = cl_.call<Handle>("clCreateCommandQueue", context_, device_, Flags{0}, &code);
  must(code, "to make a command queue");
}
[[gnu::cold]] std::string Device::bus() const {
  if (info<std::uint32_t>(info_vendor) != nvidia) return "";
  char text[32];
  std::uint32_t slot = info<std::uint32_t>(info_slot);
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", info<std::uint32_t>(info_domain), info<std::uint32_t>(info_bus),
                slot >> 3, slot & 7);
  return text;
}
Device::~Device() {
  for (auto& [_, kernel] : kernels_) cl_.call("clReleaseKernel", kernel);
  for (Handle program : programs_) cl_.call("clReleaseProgram", program);
  if (queue_) cl_.call("clReleaseCommandQueue", queue_);
  if (context_) cl_.call("clReleaseContext", context_);
}

void Device::build(const std::string& source, const std::string& options) {
  Unpinned unpinned;
  const char* text = source.c_str();
  Int code = success;
  Handle program =
      cl_.call<Handle>("clCreateProgramWithSource", context_, 1u, &text, static_cast<std::size_t*>(nullptr), &code);
  must(code, "to take the program");
  programs_.push_back(program);
  code = cl_.call("clBuildProgram", program, 1u, &device_, options.c_str(), static_cast<void*>(nullptr),
                  static_cast<void*>(nullptr));
  if (code != success) {
    std::string log(20'000, '\0');
    cl_.call("clGetProgramBuildInfo", program, device_, info_build_log, log.size(), static_cast<void*>(log.data()),
             static_cast<std::size_t*>(nullptr));
    throw CaseError(join({"the OpenCL device '", name, "' cannot compile this kernel: ", log.c_str()}));
  }
  program_ = program;
}

void Device::start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
                   const std::vector<Argument>& arguments) {
  Handle handle = find(kernel);
  for (unsigned position = 0; position < arguments.size(); ++position)
    must(cl_.call("clSetKernelArg", handle, position, arguments[position].bytes, arguments[position].value),
         join({"to take an argument of ", kernel}));
  std::size_t count = last - first;
  must(cl_.call("clEnqueueNDRangeKernel", queue_, handle, 1u, static_cast<const std::size_t*>(&first),
                static_cast<const std::size_t*>(&count), static_cast<const std::size_t*>(group ? &group : nullptr), 0u,
                static_cast<const void*>(nullptr), static_cast<void*>(nullptr)),
       join({"to start ", kernel}));
}
void Device::flush() { must(cl_.call("clFlush", queue_), "to start what is queued"); }
void Device::finish() { must(cl_.call("clFinish", queue_), "to finish its work"); }

std::vector<Handle> Device::devices() const {
  unsigned count = 0;
  Int code = cl_.call("clGetPlatformIDs", 0u, static_cast<Handle*>(nullptr), &count);
  if (code != success || count == 0)
    throw CaseError(join({"there is no OpenCL device on this machine: ", error_name(code ? code : -1001)}));
  std::vector<Handle> platforms(count), all;
  cl_.call("clGetPlatformIDs", count, platforms.data(), static_cast<unsigned*>(nullptr));
  for (Handle platform : platforms) {
    unsigned here = 0;
    if (cl_.call("clGetDeviceIDs", platform, device_all, 0u, static_cast<Handle*>(nullptr), &here) != success) continue;
    std::vector<Handle> found(here);
    cl_.call("clGetDeviceIDs", platform, device_all, here, found.data(), static_cast<unsigned*>(nullptr));
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Handle Device::find(const std::string& kernel) {
  auto known = kernels_.find(kernel);
  if (known != kernels_.end()) return known->second;
  Int code = success;
  Handle made = cl_.call<Handle>("clCreateKernel", program_, kernel.c_str(), &code);
  must(code, join({"to find the kernel ", kernel}));
  return kernels_[kernel] = made;
}
void Device::must(Int code, const std::string& what) const {
  if (code != success) throw CaseError(join({"the OpenCL device '", name, "' failed ", what, ": ", error_name(code)}));
}

DeviceBuffer::DeviceBuffer(Device& device, void* host, std::size_t bytes)
    : device_(device), host_(static_cast<char*>(host)), bytes_(bytes) {
  if (!device.shares_memory && bytes > device.largest)
    throw CaseError(join({"the OpenCL device '", device.name, "' has too little memory: a buffer of ", bytes >> 20,
                          " MiB is needed, but it allows at most ", device.largest >> 20, " MiB"}));
  Int code = success;
  memory_ = device.cl_.call<Handle>("clCreateBuffer", device.context_,
                                    memory_read_write | (device.shares_memory ? memory_use_host : 0), bytes,
                                    device.shares_memory ? host : nullptr, &code);
  device.must(code, join({"to give ", bytes >> 20, " MiB of its memory"}));
}
DeviceBuffer::~DeviceBuffer() {
  if (memory_) device_.cl_.call("clReleaseMemObject", memory_);
}

void DeviceBuffer::move(std::size_t first, std::size_t last, bool to) {
  if (first >= last) return;
  constexpr unsigned wait = 1;
  if (!device_.shares_memory) {
    device_.must(device_.cl_.call(to ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", device_.queue_, memory_, wait,
                                  first, last - first, static_cast<void*>(host_ + first), 0u,
                                  static_cast<const void*>(nullptr), static_cast<void*>(nullptr)),
                 to ? "to take data" : "to give data back");
    return;
  }
  // Shared memory is handed over by mapping it, without a copy.
  Int code = success;
  void* mapped =
      device_.cl_.call<void*>("clEnqueueMapBuffer", device_.queue_, memory_, wait, map_read_write, first, last - first,
                              0u, static_cast<const void*>(nullptr), static_cast<void*>(nullptr), &code);
  device_.must(code, "to share memory");
  device_.must(device_.cl_.call("clEnqueueUnmapMemObject", device_.queue_, memory_, mapped, 0u,
                                static_cast<const void*>(nullptr), static_cast<void*>(nullptr)),
               "to share memory");
  device_.finish();
}

}  // namespace steelyard::opencl
