// The common parts of kernels that a device alone computes, on data that the device itself makes and checks.
#pragma once
#include <functional>

#include "accelerator.h"
#include "device_clock.h"
#include "kernel.h"

namespace steelyard {

class OnDevice {
 public:
  // The start of a sample and its end cost some 10 µs: 0.2 % of it.
  static constexpr double sample_seconds = 5e-3;

  OnDevice(Params& p, Team& team) : device(accelerator::Device::open(p, "", true)), clock_(device->bus()) {
    if (team.size() != 1) throw CaseError(join({"threads='", team.size(), "' must be 1: the device alone computes"}));
  }
  void prepare(Worker, std::size_t) { clock_.read_if_due(); }
  // The name of the device, and its own seconds of an operation in each turn. The last turns are the samples.
  std::string details() const { return with_details().str(); }

 protected:
  json::Object with_details() const {
    return json::Object()
        .add("device", json::text(device->name))
        .add("shares_memory", json::boolean(device->shares_memory))
        .add("units", static_cast<double>(device->units))
        .add("device_seconds", json::list(seconds_))
        .add("clock", clock_.readings());
  }
  // Queues the job so many times, and waits until all is done.
  template <class Job>
  void run_timed(std::size_t operations, Job job) {
    if (!warm_) warm_up(job);
    device->mark(0);
    for (std::size_t i = 0; i < operations; ++i) job();
    device->mark(1);
    device->finish();
    seconds_.push_back(device->marked_seconds() / static_cast<double>(operations));
  }
  // Numbers of the device, copied to the host.
  template <class T>
  std::vector<T> fetch_from_device(accelerator::Handle from, std::size_t count) {
    std::vector<T> values(count);
    device->copy_from(from, values.data(), 0, count * sizeof(T), false);
    device->finish();
    return values;
  }
  void end_clock() { clock_.read(); }

  std::unique_ptr<accelerator::Device> device;

 private:
  // Until the clock of the device stands, where it can be read: an idle device needs some tens of milliseconds.
  template <class Job>
  void warm_up(Job job) {
    constexpr double longest = 0.5, between = 1e-2, alike = 0.01;
    warm_ = true;
    const double began = seconds_of(CLOCK_MONOTONIC_RAW);
    double last = clock_.now(), at = began;
    for (int standing = 0; last > 0 && standing < 3 && at - began < longest;) {
      const double until = at + between;
      for (; at < until; at = seconds_of(CLOCK_MONOTONIC_RAW)) job(), device->finish();
      const double clock = clock_.now();
      standing = std::abs(clock - last) < alike * last ? standing + 1 : 0;
      last = clock;
    }
  }

  DeviceClock clock_;
  std::vector<double> seconds_;
  bool warm_ = false;
};

// Memory of a device alone.
class DeviceMemory {
 public:
  DeviceMemory(accelerator::Device& device, std::size_t bytes) : device_(device), handle_(device.give(bytes)) {}
  ~DeviceMemory() { device_.release(handle_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  accelerator::Handle handle() const { return handle_; }

 private:
  accelerator::Device& device_;
  accelerator::Handle handle_;
};

}  // namespace steelyard
