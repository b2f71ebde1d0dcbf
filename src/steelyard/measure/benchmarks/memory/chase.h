// Rings of cache lines in random order, and the walk along them: each step is a load that needs the one before it.
#pragma once
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernel.h"
#include "locality.h"

namespace steelyard {

struct alignas(64) Line {
  Line* next;
  Line* ahead;  // the line a sixteenth of the ring further, where parallel chains start
  std::size_t order;
};
static_assert(sizeof(Line) == 64);

constexpr std::size_t most_chains = 16;

// Links all lines of the memory into one ring. Each link jumps to a random line.
inline void link_ring(const Buffer<Line>& lines, std::uint64_t seed) {
  std::size_t n = lines.size(), sixteenth = n / most_chains;
  std::vector<std::uint32_t> place(n);
  std::iota(place.begin(), place.end(), 0u);
  Random random{seed};
  for (std::size_t i = n - 1; i > 0; --i)
    std::swap(place[i], place[static_cast<std::size_t>(random.uniform() * static_cast<double>(i + 1))]);
  auto at = [&](std::size_t order) { return &lines[place[order < n ? order : order - n]]; };
  for (std::size_t i = 0; i < n; ++i) {
    __builtin_prefetch(at(i + most_chains), 1);  // the lines to write are at random places in the memory
    *at(i) = {at(i + 1), at(i + sixteenth), i};
  }
}

// Base of the kernels that walk along rings: each of the first `walkers` workers has a private ring.
class CacheLineRings {
 public:
  CacheLineRings(Params& p, Team& team, std::size_t walkers)
      : lines_(p.count("bytes", 1 << 20) / sizeof(Line)), chains_(p.count("chains", 1)) {
    if (lines_ < most_chains || lines_ >= (std::size_t{1} << 32))
      throw CaseError("parameter bytes must be at least 1024 and below 2^38: a ring of 16 to 2^32 lines of 64 bytes");
    if (chains_ > most_chains || (chains_ & (chains_ - 1)) != 0 || chains_ == 0)
      throw CaseError(join({"parameter chains='", chains_, "' must be one of: 1, 2, 4, 8, 16"}));
    rings_ = Buffer<Line>::one_each(lines_, MemoryPolicy(p), team, walkers);
    heads_.resize(walkers);
    team.each([&](Worker w) {
      if (w.index >= walkers) return;
      if (!rings_[w.index].still_holds("ring")) link_ring(rings_[w.index], 1 + w.index);
      Line* start = rings_[w.index].data();
      for (std::size_t c = 0; c < most_chains; ++c, start = start->ahead)
        if (c % (most_chains / chains_) == 0) heads_[w.index].at[c / (most_chains / chains_)] = start;
      settle_in_cache(w.index);
    });
    for (auto& ring : rings_) ring.promise("ring");
  }

  void walk(std::size_t walker, std::size_t steps) {
    switch (chains_) {
      case 1:
        return walk_chains<1>(heads_[walker], steps);
      case 2:
        return walk_chains<2>(heads_[walker], steps);
      case 4:
        return walk_chains<4>(heads_[walker], steps);
      case 8:
        return walk_chains<8>(heads_[walker], steps);
      default:
        return walk_chains<16>(heads_[walker], steps);
    }
  }
  std::size_t chains() const { return chains_; }

  // Checks that every chain stands on the line after its number of steps, and that it made some steps.
  Check check() const {
    for (const Heads& heads : heads_) {
      if (heads.steps == 0) return {false, "no step was made"};
      for (std::size_t c = 0; c < chains_; ++c)
        if (std::size_t due = (heads.first[c] + heads.steps) % lines_; heads.at[c]->order != due)
          return {false, join({"chain ", c, " stands on line ", heads.at[c]->order, " of the ring, not on ", due})};
    }
    return {true, "every chain stands where its steps lead"};
  }
  // Moves one chain a step too far.
  void corrupt() {
    Line*& at = heads_.back().at.front();
    at = at->next;
  }

 private:
  struct alignas(128) Heads {
    std::array<Line*, most_chains> at{};
    std::array<std::size_t, most_chains> first{};
    std::size_t steps = 0;
  };

  // Before the timed part, the chains go once round the ring together, so that the caches have the content of this walk
  // and not that of the linking: its last lines, which some chains would meet at once. A single chain would meet them
  // last, and only needs warm caches. At most 4 million steps: 0.4 s in the memory.
  void settle_in_cache(std::size_t walker) {
    const std::size_t most_steps = chains_ == 1 ? 1 << 18 : 1 << 22;
    Heads& heads = heads_[walker];
    walk(walker, std::min(lines_ / chains_, most_steps));
    for (std::size_t c = 0; c < chains_; ++c) heads.first[c] = heads.at[c]->order;
    heads.steps = 0;
  }

  template <std::size_t Chains>
  static void walk_chains(Heads& heads, std::size_t steps) {
    Line* at[Chains];  // in registers; the sixteenth no longer is where there are only sixteen
    for (std::size_t c = 0; c < Chains; ++c) at[c] = heads.at[c];
    for (std::size_t i = 0; i < steps; ++i)
#pragma GCC unroll 16
      for (std::size_t c = 0; c < Chains; ++c) at[c] = at[c]->next;
    for (std::size_t c = 0; c < Chains; ++c) heads.at[c] = at[c];
    heads.steps += steps;
  }

  std::size_t lines_, chains_;
  std::vector<Buffer<Line>> rings_;
  std::vector<Heads> heads_;
};

// One operation is one step of each chain.
struct PointerChase {
  CacheLineRings rings;
  std::size_t walkers;

  PointerChase(Params& p, Team& team) : rings(p, team, team.size()), walkers(team.size()) {}
  void run(Worker w, std::size_t operations) { rings.walk(w.index, operations); }
  Work work() const {
    double accesses = static_cast<double>(rings.chains() * walkers);
    return {{"accesses", accesses}, {"bytes", sizeof(Line) * accesses}};
  }
  Check check() { return rings.check(); }
  void corrupt() { rings.corrupt(); }
};

}  // namespace steelyard
