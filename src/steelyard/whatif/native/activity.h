// The activity of the ranks in each step of a replay's time, and the times of messages from sender to receiver.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "json.h"
#include "schedule.h"

namespace steelyard::whatif {

class Activity {
 public:
  enum What : std::uint8_t { computing, talking };
  static constexpr int BINS = 10;  // bins of the times of messages in each decade; the first begins at 1 ns

  // Rows of `together` ranks; `span` is the time of all steps.
  Activity(const Schedule& schedule, std::uint32_t together, std::size_t steps, Time span)
      : schedule_(schedule),
        together_(together),
        steps_(steps),
        width_(std::max(static_cast<double>(span), 1.0) / static_cast<double>(steps)),
        cells_(steps * ((schedule.ranks + together - 1) / together)) {}
  void add(std::uint32_t stream, Time begin, Time end, What what) {
    add_of_rank(schedule_.rank_of[stream], begin, end, what);
  }
  // Neither is inlined: most replays have no timeline, and would pay for the code.
  [[gnu::noinline]] void add_of_rank(std::uint32_t rank, Time begin, Time end, What what) {
    const std::size_t row = rank / together_ * steps_;
    const auto from = static_cast<double>(begin), to = static_cast<double>(end);
    for (auto step = static_cast<std::size_t>(from / width_); step < steps_; ++step) {
      const double low = static_cast<double>(step) * width_;
      if (low >= to) return;
      cells_[row + step][what] += std::max(std::min(to, low + width_) - std::max(from, low), 0.0);
    }
  }
  // Adds a message that arrives this time after it was given to the network.
  [[gnu::noinline]] void sent(Time time) {
    const double place = time > 0 ? std::log10(static_cast<double>(time) / NANOSECOND) * BINS : 0;
    const std::size_t at = place > 0 ? static_cast<std::size_t>(place) : 0;
    if (sent_.size() <= at) sent_.resize(at + 1);
    ++sent_[at];
  }
  // Returns JSON: shares of each step's time by row. All streams of a rank count.
  std::string said() const {
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

 private:
  const Schedule& schedule_;
  std::uint32_t together_;
  std::size_t steps_;
  double width_;
  std::vector<std::array<double, 2>> cells_;  // ps, by row and step
  std::vector<std::uint64_t> sent_;
};

}  // namespace steelyard::whatif
