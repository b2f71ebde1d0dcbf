// The threads of a team: started, pinned, released together, and dismissed.
#include "team.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "processor_set.h"

namespace steelyard {

namespace {

// Sleeps while nothing is asked of it. The calling thread is its first member.
class OwnThreads final : public Crew {
 public:
  OwnThreads(std::size_t size, const std::vector<int>& cpus) : size_(size), cpus_(cpus), failures_(size) {
    pin(0);
    for (std::size_t i = 1; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~OwnThreads() override {
    ends_ = true;
    release();
    for (auto& t : threads_) t.join();
    before_.pin();
  }

  void perform(Job job) override {
    job_ = job;
    release();
    perform(0);
    spin_until([&] { return ended_.load(std::memory_order_acquire) == size_ - 1; });
    for (auto& f : failures_)
      if (f) std::rethrow_exception(std::exchange(f, nullptr));
  }
  void one(std::size_t whose, Job job) override {
    auto only = [&](Worker w) {
      if (w.index == whose) job.call(job.object, w);
    };
    perform({&only, [](const void* object, Worker w) { (*static_cast<const decltype(only)*>(object))(w); }});
  }
  // Sense reversal needs no reset between meetings.
  void wait() override {
    std::size_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    } else {
      spin_until([&] { return round_.load(std::memory_order_acquire) != round; });
    }
  }
  void rest() override {}
  std::string runtime() const override { return ""; }

 private:
  void release() {
    ended_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }
  void perform(std::size_t index) {
    try {
      job_.call(job_.object, Worker{index, size_});
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
      if (ends_) return;
      if (trouble)
        failures_[index] = std::exchange(trouble, nullptr);
      else
        perform(index);
      ended_.fetch_add(1, std::memory_order_release);
    }
  }
  void pin(std::size_t index) {
    if (cpus_.empty()) return;
    ProcessorSet set;
    set.add(cpus_[index]);
    if (!set.pin())
      throw CaseError(join({"cannot pin thread ", index, " to processor ", cpus_[index], ": ", std::strerror(errno)}));
  }

  const std::size_t size_;
  const std::vector<int>& cpus_;
  const ProcessorSet before_ = ProcessorSet::of_thread();
  Job job_{};
  bool ends_ = false;
  std::vector<std::exception_ptr> failures_;
  alignas(64) std::atomic<std::size_t> generation_{0};
  alignas(64) std::atomic<std::size_t> ended_{0};
  alignas(64) std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<std::size_t> round_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

// The default model. It is weak: a program that is linked with another model uses that model.
[[gnu::weak]] const ThreadModel& thread_model() {
  static const ThreadModel own{"threads",
                               [](std::size_t size, const std::vector<int>& cpus) -> std::unique_ptr<Crew> {
                                 auto crew = std::make_unique<OwnThreads>(size, cpus);
                                 // Every thread is up and pinned, or has failed, before anything is timed.
                                 crew->perform({nullptr, [](const void*, Worker) {}});
                                 return crew;
                               },
                               [](Params&) {}};
  return own;
}

Team::Team(std::size_t size, std::vector<int> cpus) : size_(size), cpus_(std::move(cpus)) {
  if (size == 0) throw CaseError("parameter threads='0' must be at least 1");
  if (!cpus_.empty() && cpus_.size() != size)
    throw CaseError(join({"parameter cpus names ", cpus_.size(), " processors for ", size, " threads"}));
  crew_ = thread_model().hire(size, cpus_);
}

}  // namespace steelyard
