// The door of OpenCL: calls its functions by their names.
#include <cstdio>
#include <map>
#include <type_traits>

#include "accelerator.h"
#include "vendor_library.h"

namespace steelyard::accelerator {
namespace {

// The text that precedes the text of each kernel.
constexpr const char* head = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define GLOBAL global
#define CONSTANT constant
#define LOCAL_POINTER local
#define KERNEL_OF(items, name) kernel __attribute__((reqd_work_group_size(items, 1, 1))) void name
#define MAKE2 (double2)
#define MAKE4 (double4)
)";

// The binary interface of OpenCL 1.2 as the Khronos specification states it, as far as it is used here.
using Int = std::int32_t;
using Flags = std::uint64_t;
constexpr Int success = 0;
constexpr Flags device_all = 0xFFFFFFFF, device_cpu = 2, memory_read_write = 1, memory_use_host = 8,
                memory_at_host = 16, map_read_write = 3, profiling = 2;
constexpr unsigned info_type = 0x1000, info_units = 0x1002, info_largest_buffer = 0x1010, info_memory = 0x101F,
                   info_shares_memory = 0x1035, info_name = 0x102B, info_double = 0x1032, info_build_log = 0x1183,
                   info_vendor = 0x1001, info_widest = 0x1004, info_ended = 0x1283;
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

const VendorLibrary& opencl_library() {
  static const VendorLibrary library(
      "STEELYARD_OPENCL", {"libOpenCL.so.1", "libOpenCL.so"},
      "there is no OpenCL on this machine. Install the driver of its GPU, or one for processors (apt-get install "
      "pocl-opencl-icd)");
  return library;
}

class OpenCl final : public Device {
 public:
  OpenCl(std::size_t number, bool timed);
  ~OpenCl() override;
  void build(const std::string& source, const std::string& options) override;
  void flush() override { must(cl_.call("clFlush", queue_), "to start what is queued"); }
  void finish() override {
    if (second_queue_) must(cl_.call("clFinish", second_queue_), "to finish its work");
    must(cl_.call("clFinish", queue_), "to finish its work");
  }
  void mark(unsigned which) override;
  double marked_seconds() override;
  Handle allocate(std::size_t bytes, void* shared_with) override;
  void release(Handle given) override {
    if (given) cl_.call("clReleaseMemObject", given);
  }
  void* pin(std::size_t bytes) override;
  void unpin(void* place) override;
  void copy_to(Handle to, const void* host, std::size_t first, std::size_t bytes, bool second) override {
    copy("clEnqueueWriteBuffer", to, const_cast<void*>(host), first, bytes, second, "to take data");
  }
  void copy_from(Handle from, void* host, std::size_t first, std::size_t bytes, bool second) override {
    copy("clEnqueueReadBuffer", from, host, first, bytes, second, "to give data back");
  }
  void share(Handle shared, std::size_t first, std::size_t bytes) override;
  std::string bus() const override;

 private:
  void start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
             std::initializer_list<Argument> arguments) override;
  void copy(const char* call, Handle of, void* host, std::size_t first, std::size_t bytes, bool second,
            const char* what);
  Handle make_queue();
  std::vector<Handle> devices() const;
  template <class T>
  T info(unsigned what) const;
  Handle find(const std::string& kernel);
  void must(Int code, const std::string& what) const;

  const VendorLibrary& cl_;
  const Flags kind_of_queue_;
  Handle device_ = nullptr, context_ = nullptr, queue_ = nullptr, second_queue_ = nullptr, program_ = nullptr;
  Handle marks_[2] = {};
  std::vector<Handle> programs_;
  std::map<std::string, Handle> kernels_;
  std::map<void*, Handle> pinned_;  // places of the host → the buffers that hold them
};

template <class T>
T OpenCl::info(unsigned what) const {
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

[[gnu::cold]] OpenCl::OpenCl(std::size_t number, bool timed)
    : cl_(opencl_library()), kind_of_queue_(timed ? profiling : 0) {
  language = "OpenCL", has_packs = true;
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
  widest = info<std::size_t>(info_widest);
  is_processor = (info<std::uint64_t>(info_type) & device_cpu) != 0;
  if (info<std::uint64_t>(info_double) == 0) throw CaseError(join({named(), " does not support double precision"}));
  Int code = success;
  context_ = cl_.call<Handle>("clCreateContext", static_cast<const void*>(nullptr), 1u, &device_,
                              static_cast<void*>(nullptr), static_cast<void*>(nullptr), &code);
  must(code, "to open a context");
  queue_ = make_queue();
}
Handle OpenCl::make_queue() {
  Int code = success;
  Handle made = cl_.call<Handle>("clCreateCommandQueue", context_, device_, kind_of_queue_, &code);
  must(code, "to make a command queue");
  return made;
}
[[gnu::cold]] std::string OpenCl::bus() const {
  if (info<std::uint32_t>(info_vendor) != nvidia) return "";
  char text[32];
  std::uint32_t slot = info<std::uint32_t>(info_slot);
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", info<std::uint32_t>(info_domain), info<std::uint32_t>(info_bus),
                slot >> 3, slot & 7);
  return text;
}
OpenCl::~OpenCl() {
  for (Handle event : marks_)
    if (event) cl_.call("clReleaseEvent", event);
  while (!pinned_.empty()) unpin(pinned_.begin()->first);
  for (auto& [_, kernel] : kernels_) cl_.call("clReleaseKernel", kernel);
  for (Handle program : programs_) cl_.call("clReleaseProgram", program);
  for (Handle queue : {queue_, second_queue_})
    if (queue) cl_.call("clReleaseCommandQueue", queue);
  if (context_) cl_.call("clReleaseContext", context_);
}

