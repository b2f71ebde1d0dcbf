// The members of a kernel, and its program: it reads cases from standard input and writes a JSON record for each.
//
//     struct Triad {
//       Triad(Params& p, Team& team);                // reads its parameters, allocates, fills
//       void run(Worker w, std::size_t operations);  // on every thread; the only thing that is timed
//       Work work() const;                           // what one operation does: bytes, flops, …
//       Check check();                               // must fail when run did not run
//       void corrupt();                              // makes one value of the result wrong: check must find it
//     };
//     int main() { return steelyard::serve({steelyard::kernel<Triad>("triad")}); }
//
// The sixth member is its state. `corrupt` is called once, between the samples and the check (plant=wrong). Where a
// kernel has them: `prepare(Worker, operations)` runs before each sample, untimed, `std::string details() const` is
// JSON that the record keeps: observations of the kernel besides its time, and `static constexpr bool whole = true`
// says that one operation is a whole run with its own untimed start: it has no warm-up and no repetition within a
// sample, and `prepare` runs before each operation. `static constexpr double sample_seconds` is the least length of a
// sample where the usual one is too short.
#pragma once
#include <cmath>
#include <concepts>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffers.h"
#include "clock.h"
#include "json.h"
#include "params.h"
#include "team.h"

namespace steelyard {

// Names are literals: otherwise each program would compile the construction of strings again.
using Work = std::vector<std::pair<const char*, double>>;

struct Check {
  bool passed;
  std::string detail;
};

template <class K>
concept Kernel = std::constructible_from<K, Params&, Team&> &&
                 requires(K kernel, const K& constant, Worker worker, std::size_t operations) {
                   kernel.run(worker, operations);
                   { constant.work() } -> std::same_as<Work>;
                   { kernel.check() } -> std::same_as<Check>;
                   kernel.corrupt();
                 };

// Prevents the compiler from removing a repetition: it must assume that the memory has changed.
inline void clobber() { asm volatile("" ::: "memory"); }
// Prevents the compiler from removing a result, without a store to memory.
template <class T>
void keep(const T& value) {
  asm volatile("" ::"g"(value) : "memory");
}

// The interface between a kernel and the harness. The harness is compiled once, and a program compiles only its loops.
class AnyKernel {
 public:
  virtual ~AnyKernel() = default;
  virtual Work work() const = 0;
  virtual Check check() = 0;
  virtual std::string details() const = 0;  // "" if the kernel has none
  virtual void corrupt() = 0;
  virtual bool whole() const = 0;
};
class ThreadKernel : public AnyKernel {
 public:
  virtual void prepare(Worker w, std::size_t operations) = 0;
  // Runs the kernel; called once per thread and sample. All callers use one copy of the loop, because two inlined
  // copies may differ by a percent through their alignment alone.
  virtual void run(Worker w, std::size_t operations) = 0;
};

// The common members of kernels of threads and of ranks.
template <class K, class Interface>
class Wrapped : public Interface {
 public:
  template <class Where>
  Wrapped(Params& p, Where& where) : kernel_(p, where) {}
  [[gnu::cold]] Work work() const override { return kernel_.work(); }
  Check check() override { return kernel_.check(); }
  [[gnu::cold]] std::string details() const override {
    if constexpr (requires { kernel_.details(); }) return kernel_.details();
    return "";
  }
  [[gnu::cold]] void corrupt() override { kernel_.corrupt(); }
  bool whole() const override {
    if constexpr (requires { K::whole; }) return K::whole;
    return false;
  }

 protected:
  K kernel_;
};

template <Kernel K>
class OnThreads final : public Wrapped<K, ThreadKernel> {
 public:
  using Wrapped<K, ThreadKernel>::Wrapped;
  void prepare(Worker w, std::size_t operations) override {
    if constexpr (requires { this->kernel_.prepare(w, operations); }) this->kernel_.prepare(w, operations);
  }
  void run(Worker w, std::size_t operations) override { this->kernel_.run(w, operations); }
};

struct NamedKernel {
  const char* name;
  std::unique_ptr<ThreadKernel> (*make)(Params&, Team&);
  double sample_seconds;
};
// Seconds of a sample at least: so that what is read between two samples (a few µs) costs little of the whole time.
inline constexpr double usual_sample = 2e-4;

template <Kernel K>
NamedKernel kernel(const char* name) {
  double sample = usual_sample;
  if constexpr (requires { K::sample_seconds; }) sample = K::sample_seconds;
  return {name,
          [](Params& params, Team& team) -> std::unique_ptr<ThreadKernel> {
            return std::make_unique<OnThreads<K>>(params, team);
          },
          sample};
}

// Runs cases until the input ends. Returns the exit code of the program.
int serve(std::vector<NamedKernel> kernels);

}  // namespace steelyard
