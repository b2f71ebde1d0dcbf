// The three modes in which a node computes: on threads, on a device, or on both together, each with a share.
//
//     struct Vector {
//       static constexpr std::size_t phases = 1;              // steps of an operation, with a barrier after each one
//       Vector(Params& p, Team& team);                        // parameters, memory, contents
//       std::size_t count_pieces(std::size_t phase) const;    // the pieces of a phase can be done in any order
//       std::size_t share_granularity() const;                // a share begins and ends at multiples of this number
//       void run_on_threads(Worker w, std::size_t phase, std::size_t first, std::size_t last);
//       void open_device(accelerator::Device& device);        // builds its kernels and fills its buffers
//       void queue_on_device(std::size_t phase, std::size_t first, std::size_t last);
//       void spoil_results(Team& team);                       // so that the results of an earlier run do not pass
//       void exchange_results(std::size_t phase, std::size_t share);  // passes on what the next phase needs
//       void fetch(std::size_t share);                // after the samples: copies results from the device
//       Work work() const;
//       Check check();
//       void corrupt();                                       // makes one value of the results wrong
//     };
//
// The device computes the pieces [0, share), and the threads compute the others.
#pragma once
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accelerator.h"
#include "device_clock.h"
#include "kernel.h"

namespace steelyard {

// Sets every element to `value`, also in a buffer that is marked as constant.
template <class T>
void spoil(const Buffer<T>& buffer, Team& team, T value) {
  team.each([&](Worker w) {
    auto [first, last] = w.part(buffer.size());
    std::fill(buffer.data() + first, buffer.data() + last, value);
  });
}

// Adapts a kernel with these members to the harness.
class ModeKernel {
 public:
  virtual ~ModeKernel() = default;
  virtual std::size_t phases() const = 0;
  virtual std::size_t count_pieces(std::size_t phase) const = 0;
  virtual std::size_t share_granularity() const = 0;
  virtual void run_on_threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) = 0;
  virtual void open_device(accelerator::Device& device) = 0;
  virtual void queue(std::size_t phase, std::size_t first, std::size_t last) = 0;
  virtual void spoil_results(Team& team) = 0;
  virtual void exchange_results(std::size_t phase, std::size_t share) = 0;
  virtual void fetch(std::size_t share) = 0;
  virtual Work work() const = 0;
  virtual Check check() = 0;
  virtual void corrupt() = 0;
};

template <class K>
class InModes final : public ModeKernel {
 public:
  InModes(Params& p, Team& team) : kernel_(p, team) {}
  std::size_t phases() const override { return K::phases; }
  std::size_t count_pieces(std::size_t phase) const override { return kernel_.count_pieces(phase); }
  std::size_t share_granularity() const override { return kernel_.share_granularity(); }
  // Everything is inlined: without this, GCC leaves helpers out of line, and the sparse product loses 6 %.
  [[gnu::flatten]] void run_on_threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) override {
    kernel_.run_on_threads(w, phase, first, last);
  }
  [[gnu::cold]] void open_device(accelerator::Device& device) override { kernel_.open_device(device); }
  void queue(std::size_t phase, std::size_t first, std::size_t last) override { kernel_.queue(phase, first, last); }
  void spoil_results(Team& team) override { kernel_.spoil_results(team); }
  void exchange_results(std::size_t phase, std::size_t share) override { kernel_.exchange_results(phase, share); }
  void fetch(std::size_t share) override { kernel_.fetch(share); }
  [[gnu::cold]] Work work() const override { return kernel_.work(); }
  Check check() override { return kernel_.check(); }
  [[gnu::cold]] void corrupt() override { kernel_.corrupt(); }

 private:
  K kernel_;
};

// Runs a kernel in the mode of the case.
class Moded {
 public:
  Moded(Params& p, Team& team, std::unique_ptr<ModeKernel> (*make)(Params&, Team&));
  void prepare(Worker w, std::size_t) {
    if (w.index == 0 && clock_) clock_->read_if_due();
  }
  void run(Worker w, std::size_t operations);
  Work work() const { return kernel_->work(); }
  Check check();
  void corrupt() { corrupt_ = true; }  // takes effect when the results are back
  // Returns JSON: the device, its share of the work, the shares that were tried, the seconds of the copies to and from
  // the device, and its clock between the samples.
  std::string details() const;

 private:
  std::size_t shared(std::size_t all) const;
  template <class Job>
  void guarded(Job job);
  void choose();
  double tried(double share);

  std::string mode_;
  std::unique_ptr<accelerator::Device> device_;  // before the kernel, whose buffers need it to the end
  std::unique_ptr<DeviceClock> clock_;
  std::unique_ptr<ModeKernel> kernel_;
  Team& team_;
  double share_ = 0, to_device_ = 0, from_device_ = 0;
  std::vector<std::pair<double, double>> tried_;
  std::exception_ptr failure_;
  bool corrupt_ = false;
};

template <class K>
struct Modes : Moded {
  Modes(Params& p, Team& team)
      : Moded(p, team, [](Params& params, Team& members) -> std::unique_ptr<ModeKernel> {
          return std::make_unique<InModes<K>>(params, members);
        }) {}
};

}  // namespace steelyard
