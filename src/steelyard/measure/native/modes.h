// The three modes of work on a node: by threads, by a device, or by both together, each with a share.
//
//     struct Vector {
//       static constexpr std::size_t phases = 1;        // steps of an operation between which all meet
//       Vector(Params& p, Team& team);                  // parameters, memory, contents
//       std::size_t pieces(std::size_t phase) const;    // of the phase; they can be done in any order
//       std::size_t grain() const;                      // a share begins and ends at multiples of so many pieces
//       void threads(Worker w, std::size_t phase, std::size_t first, std::size_t last);  // the team: these pieces
//       void open(accelerator::Device& device);              // builds its kernels, gives buffers their contents
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
  virtual std::size_t pieces(std::size_t phase) const = 0;
  virtual std::size_t grain() const = 0;
  virtual void threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) = 0;
  virtual void open(accelerator::Device& device) = 0;
  virtual void device(std::size_t phase, std::size_t first, std::size_t last) = 0;
  virtual void forget(Team& team) = 0;
  virtual void exchange(std::size_t phase, std::size_t share) = 0;
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
  std::size_t pieces(std::size_t phase) const override { return kernel_.pieces(phase); }
  std::size_t grain() const override { return kernel_.grain(); }
  // Everything is inlined: without this, GCC leaves helpers out of line, and the sparse product loses 6 %.
  [[gnu::flatten]] void threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) override {
    kernel_.threads(w, phase, first, last);
  }
  [[gnu::cold]] void open(accelerator::Device& device) override { kernel_.open(device); }
  void device(std::size_t phase, std::size_t first, std::size_t last) override { kernel_.device(phase, first, last); }
  void forget(Team& team) override { kernel_.forget(team); }
  void exchange(std::size_t phase, std::size_t share) override { kernel_.exchange(phase, share); }
  void fetch(std::size_t share) override { kernel_.fetch(share); }
  [[gnu::cold]] Work work() const override { return kernel_.work(); }
  Check check() override { return kernel_.check(); }
  [[gnu::cold]] void corrupt() override { kernel_.corrupt(); }

 private:
  K kernel_;
};

// A kernel in the mode of the case.
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
  // Returns JSON: the device, its share of the work, the shares that were tried, the time to copy its data there and
  // back, and its clock between the samples.
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
