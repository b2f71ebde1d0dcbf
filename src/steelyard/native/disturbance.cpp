// Reads the accounts of the operating system.
#include "disturbance.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "text.h"

namespace steelyard {

namespace {

// The second number of schedstat, in nanoseconds; unknown where the kernel keeps no such account.
double run_queue_wait() {
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

}  // namespace

ThreadWatch::Reading ThreadWatch::read() {
  Reading now;
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  now.switches = usage.ru_nivcsw;
  now.faults = usage.ru_minflt + usage.ru_majflt;
  now.waited = run_queue_wait();
  return now;
}

MachineReading::MachineReading(const std::set<int>& cpus) {
  read_stat(cpus);
  read_interrupts(cpus);
  read_throttling();
}

void MachineReading::read_stat(const std::set<int>& cpus) {
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

void MachineReading::read_interrupts(const std::set<int>& cpus) {
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
void MachineReading::read_throttling() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    bool unified = controllers.empty();
    if (!unified && controllers != "cpu" && controllers != "cpu,cpuacct") continue;
    for (const char* root : unified ? std::vector<const char*>{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}
                                    : std::vector<const char*>{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      std::ifstream stat(join({root, path, "/cpu.stat"}));
      std::string name;
      for (double value; stat >> name >> value;) {
        if (name == "throttled_usec") throttled = value * 1e-6;
        if (name == "throttled_time") throttled = value * 1e-9;
      }
    }
  }
}

}  // namespace steelyard
