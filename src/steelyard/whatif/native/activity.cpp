// Adds up what ranks do, step by step.
#include "activity.h"

#include <algorithm>
#include <cmath>

#include "json.h"

namespace steelyard::whatif {

Activity::Activity(const Schedule& schedule, std::uint32_t together, std::size_t steps, Time span)
    : schedule_(schedule),
      together_(together),
      steps_(steps),
      width_(std::max(static_cast<double>(span), 1.0) / static_cast<double>(steps)),
      cells_(steps * ((schedule.ranks + together - 1) / together)) {}

void Activity::add_of_rank(std::uint32_t rank, Time begin, Time end, What what) {
  const std::size_t row = rank / together_ * steps_;
  const auto from = static_cast<double>(begin), to = static_cast<double>(end);
  for (auto step = static_cast<std::size_t>(from / width_); step < steps_; ++step) {
    const double low = static_cast<double>(step) * width_;
    if (low >= to) return;
    cells_[row + step][what] += std::max(std::min(to, low + width_) - std::max(from, low), 0.0);
  }
}

void Activity::sent(Time time) {
  const double place = time > 0 ? std::log10(static_cast<double>(time) / NANOSECOND) * BINS : 0;
  const std::size_t at = place > 0 ? static_cast<std::size_t>(place) : 0;
  if (sent_.size() <= at) sent_.resize(at + 1);
  ++sent_[at];
}

std::string Activity::said() const {
  json::Object out;
  for (What what : {computing, talking}) {
    std::vector<std::vector<double>> rows;
    for (std::size_t row = 0; row * steps_ < cells_.size(); ++row) {
      const auto first = static_cast<std::uint32_t>(row) * together_;
      const double whole = width_ * std::min(together_, schedule_.ranks - first);
      std::vector<double>& shares = rows.emplace_back();
      for (std::size_t step = 0; step < steps_; ++step) shares.push_back(cells_[row * steps_ + step][what] / whole);
    }
    out.add(what == computing ? "computing" : "talking", json::list(rows, json::list<double>));
  }
  return out.add("sent", json::list(sent_)).str();
}

}  // namespace steelyard::whatif
