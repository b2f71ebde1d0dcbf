// Sums over the threads of an NPB program, which are equal in all runs with the same number of threads.
#pragma once
#include <array>
#include <vector>

#include "team.h"

namespace steelyard::npb {

// Returns sums over all threads: each thread passes its share and gets the total, in the order of the threads. Two sets
// of shares take turns, so that a sum needs one barrier only.
class ThreadSum {
 public:
  static constexpr std::size_t most = 7;  // numbers that can be added in one call

  explicit ThreadSum(Team& team) : barrier_(team.barrier()), shares_(2 * team.size()), turns_(team.size()) {}

  double operator()(Worker w, double mine) {
    std::array<double, 1> one{mine};
    return (*this)(w, one)[0];
  }
  template <std::size_t n>
  std::array<double, n> operator()(Worker w, std::array<double, n> mine) {
    static_assert(n <= most);
    std::size_t first = turns_[w.index].now * w.size;
    turns_[w.index].now ^= 1;
    std::copy(mine.begin(), mine.end(), shares_[first + w.index].values.begin());
    barrier_.wait();
    std::array<double, n> out{};
    for (std::size_t t = 0; t < w.size; ++t)
      for (std::size_t i = 0; i < n; ++i) out[i] += shares_[first + t].values[i];
    return out;
  }

 private:
  struct alignas(64) Share {
    std::array<double, most> values;
  };
  struct alignas(64) Turn {
    std::size_t now = 0;
  };
  TeamBarrier& barrier_;
  std::vector<Share> shares_;
  std::vector<Turn> turns_;
};

}  // namespace steelyard::npb
