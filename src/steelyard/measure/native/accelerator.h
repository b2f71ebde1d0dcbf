// Accelerators, without headers or libraries at build time: a driver's library is searched when a case needs it.
//
// Three doors lead to them: "opencl", "cuda" (NVIDIA's driver and NVRTC) and "hip" (AMD's runtime and hiprtc). The text
// of a kernel is OpenCL C for all three; the two others compile it as C++ after a head of macros.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "params.h"
#include "processor_set.h"

namespace steelyard::accelerator {

using Handle = void*;  // of the binary interfaces

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

// One device with its own queue, which executes commands in order. CaseError: it fails, or cannot do what is asked.
class Device {
 public:
  // The device of the parameters `door` and `device`; `door` is no parameter if it is given here. `timed`: it takes
  // marks.
  static std::unique_ptr<Device> open(Params& p, std::string door = "", bool timed = false);
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Compiles a text; its kernels are then known by their names. `options` are definitions, "-DNAME=value".
  virtual void build(const std::string& source, const std::string& options = "") = 0;

  // Adds a kernel to the queue: work items [first, last), in groups of `group` (0: as the device likes).
  template <class... Arguments>
  void run(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
           const Arguments&... arguments) {
    if (first < last) start(kernel, first, last, group, {Argument{sizeof arguments, &arguments}...});
  }
  virtual void flush() {}
  virtual void finish() = 0;

  // The device's own clock: the seconds between the two marks, which follow what was queued before them. Of finished
  // work.
  virtual void mark(unsigned which) = 0;
  virtual double marked_seconds() = 0;

  // Queues what `job` queues as one graph, `times` times. Only where the door has graphs.
  virtual void record(void (*job)(void*), void* of);
  virtual void replay();

  // Memory of the device, of the host at a fixed place (from which the device copies by itself), and copies between
  // them, queued: on the usual queue, or on a second one beside it.
  // So many bytes, or the host's if they are shared. CaseError: the device has too little memory.
  Handle give(std::size_t bytes, void* shared_with = nullptr);
  virtual void release(Handle memory) = 0;
  virtual void* pin(std::size_t bytes) = 0;
  virtual void unpin(void* memory) = 0;
  virtual void copy_to(Handle memory, const void* host, std::size_t first, std::size_t bytes, bool second_queue) = 0;
  virtual void copy_from(Handle memory, void* host, std::size_t first, std::size_t bytes, bool second_queue) = 0;
  // Queues a copy from here to another device behind the same door, or to this one.
  virtual void copy_across(Handle from, Device& other, Handle to, std::size_t bytes);
  // Returns whether this device reads the memory of the other one directly, without the host.
  virtual bool reaches(Device&) { return false; }
  // Hands shared memory over, without a copy.
  virtual void share(Handle memory, std::size_t first, std::size_t bytes);

  // The usual queue, for a library of the vendor.
  virtual Handle queue() { return nullptr; }

  // The PCI address of a device of NVIDIA, as NVML takes it; "" of others.
  virtual std::string bus() const = 0;
  // The start of an error sentence: "the OpenCL device 'NAME'".
  std::string named() const { return join({"the ", language, " device '", name, "'"}); }

  std::string name, language;
  std::uint64_t memory = 0, largest = 0;  // bytes: of the device, and of one buffer
  bool shares_memory = false;             // with the host: nothing has to be copied
  std::uint32_t units = 1;                // compute units, multiprocessors
  int capability = 0;                     // of a device of NVIDIA: 90 for 9.0
  bool is_processor = false;  // on a processor each work item needs a long contiguous piece; on a GPU neighbours read
                              // side by side
  std::size_t widest = 1024;  // work items of a group
  bool has_packs = false;     // types as double8, with arithmetic

 protected:
  struct Argument {
    std::size_t bytes;
    const void* value;
  };
  virtual Handle allocate(std::size_t bytes, void* shared_with) = 0;
  virtual void start(const std::string& kernel, std::size_t first, std::size_t last, std::size_t group,
                     std::initializer_list<Argument> arguments) = 0;
};

// The devices behind each door.
std::unique_ptr<Device> open_opencl(std::size_t number, bool timed);
std::unique_ptr<Device> open_driver(const std::string& door, std::size_t number);
// Returns the number of devices of a driver ("cuda", "hip"); 0 if the machine lacks the driver, or if it fails.
std::size_t count_devices(const std::string& door);

// Memory of the host for a device: the same memory if both share it, otherwise a copy.
class Buffer {
 public:
  Buffer(Device& device, void* host, std::size_t bytes);
  ~Buffer() { device_.release(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

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
  Handle memory_;
};

}  // namespace steelyard::accelerator
