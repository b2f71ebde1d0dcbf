// The clock of an NVIDIA device beside the samples, and the reasons for a lower clock, from NVML (of the driver).
#pragma once
#include <string>
#include <vector>

namespace steelyard {

inline constexpr double device_every = 2e-2;  // seconds between readings, each of which takes up to some milliseconds

class DeviceClock {
 public:
  // `bus`: the PCI address of the device, "0000:01:00.0", or "" for a device of another vendor. Nothing is read if NVML
  // is missing, fails, or does not know the device.
  explicit DeviceClock(const std::string& bus);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  double now() const;            // the clock at this moment in Hz; NaN if it cannot be read
  void read();                   // the clock and the reasons at this moment, kept for `readings`
  void read_if_due();            // the same, but at most once in `device_every`
  std::string readings() const;  // as JSON; null without any

 private:
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const;

  void *library_ = nullptr, *device_ = nullptr;
  double most_, power_limit_, read_at_ = 0;  // Hz, W
  std::vector<double> at_, clocks_, reasons_;
};

}  // namespace steelyard
