// A clock that all ranks share: messages measure the offset and the drift of each rank's clock from rank 0's clock.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "clock.h"
#include "ranks.h"

namespace steelyard {

class CommonClock {
 public:
  // Measures all offsets again. The shortest round trip of `tries` gives the best offset (F. Cristian 1989).
  // Every rank must call it.
  void synchronise(const Ranks& ranks) {
    constexpr int tries = 60;  // on an idle pair the least of 60 is within some ten nanoseconds of the least of 1000
    // One after the other, so many ranks would need seconds before each case. The ranks of a machine read one clock.
    // If they share processors, a message would only measure the scheduler.
    const auto asking = [&](const std::vector<int>& here) {
      const bool crowded = here.size() > static_cast<std::size_t>(ranks.place(here.front()).processors);
      return crowded ? 1 : std::min(here.size(), std::max<std::size_t>(1, most_asking / ranks.machines().size()));
    };
    for (const std::vector<int>& here : ranks.machines())
      for (std::size_t i = 0; i < asking(here); ++i) {
        if (here[i] == 0) continue;
        if (ranks.rank() == 0) answer_other_clock(ranks.comm(), here[i], tries);
        if (ranks.rank() == here[i]) ask_other_clock(ranks.comm(), tries);
        // A rank without a turn sleeps: on a crowded machine it would otherwise disturb the others.
      }
    adopt(ranks, asking(ranks.on_this_machine()));
    ranks.rest();
    fit();
  }

  // Returns the seconds since the start of rank 0's clock, as this rank estimates them.
  [[gnu::always_inline]] double now() const { return at(local_seconds()); }
  // Returns the uncertainty of the clock: half of the shortest round trip, because one way may take all of it.
  double uncertainty() const { return points_.empty() ? 0 : points_.back().round_trip / 2; }
  double offset() const { return points_.empty() ? 0 : points_.back().offset; }
  double drift() const { return drift_; }  // seconds per second, against rank 0
  // Returns the difference of the newest offset from the prediction by older ones; NaN before there are two.
  double residual() const { return residual_; }

 private:
  struct Point {
    double at, offset, round_trip;
  };

  // RAW: no time server slews it, so that the drift between two machines is a straight line for hours.
  static double local_seconds() { return 1e-9 * static_cast<double>(monotonic_nanoseconds()); }
  double at(double local) const { return local + offset_ + drift_ * (local - origin_); }
  static void answer_other_clock(MPI_Comm comm, int other, int tries) {
    for (int i = 0; i < tries; ++i) {
      MPI_Recv(nullptr, 0, MPI_BYTE, other, 2, comm, MPI_STATUS_IGNORE);
      double now = local_seconds();
      MPI_Send(&now, 1, MPI_DOUBLE, other, 2, comm);
    }
  }
  void ask_other_clock(MPI_Comm comm, int tries) {
    Point best{0, 0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < tries; ++i) {
      double there = 0, before = local_seconds();
      MPI_Send(nullptr, 0, MPI_BYTE, 0, 2, comm);
      MPI_Recv(&there, 1, MPI_DOUBLE, 0, 2, comm, MPI_STATUS_IGNORE);
      double after = local_seconds();
      if (after - before < best.round_trip) best = {after, there - (before + after) / 2, after - before};
    }
    add(best);
  }
  void add(const Point& best) {
    residual_ = points_.empty() ? std::numeric_limits<double>::quiet_NaN()
                                : best.offset - (offset_ + drift_ * (best.at - origin_));
    points_.push_back(best);
    if (points_.size() > most) points_.erase(points_.begin());
  }
  // Ranks that did not ask get the newest point of the first rank of their machine.
  void adopt(const Ranks& ranks, std::size_t asking) {
    const std::vector<int>& here = ranks.on_this_machine();
    Point best = points_.empty() ? Point{local_seconds(), 0, 0} : points_.back();
    for (std::size_t i = asking; i < here.size(); ++i) {
      if (ranks.rank() == here.front()) MPI_Send(&best, 3, MPI_DOUBLE, here[i], 2, ranks.comm());
      if (ranks.rank() == here[i]) {
        MPI_Recv(&best, 3, MPI_DOUBLE, here.front(), 2, ranks.comm(), MPI_STATUS_IGNORE);
        add(best);
      }
    }
  }
  // Fits a straight line through the offsets (least squares). Its base is the last offset, so that old errors fade.
  void fit() {
    if (points_.empty()) return;
    origin_ = points_.back().at;
    offset_ = points_.back().offset;
    drift_ = 0;
    if (origin_ - points_.front().at < shortest_base) return;
    double products = 0, squares = 0;
    for (const Point& p : points_) {
      products += (p.at - origin_) * (p.offset - offset_);
      squares += (p.at - origin_) * (p.at - origin_);
    }
    if (squares > 0) drift_ = products / squares;
  }

  static constexpr std::size_t most = 64, most_asking = 64;
  static constexpr double shortest_base =
      0.5;  // s: in a shorter time, an error of 100 ns would look like a drift of 0.2 in a million
  std::vector<Point> points_;
  double origin_ = 0, offset_ = 0, drift_ = 0, residual_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace steelyard
