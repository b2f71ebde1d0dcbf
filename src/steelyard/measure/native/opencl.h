// OpenCL devices, without headers or a library at build time: the library is searched when a case needs it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "params.h"
#include "processor_set.h"

namespace steelyard::opencl {

using Handle = void*;  // of the binary interface, as Int
using Int = std::int32_t;
class Library;

// Drivers for processors start threads, which inherit where the calling thread is pinned: they get what the program
// had.
class Unpinned {
 public:
  Unpinned();
  ~Unpinned();
  Unpinned(const Unpinned&) = delete;
  Unpinned& operator=(const Unpinned&) = delete;

 private:
  const ProcessorSet before_;
};

// One device with its own queue, which executes commands in order.
class Device {
 public:
  explicit Device(std::size_t number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Compiles OpenCL C; its kernels are then known by their names.
  void build(const std::string& source, const std::string& options = "");

  // Adds a kernel to the queue: work items [first, last), in groups of `group` (0: as the device likes).
  template <class... Arguments>
  void run(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
           const Arguments&... arguments) {
    if (first < last) start(kernel, first, last, group, {Argument{sizeof arguments, &arguments}...});
  }
  void flush();
  void finish();

  // The PCI address of a device of NVIDIA, as NVML takes it; "" of others.
  std::string bus() const;

  std::string name;
  std::uint64_t memory, largest;  // bytes: of the device, and of one buffer
  bool shares_memory;             // with the host: nothing has to be copied
  std::uint32_t units;            // compute units
  bool is_processor;  // on a processor each work item needs a long contiguous piece; on a GPU neighbours read side by
                      // side

 private:
  friend class DeviceBuffer;
  struct Argument {
    std::size_t bytes;
    const void* value;
  };
  void start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
             const std::vector<Argument>& arguments);
  std::vector<Handle> devices() const;
  template <class T>
  T info(unsigned what) const;
  Handle find(const std::string& kernel);
  void must(Int code, const std::string& what) const;

  const Library& cl_;
  Handle device_ = nullptr, context_ = nullptr, queue_ = nullptr, program_ = nullptr;
  std::vector<Handle> programs_;
  std::map<std::string, Handle> kernels_;
};

// Memory of the host for a device: the same memory if both share it, otherwise a copy.
class DeviceBuffer {
 public:
  DeviceBuffer(Device& device, void* host, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  Handle handle() const { return memory_; }
  // The bytes [first, last) to the device, and from it; returns when they are there.
  void write(std::size_t first, std::size_t last) { move(first, last, true); }
  void read(std::size_t first, std::size_t last) { move(first, last, false); }
  void write() { move(0, bytes_, true); }
  void read() { move(0, bytes_, false); }

 private:
  void move(std::size_t first, std::size_t last, bool to);

  Device& device_;
  char* host_;
  std::size_t bytes_;
  Handle memory_ = nullptr;
};

}  // namespace steelyard::opencl
