// What disturbs a measurement, read from the operating system around and inside every sample, without root.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace steelyard {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

inline double seconds_of(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Of the calling thread; costs about 2 µs, outside the timed region.
class ThreadWatch {
 public:
  struct Reading {
    double waited = unknown;  // seconds runnable but not running, since the thread began
    long switches = 0;        // involuntary
    long faults = 0;          // pages, minor and major
  };

  Reading read() {
    Reading now;
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    now.switches = usage.ru_nivcsw;
    now.faults = usage.ru_minflt + usage.ru_majflt;
    now.waited = run_queue_wait();
    return now;
  }

 private:
  // The second number of schedstat, in nanoseconds; unknown where the kernel keeps no such account.
  static double run_queue_wait() {
    struct File {
      int handle = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
      ~File() {
        if (handle >= 0) close(handle);
      }
    };
    thread_local File file;
    char text[96];
    ssize_t length = file.handle < 0 ? -1 : pread(file.handle, text, sizeof text - 1, 0);
    if (length <= 0) return unknown;
    text[length] = 0;
    unsigned long long ran, waited;
    return std::sscanf(text, "%llu %llu", &ran, &waited) == 2 ? 1e-9 * static_cast<double>(waited) : unknown;
  }
};

// Of the processors that a case uses, and of the whole machine; read around the samples of a case.
struct MachineReading {
  double at = seconds_of(CLOCK_MONOTONIC_RAW);
  double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double busy = unknown, steal = unknown, interrupt_time = unknown;  // seconds, over the processors used
  double busy_all = unknown;                                         // seconds, over all processors
  double interrupts = unknown;                                       // a count, over the processors used
  double throttled = unknown;                                        // seconds, of our control group

  explicit MachineReading(const std::set<int>& cpus) {
    read_stat(cpus);
    read_interrupts(cpus);
    read_throttling();
  }

 private:
  void read_stat(const std::set<int>& cpus) {
    std::ifstream stat("/proc/stat");
    double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    for (std::string line; std::getline(stat, line) && line.rfind("cpu", 0) == 0;) {
      std::istringstream words(line.substr(3));
      int cpu = -1;
      if (line[3] != ' ') words >> cpu;
      double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, stolen = 0;
      words >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> stolen;
      double used = (user + nice + system) * tick;
      if (cpu < 0) {
        busy_all = used;
      } else if (cpus.count(cpu)) {
        busy = (std::isnan(busy) ? 0 : busy) + used;
        steal = (std::isnan(steal) ? 0 : steal) + stolen * tick;
        interrupt_time = (std::isnan(interrupt_time) ? 0 : interrupt_time) + (irq + softirq) * tick;
      }
    }
  }

  void read_interrupts(const std::set<int>& cpus) {
    std::ifstream file("/proc/interrupts");
    std::string line, word;
    if (!std::getline(file, line)) return;
    std::vector<int> columns;
    std::istringstream header(line);
    while (header >> word)
      if (word.rfind("CPU", 0) == 0) columns.push_back(std::atoi(word.c_str() + 3));
    interrupts = 0;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      words >> word;
      double count;
      for (int cpu : columns) {
        if (!(words >> count)) break;
        if (cpus.count(cpu)) interrupts += count;
      }
    }
  }

  // Version 2 of the control groups first, then version 1; each line of /proc/self/cgroup is number:controllers:path.
  void read_throttling() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      std::size_t first = line.find(':'), second = line.find(':', first + 1);
      if (second == std::string::npos) continue;
      std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
      bool unified = controllers.empty();
      if (!unified && controllers != "cpu" && controllers != "cpu,cpuacct") continue;
      for (const char* root : unified ? std::vector<const char*>{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}
                                      : std::vector<const char*>{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
        std::ifstream stat(root + path + "/cpu.stat");
        std::string name;
        for (double value; stat >> name >> value;) {
          if (name == "throttled_usec") throttled = value * 1e-6;
          if (name == "throttled_time") throttled = value * 1e-9;
        }
      }
    }
  }
};

}  // namespace steelyard
