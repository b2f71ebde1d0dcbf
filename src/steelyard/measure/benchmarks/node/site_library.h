// A numerical library of the site, found when a case asks for it; its own threads keep to the team's processors.
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "accelerator.h"
#include "kernel.h"

namespace steelyard {

// The first library that has the function `needed`: of what the variable names, or else of `names`.
class SiteLibrary {
 public:
  [[gnu::cold]] SiteLibrary(const std::string& what, const char* variable, std::vector<std::string> names,
                            const char* needed) {
    if (const char* own = std::getenv(variable)) names = {own};
    std::string tried;
    for (const std::string& name : names) {
      tried += (tried.empty() ? "" : ", ") + name;
      // Global, since MKL's parts look for each other so.
      library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (library_ && dlsym(library_, needed)) return;
    }
    throw CaseError(join({"there is no ", what, " on this machine with the function ", needed, " (looked for: ", tried,
                          "). Install one, or name its file in $", variable}));
  }
  // The function of that name; null where the library lacks it.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

 private:
  void* library_ = nullptr;
};

[[gnu::cold]] inline std::set<pid_t> threads_of_process() {
  std::set<pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(static_cast<pid_t>(std::stol(entry.path().filename().string())));
  return all;
}

// Does `job`, in which a library may start threads. They and all that were started so before may then use the team's
// processors but the first, on which the calling thread itself computes.
template <class Job>
void with_started_threads(const Team& team, Job job) {
  static std::set<pid_t> started;
  std::set<pid_t> before = threads_of_process();
  {
    accelerator::Unpinned unpinned;
    job();
  }
  for (pid_t thread : threads_of_process())
    if (!before.count(thread)) started.insert(thread);
  if (team.cpus().size() < 2) return;
  ProcessorSet others;
  for (std::size_t i = 1; i < team.cpus().size(); ++i) others.add(team.cpus()[i]);
  for (pid_t thread : started) others.pin(thread);
}

// A file beside the program, for what a library learnt about this machine.
[[gnu::cold]] inline std::string learnt_file(const std::string& what) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::error_code failed;
  return join({std::filesystem::read_symlink("/proc/self/exe", failed).string(), ".", host, ".", what});
}

// OpenBLAS's threads look for further work during 2^26 cycles: the next case must not be measured beside them.
inline void let_threads_sleep(const Team& team) {
  if (team.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace steelyard
