// Hardware counters of the threads of a case, and the energy of the processors, if the Linux kernel permits (perf).
#pragma once
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "disturbance.h"
#include "json.h"
#include "text.h"

namespace steelyard {

constexpr int never_counted = -1;

struct Event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t result) {
  return cache | (std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8) | (result << 16);  // perf_event_open(2)
}

// Instructions are first: they lead the group, which has no values without them.
inline const std::vector<Event>& hardware_events() {
  static const std::vector<Event> all{
      {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      {"l1_misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)}};
  return all;
}

// The counts of all threads together from start to stop; `unknown` if nothing was counted.
struct Counts {
  std::vector<Event> events = hardware_events();
  std::vector<double> values = std::vector<double>(events.size(), unknown);  // scaled by 1 / share
  double share = unknown;   // share of the time that the group was counted; below 1 it took turns with others
  double joules = unknown;  // energy of all processors, whichever process used it
  std::string energy_source;
  int error = 0;  // the reason why nothing was counted: an error of the system, or `never_counted`
};

inline int open_event(const Event& event, int thread, int cpu, int leader, bool user_only) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.disabled = leader < 0;
  attributes.exclude_kernel = attributes.exclude_hv = user_only;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, cpu, leader, PERF_FLAG_FD_CLOEXEC));
}

// Returns the reason why there are no counters, from the error of the first event; "" without an error.
inline std::string reason_of(int error) {
  if (error == 0) return "";
  if (error == never_counted) return "others had the processor's counters all the time";
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "the processor shows no performance counters: a virtual machine without them, or no driver";
  if (error == ENOSYS) return "the kernel was built without performance events";
  if (error == EACCES || error == EPERM) {
    int level = 0;
    bool read = static_cast<bool>(std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level);
    if (read && level > 2) return join({"the kernel forbids counting: kernel.perf_event_paranoid is ", level});
    return "counting is forbidden, most likely by a container's filter of system calls";
  }
  return join({"counting failed: ", std::strerror(error)});
}

// The counters of one thread. They are one group, so that all events count during the same times.
class ThreadCounters {
 public:
  ThreadCounters() = default;
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;
  ~ThreadCounters() {
    for (int handle : handles_)
      if (handle >= 0) close(handle);
  }
  // Opens the counters of the calling thread without events that cannot join the group. Returns 0 or the first error.
  int open(const std::vector<Event>& events) {
    for (const Event& event : events) {
      int handle = open_event(event, 0, -1, leader(), true);
      if (handle < 0 && handles_.empty()) return errno;
      handles_.push_back(handle);
    }
    return 0;
  }
  // Reads the counters. Any thread may call it.
  void start() { tell(PERF_EVENT_IOC_RESET), resume(); }
  void resume() { tell(PERF_EVENT_IOC_ENABLE); }
  void stop() { tell(PERF_EVENT_IOC_DISABLE); }

  struct Reading {
    std::vector<double> values;
    double enabled = 0, running = 0;  // nanoseconds
  };
  Reading read() const {
    std::vector<std::uint64_t> raw(3 + handles_.size());
    Reading found;
    found.values.assign(handles_.size(), unknown);
    if (leader() < 0 || ::read(leader(), raw.data(), raw.size() * sizeof raw[0]) < 24) return found;
    found.enabled = static_cast<double>(raw[1]), found.running = static_cast<double>(raw[2]);
    std::size_t next = 3;
    for (std::size_t i = 0; i < handles_.size() && next < 3 + raw[0]; ++i)
      if (handles_[i] >= 0) found.values[i] = static_cast<double>(raw[next++]);
    return found;
  }

 private:
  int leader() const { return handles_.empty() ? -1 : handles_.front(); }
  void tell(unsigned long what) {
    if (leader() >= 0) ioctl(leader(), what, PERF_IOC_FLAG_GROUP);
  }
  std::vector<int> handles_;
};

