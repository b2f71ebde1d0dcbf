// A team of pinned threads that start a piece of work at the same moment. The calling thread is its first member.
//
// The threads are our own (team.cpp), or, where a program is built with STEELYARD_OPENMP, those of the compiler's
// OpenMP runtime (team_openmp.cpp): what a kernel does with its team is the same text for both.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
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

// Meets `size` threads again and again; sense reversal needs no reset between meetings.
class SpinBarrier {
 public:
  explicit SpinBarrier(std::size_t size) : size_(size) {}
  void wait() {
    std::size_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    } else {
      spin_until([&] { return round_.load(std::memory_order_acquire) != round; });
    }
  }

 private:
  const std::size_t size_;
  alignas(64) std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<std::size_t> round_{0};
};

#ifdef STEELYARD_OPENMP
inline constexpr const char* thread_model = "openmp";  // the programming model of kernels on this team
// The runtime's own meeting of all threads; only within what `Team::each` runs.
class TeamBarrier {
 public:
  explicit TeamBarrier(std::size_t) {}
  void wait() {
#pragma omp barrier
  }
};
#else
inline constexpr const char* thread_model = "threads";
using TeamBarrier = SpinBarrier;
#endif

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

class Team {
 public:
  // `cpus[i]` is where thread i is pinned; empty: the operating system places the threads.
  Team(std::size_t size, std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return size_; }
  const std::vector<int>& cpus() const { return cpus_; }
  TeamBarrier& barrier() { return barrier_; }

  // Runs `job(worker)` on every thread and returns when all have ended; the first failure is thrown here.
  template <class Call>
  void each(const Call& job) {
    perform({&job, [](const void* object, Worker w) { (*static_cast<const Call*>(object))(w); }});
  }
  // Runs `job()` on one of the threads, while the others wait.
  template <class Call>
  void one(std::size_t whose, const Call& job) {
    Done done;
    each([&](Worker w) {
      if (w.index != whose) return done.wait();
      Ends ends{done};
      job();
    });
  }

  // Nothing is asked of the threads for a while: none of them may keep a processor busy.
  void rest();
  // What carries the team, as JSON for the record; "" for our own threads.
  std::string runtime() const;

 private:
  // A reference to something that can be called with a worker.
  struct Job {
    const void* object;
    void (*call)(const void* object, Worker w);
  };
  void perform(Job job);

#ifdef STEELYARD_OPENMP
  // Who has nothing to do would spin at the end of the region, beside whom is measured: it sleeps instead.
  class Done {
   public:
    void wait() { done_.wait(false, std::memory_order_acquire); }
    void end() { done_.store(true, std::memory_order_release), done_.notify_all(); }

   private:
    std::atomic<bool> done_{false};
  };
#else
  struct Done {  // our own threads sleep when they have ended
    void wait() {}
    void end() {}
  };
#endif
  struct Ends {
    Done& done;
    ~Ends() { done.end(); }
  };

  const std::size_t size_;
  const std::vector<int> cpus_;
  TeamBarrier barrier_;
  struct Crew;  // the threads
  std::unique_ptr<Crew> crew_;
};

}  // namespace steelyard
