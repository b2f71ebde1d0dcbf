// The three ways to do a node's work: by threads, by an OpenCL device, or by both together, each its share.
//
//     struct Vector {
//       static constexpr std::size_t phases = 1;        // steps of an operation between which all meet
//       Vector(Params& p, Team& team);                  // parameters, memory, contents
//       std::size_t pieces(std::size_t phase) const;    // of the phase; they can be done in any order
//       std::size_t grain() const;                      // a share begins and ends at multiples of so many pieces
//       void threads(Worker w, std::size_t phase, std::size_t first, std::size_t last);  // the team: these pieces
//       void open(opencl::Device& device);              // builds the OpenCL kernels, gives buffers their contents
//       void device(std::size_t phase, std::size_t first, std::size_t last);             // queues these pieces
//       void forget(Team& team);                        // spoils the results, so that those of no earlier turn pass
//       void exchange(std::size_t phase, std::size_t share);  // after a phase: what the other side's next one needs
//       void fetch(std::size_t share);                  // after the samples: the device's results to the host
//       Work work() const;
//       Check check();
//       void corrupt();                                 // makes one value of the results wrong: check must find it
//     };
//
// Pieces [0, share) are the device's, the others the threads'.
#pragma once
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel.h"
#include "opencl.h"

namespace steelyard {

// Every element becomes `value`, whatever the buffer was promised to hold.
template <class T>
void spoil(const Buffer<T>& buffer, Team& team, T value) {
  team.each([&](Worker w) {
    auto [first, last] = w.part(buffer.size());
    std::fill(buffer.data() + first, buffer.data() + last, value);
  });
}

template <class K>
class Modes {
 public:
  Modes(Params& p, Team& team)
      : mode_(p.choice("mode", "threads", {"threads", "opencl", "mixed"})), kernel_(p, team), team_(team) {
    std::size_t number = p.count("device", 0);
    if (mode_ == "threads") return;
    if (mode_ == "opencl" && team.size() != 1)
      throw CaseError("mode='opencl' is driven by one thread: threads='" + std::to_string(team.size()) + "' must be 1");
    device_.emplace(number);
    double began = seconds_of(CLOCK_MONOTONIC_RAW);
    kernel_.open(*device_);
    device_->finish();
    to_device_ = seconds_of(CLOCK_MONOTONIC_RAW) - began;
    share_ = mode_ == "opencl" ? 1.0 : 0.0;
    if (mode_ == "mixed") choose();
    kernel_.forget(team);
  }

  void run(Worker w, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      for (std::size_t phase = 0; phase < K::phases; ++phase) {
        std::size_t all = kernel_.pieces(phase), share = shared(all);
        if (w.index == 0 && share > 0) guarded([&] { kernel_.device(phase, 0, share), device_->flush(); });
        if (share < all) kernel_.threads(w, phase, share, all);
        if (w.index == 0 && share > 0) guarded([&] { device_->finish(), kernel_.exchange(phase, share); });
        if (w.size > 1) team_.barrier().wait();
      }
      clobber();
    }
    if (w.index == 0 && failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  Work work() const { return kernel_.work(); }
  Check check() {
    if (std::size_t share = shared(kernel_.pieces(K::phases - 1)); share > 0) {
      double began = seconds_of(CLOCK_MONOTONIC_RAW);
      kernel_.fetch(share);
      from_device_ = seconds_of(CLOCK_MONOTONIC_RAW) - began;
    }
    if (corrupt_) kernel_.corrupt();
    return kernel_.check();
  }
  void corrupt() { corrupt_ = true; }  // when the results are back
  // Which device it was, its share of the work, what was tried, and how long its data took to get there and back.
  std::string details() const {
    if (!device_) return "null";
    std::string tried = "[";
    for (const auto& [share, seconds] : tried_)
      tried += (tried.size() > 1 ? "," : "") + json::list(std::vector<double>{share, seconds});
    return json::Object()
        .add("device", json::text(device_->name))
        .add("shares_memory", json::boolean(device_->shares_memory))
        .add("share", json::number(share_))
        .add("tried", tried.append("]"))
        .add("setup_seconds", json::number(to_device_))
        .add("fetch_seconds", json::number(from_device_))
        .str();
  }

 private:
  std::size_t shared(std::size_t all) const {
    if (share_ >= 1) return all;
    auto wanted = static_cast<std::size_t>(share_ * static_cast<double>(all));
    return std::min(all, wanted / kernel_.grain() * kernel_.grain());
  }
  // A device that fails must not leave the other threads waiting: the first failure is kept until all have met.
  template <class Job>
  void guarded(Job job) {
    if (failure_) return;
    try {
      job();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  // The share that takes least: each alone, then what their speeds suggest, then around the best. Both alone are among
  // them, so that the mixture is not slower than either but by chance.
  void choose() {
    double threads = tried(0), device = tried(1), guess = threads / (threads + device);
    for (double share : {guess, 0.8 * guess, std::min(0.95, 1.2 * guess)}) tried(share);
    auto best = std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.second < b.second; });
    for (double share : {best->first - 0.05, best->first + 0.05})
      if (share > 0.02 && share < 0.98) tried(share);
    best = std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.second < b.second; });
    // A mixture must be worth it: below 3 % it is chance.
    double alone = std::min(threads, device);
    share_ = best->second < 0.97 * alone ? best->first : (threads <= device ? 0 : 1);
  }
  double tried(double share) {
    share_ = share;
    double least = INFINITY;
    for (int i = 0; i < 3; ++i) {
      double began = seconds_of(CLOCK_MONOTONIC_RAW);
      team_.each([&](Worker w) { run(w, 1); });
      least = std::min(least, seconds_of(CLOCK_MONOTONIC_RAW) - began);
      // A second try of what is far behind would only cost time.
      if (!tried_.empty() && least > 3 * tried_.front().second) break;
    }
    tried_.emplace_back(share, least);
    return least;
  }

  std::string mode_;
  K kernel_;
  Team& team_;
  std::optional<opencl::Device> device_;
  double share_ = 0, to_device_ = 0, from_device_ = 0;
  std::vector<std::pair<double, double>> tried_;
  std::exception_ptr failure_;
  bool corrupt_ = false;
};

}  // namespace steelyard
