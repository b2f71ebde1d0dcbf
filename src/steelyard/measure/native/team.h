// A team of pinned threads that start a piece of work at the same moment. The calling thread is its first member.
//
// The threads are our own (team.cpp), or, where a program is linked with team_openmp.cpp, those of the compiler's
// OpenMP runtime: a kernel is the same object for both.
#pragma once
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "params.h"

namespace steelyard {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `ready()`; gives the core away after a while, since there may be more threads than cores.
template <class Ready>
void spin_until(Ready ready) {
  for (int i = 0; !ready(); ++i) {
    if (i < 4000)
      relax();
    else
      sched_yield();
  }
}

// One member's view of the team.
struct Worker {
  std::size_t index, size;
  // This worker's part of `n` things, its borders at multiples of `grain` (a cache line of doubles by default).
  std::pair<std::size_t, std::size_t> part(std::size_t n, std::size_t grain = 8) const {
    std::size_t grains = (n + grain - 1) / grain;
    auto border = [&](std::size_t i) { return std::min(n, grains * i / size * grain); };
    return {border(index), border(index + 1)};
  }
};

// A reference to something that can be called with a worker.
struct Job {
  const void* object;
  void (*call)(const void* object, Worker w);
};

// Synchronises all members of a team repeatedly; only within a job of `Team::each`.
class TeamBarrier {
 public:
  virtual void wait() = 0;

 protected:
  ~TeamBarrier() = default;
};

// The threads of a team.
class Crew : public TeamBarrier {
 public:
  virtual ~Crew() = default;
  virtual void perform(Job job) = 0;
  virtual void one(std::size_t whose, Job job) = 0;
  virtual void rest() = 0;
  virtual std::string runtime() const = 0;
};

// The runtime of this program's threads.
struct ThreadModel {
  const char* name;  // the programming model of kernels on such a team
  std::unique_ptr<Crew> (*hire)(std::size_t size, const std::vector<int>& cpus);
  void (*require)(Params& params);  // refuses a case that asks for another model
};
const ThreadModel& thread_model();

class Team {
 public:
  // `cpus[i]` is where thread i is pinned; empty: the operating system places the threads.
  Team(std::size_t size, std::vector<int> cpus);

  std::size_t size() const { return size_; }
  const std::vector<int>& cpus() const { return cpus_; }
  TeamBarrier& barrier() { return *crew_; }

  // Runs `job(worker)` on every thread and returns when all have ended; the first failure is thrown here.
  template <class Call>
  void each(const Call& job) {
    crew_->perform({&job, [](const void* object, Worker w) { (*static_cast<const Call*>(object))(w); }});
  }
  // Runs `job()` on one of the threads, while the others wait.
  template <class Call>
  void one(std::size_t whose, const Call& job) {
    crew_->one(whose, {&job, [](const void* object, Worker) { (*static_cast<const Call*>(object))(); }});
  }

  // The threads have no work for a while: none of them may keep a processor busy.
  void rest() { crew_->rest(); }
  // The runtime of the team as JSON for the record; "" for Steelyard's own threads.
  std::string runtime() const { return crew_->runtime(); }

 private:
  const std::size_t size_;
  const std::vector<int> cpus_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace steelyard