// The energy of all packages (RAPL through perf), in steps of about a millisecond.
class Energy {
 public:
  [[gnu::cold]] explicit Energy(const std::string& folder = "/sys/bus/event_source/devices/power") {
    for (const char* name : {"energy-pkg", "energy-psys"}) {
      std::uint32_t type = 0;
      std::string event = read_word(join({folder, "/events/", name})), cpus = read_word(join({folder, "/cpumask"}));
      double scale = 0;
      if (event.rfind("event=", 0) != 0 || !(std::istringstream(read_word(join({folder, "/type"}))) >> type) ||
          !(std::istringstream(read_word(join({folder, "/events/", name, ".scale"}))) >> scale))
        continue;
      Event wanted{name, type, std::strtoull(event.c_str() + 6, nullptr, 0)};
      std::istringstream list(cpus);
      for (std::string cpu; std::getline(list, cpu, ',');)
        if (int handle = open_event(wanted, -1, std::atoi(cpu.c_str()), -1, false); handle >= 0)
          handles_.push_back(handle);
      if (handles_.empty()) continue;
      scale_ = scale, source_ = name;
      return;
    }
  }
  Energy(const Energy&) = delete;
  Energy& operator=(const Energy&) = delete;
  ~Energy() {
    for (int handle : handles_) close(handle);
  }
  void start() {
    for (int handle : handles_) ioctl(handle, PERF_EVENT_IOC_ENABLE, 0);
  }
  void pause() {
    for (int handle : handles_) ioctl(handle, PERF_EVENT_IOC_DISABLE, 0);
  }
  // Returns the joules since the start; unknown if the meter does not move.
  double stop() {
    double sum = 0;
    for (int handle : handles_) {
      std::uint64_t raw[4] = {};
      ioctl(handle, PERF_EVENT_IOC_DISABLE, 0);
      if (::read(handle, raw, sizeof raw) >= static_cast<ssize_t>(sizeof raw)) sum += static_cast<double>(raw[3]);
    }
    return sum > 0 ? sum * scale_ : unknown;
  }
  const std::string& source() const { return source_; }

 private:
  static std::string read_word(const std::string& path) {
    std::string found;
    std::ifstream(path) >> found;
    return found;
  }
  std::vector<int> handles_;
  double scale_ = 0;
  std::string source_;
};

// The counters of a team: opened by each of its threads, started before all samples and stopped after them.
class Counters {
 public:
  explicit Counters(std::size_t threads, std::vector<Event> events = hardware_events())
      : events_(std::move(events)), threads_(threads), errors_(threads, 0) {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  void open(std::size_t thread) { errors_[thread] = threads_[thread].open(events_); }
  void start() {
    for (auto& thread : threads_) thread.start();
  }
  void pause() {
    for (auto& thread : threads_) thread.stop();
  }
  void resume() {
    for (auto& thread : threads_) thread.resume();
  }
  Counts stop() {
    pause();
    Counts found{events_, std::vector<double>(events_.size(), 0.0), unknown, unknown, "", 0};
    double enabled = 0, running = 0;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      if (errors_[t]) return counts_without(std::move(found), errors_[t]);
      ThreadCounters::Reading seen = threads_[t].read();
      if (!(seen.running > 0)) return counts_without(std::move(found), never_counted);
      enabled += seen.enabled, running += seen.running;
      // Events that were counted part of the time are scaled to all of it, as perf does.
      for (std::size_t i = 0; i < events_.size(); ++i) found.values[i] += seen.values[i] * seen.enabled / seen.running;
    }
    found.share = running / enabled;
    return found;
  }

 private:
  static Counts counts_without(Counts found, int error) {
    found.values.assign(found.events.size(), unknown);
    found.error = error;
    return found;
  }
  std::vector<Event> events_;
  std::vector<ThreadCounters> threads_;
  std::vector<int> errors_;
};

// For one operation of all threads together. `inside`: the share of the time between start and stop that was samples;
// energy is taken by it, while instructions between the samples cannot be distinguished from those within.
inline std::string counters_json(const Counts& counts, double operations, double inside) {
  json::Object out;
  std::string reason = reason_of(counts.error);
  for (std::size_t i = 0; i < counts.events.size(); ++i) out.add(counts.events[i].name, counts.values[i] / operations);
  return out.add("share", counts.share)
      .add("energy", counts.joules * inside / operations)
      .add("energy_source", counts.energy_source.empty() ? "null" : json::text(counts.energy_source))
      .add("reason", reason.empty() ? "null" : json::text(reason))
      .str();
}

}  // namespace steelyard
