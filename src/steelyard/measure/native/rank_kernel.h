// The members of a kernel of many ranks, and its program: rank 0 reads the cases and writes the records.
//
//     struct PingPong {
//       PingPong(Params& p, Ranks& ranks);  // every rank reads the parameters, allocates, fills
//       void run(std::size_t operations);   // on every rank that takes part, from a common start; all that is timed
//       Work work() const;                  // what one operation of all ranks together does: bytes, messages …
//       Check check();                      // on every rank; must fail on one of them when run did not run
//       void corrupt();                     // on every rank: makes a value wrong, which check must find on one of them
//     };
//     int main(int argc, char** argv) {
//       return steelyard::serve_ranks(argc, argv, {steelyard::rank_kernel<PingPong>("pingpong")});
//     }
//
// Where a kernel has them: `bool active() const` (whether this rank takes part; the others sleep),
// `prepare(operations)` (before each sample, untimed), `std::string details() const` (JSON, at rank 0: what it observed
// besides its time), `whole` as in kernel.h, and `static constexpr const char* start` ("barrier" or "clock": how its
// samples begin unless the case says otherwise).
#pragma once
#include "kernel.h"
#include "ranks.h"

namespace steelyard {

template <class K>
concept RankKernel =
    std::constructible_from<K, Params&, Ranks&> && requires(K kernel, const K& constant, std::size_t operations) {
      kernel.run(operations);
      { constant.work() } -> std::same_as<Work>;
      { kernel.check() } -> std::same_as<Check>;
      kernel.corrupt();
    };

// The same interface as ThreadKernel, for one rank.
class RankKernelInterface : public AnyKernel {
 public:
  virtual void prepare(std::size_t operations) = 0;
  virtual void run(std::size_t operations) = 0;
  virtual bool active() const = 0;
};

template <RankKernel K>
class OnRanks final : public Wrapped<K, RankKernelInterface> {
 public:
  using Wrapped<K, RankKernelInterface>::Wrapped;
  void prepare(std::size_t operations) override {
    if constexpr (requires { this->kernel_.prepare(operations); }) this->kernel_.prepare(operations);
  }
  void run(std::size_t operations) override { this->kernel_.run(operations); }
  bool active() const override {
    if constexpr (requires { this->kernel_.active(); }) return this->kernel_.active();
    return true;
  }
};

struct NamedRankKernel {
  const char* name;
  std::unique_ptr<RankKernelInterface> (*make)(Params&, Ranks&);
  const char* start;
};

template <RankKernel K>
NamedRankKernel rank_kernel(const char* name) {
  const char* start = "barrier";
  if constexpr (requires { K::start; }) start = K::start;
  return {name,
          [](Params& params, Ranks& ranks) -> std::unique_ptr<RankKernelInterface> {
            return std::make_unique<OnRanks<K>>(params, ranks);
          },
          start};
}

// Runs cases until the input ends. Returns the exit code of the program.
int serve_ranks(int argc, char** argv, std::vector<NamedRankKernel> kernels);

}  // namespace steelyard
