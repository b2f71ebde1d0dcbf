// Reads the accounts of the operating system.
#include "disturbance.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

// The sum of what is known.
double sum(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : a + b; }

// Seconds for which a group was stopped, added over the processors; unknown if the file does not say it.
double read_stopped_seconds(const std::string& file) {
  std::ifstream stat(file);
  std::string name;
  for (double value; stat >> name >> value;) {
    if (name == "throttled_usec") return value * 1e-6;
    if (name == "throttled_time") return value * 1e-9;
  }
  return unknown;
}

// As `stopped`, of a group and of its parents, any of which may stop us. A container sees its own group mounted as the
// top: then the first parts of the path are unknown here.
double sum_stopped_upwards(const std::string& top, const std::string& group, bool unified) {
  for (const char* point :
       unified ? std::vector{"", "/unified"} : std::vector{"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"}) {
    const std::string folder = join({top, "/sys/fs/cgroup", point});
    double seconds = unknown;
    std::size_t start = 0;
    while (start < group.size() && access((folder + group.substr(start)).c_str(), F_OK) != 0)
      start = std::min(group.size(), group.find('/', start + 1));
    for (std::size_t end = group.size();; end = std::max(start, group.rfind('/', end - 1))) {
      seconds = sum(seconds, read_stopped_seconds(join({folder, group.substr(start, end - start), "/cpu.stat"})));
      if (end == start) break;
    }
    if (!std::isnan(seconds)) return seconds;
  }
  return unknown;
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
  throttled = stopped_by_quotas("");
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
      continue;
    }
    ++processors;
    if (!cpus.count(cpu)) continue;
    busy = sum(busy, used), used_of[cpu] = {used, (idle + waiting) * tick};
    steals.push_back(stolen * tick), interrupt_times.push_back((irq + softirq) * tick);
    steal = sum(steal, steals.back()), interrupt_time = sum(interrupt_time, interrupt_times.back());
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

// Each line of /proc/self/cgroup is number:controllers:path; version 2 names no controllers.
double stopped_by_quotas(const std::string& top) {
  std::ifstream groups(top + "/proc/self/cgroup");
  std::string number, controllers, group;
  double seconds = unknown;
  while (std::getline(groups, number, ':') && std::getline(groups, controllers, ':') && std::getline(groups, group)) {
    if (group.size() < 2 || group[0] != '/') group.clear();
    bool unified = controllers.empty();
    // In any order: "cpu,cpuacct", or "cpuacct,cpu" on CentOS 7.
    if (unified || ("," + controllers + ",").find(",cpu,") != std::string::npos)
      seconds = sum(seconds, sum_stopped_upwards(top, group, unified));
  }
  return seconds;
}

double greatest_difference(const std::vector<double>& before, const std::vector<double>& after) {
  if (before.size() != after.size()) return unknown;
  double greatest = unknown;
  for (std::size_t i = 0; i < after.size(); ++i) greatest = std::fmax(greatest, after[i] - before[i]);
  return greatest;
}

// The kernel takes samples of what runs, 100 times a second at least. If a processor is idle for a part of the time
// (one sample more than it was seen idle), their number is uncertain (binomial): four standard deviations are no
// evidence.
double least_busy(const MachineReading& before, const MachineReading& after, int cpu) {
  auto first = before.used_of.find(cpu), last = after.used_of.find(cpu);
  if (first == before.used_of.end() || last == after.used_of.end()) return unknown;
  double busy = std::max(0.0, last->second.first - first->second.first);
  double idle = std::max(0.0, last->second.second - first->second.second) + 0.01;
  return busy - 4 * std::sqrt(0.01 * busy * idle / (busy + idle));
}

double greatest_other(const MachineReading& before, const MachineReading& after, const std::vector<int>& cpus,
                      const std::vector<double>& own) {
  std::map<int, double> others;
  double further = after.own - before.own, greatest = unknown;
  for (std::size_t i = 0; i < std::min(cpus.size(), own.size()); ++i) {
    further -= own[i];
    others.try_emplace(cpus[i], least_busy(before, after, cpus[i])).first->second -= own[i];
  }
  for (const auto& [cpu, seconds] : others)
    if (!std::isnan(seconds)) greatest = std::fmax(greatest, std::max(0.0, seconds - std::max(0.0, further)));
  return greatest;
}

}  // namespace steelyard