void OpenCl::build(const std::string& source, const std::string& options) {
  Unpinned unpinned;
  const std::string whole = join({head, is_processor ? "#define PROCESSOR\n" : "", source});
  const char* text = whole.c_str();
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
    throw CaseError(join({named(), " cannot compile this kernel: ", log.c_str()}));
  }
  program_ = program;
}

void OpenCl::start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
                   std::initializer_list<Argument> arguments) {
  Handle handle = find(kernel);
  unsigned position = 0;
  for (const Argument& one : arguments)
    must(cl_.call("clSetKernelArg", handle, position++, one.bytes, one.value),
         join({"to take an argument of ", kernel}));
  std::size_t count = last - first;
  must(cl_.call("clEnqueueNDRangeKernel", queue_, handle, 1u, static_cast<const std::size_t*>(&first),
                static_cast<const std::size_t*>(&count), static_cast<const std::size_t*>(group ? &group : nullptr), 0u,
                static_cast<const void*>(nullptr), static_cast<void*>(nullptr)),
       join({"to start ", kernel}));
}
void OpenCl::mark(unsigned which) {
  if (Handle old = marks_[which]) cl_.call("clReleaseEvent", old);
  must(cl_.call("clEnqueueMarkerWithWaitList", queue_, 0u, static_cast<const void*>(nullptr), &marks_[which]),
       "to note the time");
}
double OpenCl::marked_seconds() {
  constexpr double nano = 1e-9;
  std::uint64_t at[2] = {};
  for (int i = 0; i < 2; ++i)
    must(cl_.call("clGetEventProfilingInfo", marks_[i], info_ended, sizeof at[i], static_cast<void*>(&at[i]),
                  static_cast<std::size_t*>(nullptr)),
         "to tell the time");
  return nano * static_cast<double>(at[1] - at[0]);
}

std::vector<Handle> OpenCl::devices() const {
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

Handle OpenCl::find(const std::string& kernel) {
  auto known = kernels_.find(kernel);
  if (known != kernels_.end()) return known->second;
  Int code = success;
  Handle made = cl_.call<Handle>("clCreateKernel", program_, kernel.c_str(), &code);
  must(code, join({"to find the kernel ", kernel}));
  return kernels_[kernel] = made;
}
void OpenCl::must(Int code, const std::string& what) const {
  if (code != success) throw CaseError(join({named(), " failed ", what, ": ", error_name(code)}));
}

Handle OpenCl::allocate(std::size_t bytes, void* shared_with) {
  Int code = success;
  Handle given = cl_.call<Handle>("clCreateBuffer", context_, memory_read_write | (shared_with ? memory_use_host : 0),
                                  bytes, shared_with, &code);
  must(code, join({"to give ", bytes >> 20, " MiB of its memory"}));
  return given;
}
void* OpenCl::pin(std::size_t bytes) {
  Int code = success;
  Handle fixed = cl_.call<Handle>("clCreateBuffer", context_, memory_read_write | memory_at_host, bytes,
                                  static_cast<void*>(nullptr), &code);
  must(code, "to fix memory of the host");
  constexpr unsigned wait = 1;
  void* place = cl_.call<void*>("clEnqueueMapBuffer", queue_, fixed, wait, map_read_write, std::size_t{0}, bytes, 0u,
                                static_cast<const void*>(nullptr), static_cast<void*>(nullptr), &code);
  must(code, "to fix memory of the host");
  pinned_[place] = fixed;
  return place;
}
void OpenCl::unpin(void* place) {
  auto found = pinned_.find(place);
  if (found == pinned_.end()) return;
  cl_.call("clEnqueueUnmapMemObject", queue_, found->second, place, 0u, static_cast<const void*>(nullptr),
           static_cast<void*>(nullptr));
  cl_.call("clFinish", queue_);
  release(found->second);
  pinned_.erase(found);
}
void OpenCl::copy(const char* call, Handle of, void* host, std::size_t first, std::size_t bytes, bool second,
                  const char* what) {
  constexpr unsigned later = 0;
  if (second && !second_queue_) second_queue_ = make_queue();
  must(cl_.call(call, second ? second_queue_ : queue_, of, later, first, bytes, host, 0u,
                static_cast<const void*>(nullptr), static_cast<void*>(nullptr)),
       what);
}
void OpenCl::share(Handle shared, std::size_t first, std::size_t bytes) {
  constexpr unsigned wait = 1;
  Int code = success;
  void* mapped = cl_.call<void*>("clEnqueueMapBuffer", queue_, shared, wait, map_read_write, first, bytes, 0u,
                                 static_cast<const void*>(nullptr), static_cast<void*>(nullptr), &code);
  must(code, "to share memory");
  must(cl_.call("clEnqueueUnmapMemObject", queue_, shared, mapped, 0u, static_cast<const void*>(nullptr),
                static_cast<void*>(nullptr)),
       "to share memory");
}

}  // namespace

[[gnu::cold]] std::unique_ptr<Device> open_opencl(std::size_t number, bool timed) {
  return std::make_unique<OpenCl>(number, timed);
}

}  // namespace steelyard::accelerator
