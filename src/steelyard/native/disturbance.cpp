// Reads the accounts of the operating system.
#include "disturbance.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
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

// Whether a list of controllers, in any order, has that of processor time.
bool has_processors(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

// Where a hierarchy of control groups is mounted, and which of its groups stands there.
struct Mount {
  std::string point, root;
};

// The mounts of version 2 (`unified`), or of the processor controller of version 1. Format: proc(5), mountinfo.
std::vector<Mount> mounts(const std::string& top, bool unified) {
  std::vector<Mount> all;
  std::ifstream file(top + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string word, kind, source, options;
    Mount mount;
    left >> word >> word >> word >> mount.root >> mount.point;
    right >> kind >> source >> options;
    if (unified ? kind == "cgroup2" : kind == "cgroup" && has_processors(options)) all.push_back(mount);
  }
  if (!all.empty()) return all;
  if (unified) return {{"/sys/fs/cgroup", "/"}, {"/sys/fs/cgroup/unified", "/"}};
  return {{"/sys/fs/cgroup/cpu", "/"}, {"/sys/fs/cgroup/cpu,cpuacct", "/"}, {"/sys/fs/cgroup/cpuacct,cpu", "/"}};
}

// Seconds for which a group was stopped, added over the processors; unknown if the file does not say it.
double stopped(const std::string& file) {
  std::ifstream stat(file);
  std::string name;
  for (double value; stat >> name >> value;) {
    if (name == "throttled_usec") return value * 1e-6;
    if (name == "throttled_time") return value * 1e-9;
  }
  return unknown;
}

// The accounts of this group in the first of the mounts that has any, and those of its parents, any of which may stop
// us. A container sees its own group mounted as the top; a group outside of the mount cannot be read.
void add_upwards(std::vector<std::string>& files, const std::string& top, const std::string& group, bool unified) {
  const std::size_t had = files.size();
  for (const Mount& mount : mounts(top, unified)) {
    std::string root = mount.root == "/" ? "" : mount.root, inside;
    if ((group + "/").rfind(root + "/", 0) == 0 && group.find("..") == std::string::npos)
      inside = group.substr(root.size());
    while (!inside.empty() && inside.back() == '/') inside.pop_back();
    if (!inside.empty() && inside.front() != '/') continue;
    for (;; inside.erase(inside.rfind('/'))) {
      std::string file = join({top, mount.point, inside, "/cpu.stat"});
      if (!std::isnan(stopped(file))) files.push_back(file);
      if (inside.empty()) break;
    }
    if (files.size() > had) return;
  }
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
      continue;
    }
    ++processors;
    if (!cpus.count(cpu)) continue;
    busy = (std::isnan(busy) ? 0 : busy) + used;
    steals.push_back(stolen * tick);
    interrupt_times.push_back((irq + softirq) * tick);
  }
  if (steals.empty()) return;
  steal = std::accumulate(steals.begin(), steals.end(), 0.0);
  interrupt_time = std::accumulate(interrupt_times.begin(), interrupt_times.end(), 0.0);
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

void MachineReading::read_throttling() {
  static const std::vector<std::string> files = throttling_files("");
  throttled = stopped_by(files);
}

// Each line of /proc/self/cgroup is number:controllers:path; version 2 names no controllers.
std::vector<std::string> throttling_files(const std::string& top) {
  std::vector<std::string> files;
  std::ifstream groups(top + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty() || has_processors(controllers))
      add_upwards(files, top, line.substr(second + 1), controllers.empty());
  }
  return files;
}

double stopped_by(const std::vector<std::string>& files) {
  double seconds = files.empty() ? unknown : 0;
  for (const std::string& file : files) seconds += stopped(file);
  return seconds;
}

double greatest_difference(const std::vector<double>& before, const std::vector<double>& after) {
  if (before.size() != after.size()) return unknown;
  double greatest = unknown;
  for (std::size_t i = 0; i < after.size(); ++i) greatest = std::fmax(greatest, after[i] - before[i]);
  return greatest;
}

}  // namespace steelyard
