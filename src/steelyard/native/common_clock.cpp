// Measures the offsets of the ranks' clocks.
#include "common_clock.h"

namespace steelyard {

void CommonClock::synchronise(const Ranks& ranks) {
  constexpr int tries = 60;  // on an idle pair the least of 60 is within some ten nanoseconds of the least of 1000
  for (int other = 1; other < ranks.size(); ++other) {
    if (ranks.rank() == 0) answer(ranks.comm(), other, tries);
    if (ranks.rank() == other) ask(ranks.comm(), tries);
    // Whoever has no turn waits asleep: on a crowded machine it would only stand in the way.
  }
  ranks.rest();
  fit();
}

void CommonClock::answer(MPI_Comm comm, int other, int tries) {
  for (int i = 0; i < tries; ++i) {
    MPI_Recv(nullptr, 0, MPI_BYTE, other, 2, comm, MPI_STATUS_IGNORE);
    double now = local();
    MPI_Send(&now, 1, MPI_DOUBLE, other, 2, comm);
  }
}
void CommonClock::ask(MPI_Comm comm, int tries) {
  Point best{0, 0, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < tries; ++i) {
    double there = 0, before = local();
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 2, comm);
    MPI_Recv(&there, 1, MPI_DOUBLE, 0, 2, comm, MPI_STATUS_IGNORE);
    double after = local();
    if (after - before < best.round_trip) best = {after, there - (before + after) / 2, after - before};
  }
  residual_ = points_.empty() ? std::numeric_limits<double>::quiet_NaN()
                              : best.offset - (offset_ + drift_ * (best.at - origin_));
  points_.push_back(best);
  if (points_.size() > most) points_.erase(points_.begin());
}
// A straight line through the offsets by least squares; the last one is its base, so that old errors fade.
void CommonClock::fit() {
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

}  // namespace steelyard
