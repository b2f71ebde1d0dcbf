// A team of pinned threads that start a piece of work at the same moment. The calling thread is its first member.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <thread>
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
      std::this_thread::yield();
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
  Team(std::size_t size, std::vector<int> cpus) : size_(size), cpus_(std::move(cpus)), barrier_(size), failures_(size) {
    if (size == 0) throw CaseError("parameter threads='0' must be at least 1");
    if (!cpus_.empty() && cpus_.size() != size)
      throw CaseError("parameter cpus names " + std::to_string(cpus_.size()) + " processors for " +
                      std::to_string(size) + " threads");
    CPU_ZERO(&before_);
    sched_getaffinity(0, sizeof before_, &before_);
    pin(0);
    for (std::size_t i = 1; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
    try {
      each([](Worker) {});  // every thread is up and pinned, or has failed, before anything is timed
    } catch (...) {
      dismiss();
      throw;
    }
  }
  ~Team() { dismiss(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return size_; }
  const std::vector<int>& cpus() const { return cpus_; }
  SpinBarrier& barrier() { return barrier_; }

  // Runs `job(worker)` on every thread and returns when all have ended; the first failure is thrown here.
  void each(const std::function<void(Worker)>& job) {
    job_ = &job;
    release();
    perform(0);
    spin_until([&] { return ended_.load(std::memory_order_acquire) == size_ - 1; });
    for (auto& f : failures_)
      if (f) std::rethrow_exception(std::exchange(f, nullptr));
  }

 private:
  void dismiss() {
    job_ = nullptr;
    release();
    for (auto& t : threads_) t.join();
    sched_setaffinity(0, sizeof before_, &before_);
  }
  void release() {
    ended_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }
  void perform(std::size_t index) {
    try {
      (*job_)(Worker{index, size_});
    } catch (...) {
      failures_[index] = std::current_exception();
    }
  }
  void serve(std::size_t index) {
    std::exception_ptr trouble;
    try {
      pin(index);
    } catch (...) {
      trouble = std::current_exception();
    }
    for (std::size_t seen = 0;;) {
      generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
      if (!job_) return;
      if (trouble)
        failures_[index] = std::exchange(trouble, nullptr);
      else
        perform(index);
      ended_.fetch_add(1, std::memory_order_release);
    }
  }
  void pin(std::size_t index) {
    if (cpus_.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpus_[index]), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
      throw CaseError("cannot pin thread " + std::to_string(index) + " to processor " + std::to_string(cpus_[index]) +
                      ": " + std::strerror(errno));
  }

  const std::size_t size_;
  const std::vector<int> cpus_;
  SpinBarrier barrier_;
  cpu_set_t before_;
  const std::function<void(Worker)>* job_ = nullptr;
  std::vector<std::exception_ptr> failures_;
  alignas(64) std::atomic<std::size_t> generation_{0};
  alignas(64) std::atomic<std::size_t> ended_{0};
  std::vector<std::thread> threads_;
};

}  // namespace steelyard
