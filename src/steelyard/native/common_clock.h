// One clock for all ranks: each rank's offset from rank 0's clock, and its drift, measured by messages.
#pragma once
#include <limits>
#include <vector>

#include "clock.h"
#include "ranks.h"

namespace steelyard {

class CommonClock {
 public:
  // Measures again with every rank: the shortest round trip of `tries` gives the best offset (F. Cristian 1989). Every
  // rank must call it.
  void synchronise(const Ranks& ranks);

  // Seconds since the start of rank 0's clock, by this rank's estimate.
  [[gnu::always_inline]] double now() const { return at(local()); }
  // The uncertainty of the clock: half of the shortest round trip, since one way may take all of it.
  double uncertainty() const { return points_.empty() ? 0 : points_.back().round_trip / 2; }
  double offset() const { return points_.empty() ? 0 : points_.back().offset; }
  double drift() const { return drift_; }  // seconds per second, against rank 0
  // Difference of the newest measurement from the prediction by the older ones; NaN before there are two.
  double residual() const { return residual_; }

 private:
  struct Point {
    double at, offset, round_trip;
  };

  // RAW: no time server slews it, so that the drift between two machines is a straight line for hours.
  static double local() { return 1e-9 * static_cast<double>(monotonic_nanoseconds()); }
  double at(double local) const { return local + offset_ + drift_ * (local - origin_); }
  static void answer(MPI_Comm comm, int other, int tries);
  void ask(MPI_Comm comm, int tries);
  void fit();

  static constexpr std::size_t most = 64;
  static constexpr double shortest_base =
      0.5;  // s: over less, an error of 100 ns would look like a drift of 0.2 in a million
  std::vector<Point> points_;
  double origin_ = 0, offset_ = 0, drift_ = 0, residual_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace steelyard
