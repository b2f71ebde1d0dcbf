// Calls NVML by the names of its functions, without its header.
#include "device_clock.h"

#include <dlfcn.h>

#include <cmath>

#include "clock.h"
#include "json.h"

namespace steelyard {
namespace {

// nvml.h: the clock of the multiprocessors among nvmlClockType_t; clocks are in MHz, powers in mW.
constexpr unsigned of_multiprocessors = 1;
constexpr double mega = 1e6, milli = 1e-3;

}  // namespace

[[gnu::cold]] DeviceClock::DeviceClock(const std::string& bus) : most_(unknown), power_limit_(unknown) {
  if (!bus.empty()) library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!call("nvmlInit_v2")) return;
  if (!call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device_)) device_ = nullptr;
  unsigned most = 0, limit = 0;
  if (device_ && call("nvmlDeviceGetMaxClockInfo", device_, of_multiprocessors, &most)) most_ = most * mega;
  if (device_ && call("nvmlDeviceGetEnforcedPowerLimit", device_, &limit)) power_limit_ = limit * milli;
}
DeviceClock::~DeviceClock() { call("nvmlShutdown"); }

template <class... Arguments>
bool DeviceClock::call(const char* name, Arguments... arguments) const {
  void* function = library_ ? dlsym(library_, name) : nullptr;
  return function && reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) == 0;
}

double DeviceClock::now() const {
  unsigned clock = 0;
  return device_ && call("nvmlDeviceGetClockInfo", device_, of_multiprocessors, &clock) ? clock * mega : unknown;
}
void DeviceClock::read() {
  unsigned long long reasons = 0;
  const double clock = now();
  if (std::isnan(clock)) return;
  // Since driver 535 with "Event" in its name; the older name may go.
  bool known = call("nvmlDeviceGetCurrentClocksEventReasons", device_, &reasons) ||
               call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons);
  at_.push_back(seconds_of(CLOCK_REALTIME));
  clocks_.push_back(clock);
  reasons_.push_back(known ? static_cast<double>(reasons) : unknown);
}

void DeviceClock::read_if_due() {
  double now = seconds_of(CLOCK_MONOTONIC_RAW);
  if (!device_ || now - read_at_ < device_every) return;
  read();
  read_at_ = seconds_of(CLOCK_MONOTONIC_RAW);
}

[[gnu::cold]] std::string DeviceClock::readings() const {
  if (at_.empty()) return "null";
  return json::Object()
      .add("at", json::list(at_))
      .add("clock", json::list(clocks_))
      .add("reasons", json::list(reasons_))
      .add("most", most_)
      .add("power_limit", power_limit_)
      .str();
}

}  // namespace steelyard
