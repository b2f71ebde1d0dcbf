// The disturbances of the scenarios that are replayed at once. Both modes use them, so that they agree.
#pragma once
#include <unordered_map>

#include "perturbation.h"

namespace steelyard::whatif {

// The connection of each message, by source and target: a lost message delays those that were sent after it.
struct Connections {
  std::vector<std::uint32_t> of;
  std::uint32_t count = 0;
};
inline Connections connections(const Schedule& schedule) {
  Connections found;
  found.of.resize(schedule.source.size());
  std::unordered_map<std::uint32_t, std::uint32_t> known;  // of one source, by target
  for (std::size_t message = 0; message < schedule.source.size(); ++message) {
    if (message > 0 && schedule.source[message] != schedule.source[message - 1]) known.clear();
    const auto [at, added] = known.try_emplace(schedule.target[message], found.count);
    found.count += added;
    found.of[message] = at->second;
  }
  return found;
}

template <int W>
class Disturbance {
 public:
  Disturbance(const Prepared& prepared, const Connections* connections, const Scenario* scenarios)
      : connections_(connections) {
    const Schedule& schedule = *prepared.schedule;
    bool noisy = false, several = false;
    for (int w = 0; w < W; ++w) {
      const Scenario& scenario = scenarios[w];
      slower_[w] = 1 / scenario.core;
      several = several || !scenario.speeds.empty();
      losses_[w] = Losses(scenario.loss, scenario.seed, schedule.sizes);
      lossy_ = lossy_ || losses_[w].any();
      noisy = noisy || scenario.noise.any();
      periodic_[w] = scenario.noise.any() && scenario.noise.probability == 0;
      if (scenario.affected < 1) affected_[w] = affected(scenario, schedule.ranks);
    }
    if (lossy_) last_.resize(std::size_t{connections->count} * W, 0);
    if (noisy) prepare_noise(schedule, scenarios);
    if (several) differ(prepared, scenarios);
  }

  // Returns when a computation of this time ends.
  Time computed(std::uint32_t stream, int w, Time now, Time time) {
    const double slower = own_.empty() ? slower_[w] : own_[stream * W + w];
    const Time own = slower == 1 ? time : scaled(time, slower);
    return noise_.empty() ? later(now, own) : std::min(noise_[stream * W + w].end(now, own), STOPPED);
  }
  // Returns when the processor's overhead of a message ends. Noise with a probability does not affect it.
  Time end_computation(std::uint32_t stream, int w, Time now, Time time) {
    return periodic_[w] ? std::min(noise_[stream * W + w].end(now, time), STOPPED) : later(now, time);
  }
  // Tells that a rank enters another region.
  void enter(std::uint32_t stream, std::uint64_t region) {
    if (own_.empty()) return;
    for (int w = 0; w < W; ++w) {
      double speed = fixed_[stream * W + w];
      for (const Speed& one : regions_[w])
        if (one.first <= region && region <= one.last) speed *= one.factor;
      own_[stream * W + w] = 1 / speed;
    }
  }
  bool lossy() const { return lossy_; }
  // Returns the delay by loss of message `which`, whose size has the number `size`.
  Time lost(int w, std::uint32_t source, std::uint32_t target, std::uint64_t which, std::uint32_t size,
            Time round_trip) const {
    if (!losses_[w].any()) return 0;
    if (!affected_[w].empty() && !affected_[w][source] && !affected_[w][target]) return 0;
    return losses_[w].delay(which, size, round_trip);
  }
  // Returns the delay of the n-th copy of a lost message.
  Time resent(int w, std::uint64_t which, std::uint32_t copy, Time round_trip) const {
    return losses_[w].resent(which, copy, round_trip);
  }
  // Returns whether later packets of a connection reveal a loss.
  bool reveals(int w) const { return losses_[w].reveals(); }
  // Returns the arrival of a message, which is after all earlier ones of its connection.
  Time in_order(int w, std::uint32_t message, Time arrival) {
    if (!losses_[w].any()) return arrival;
    Time& last = last_[std::size_t{connections_->of[message]} * W + w];
    return last = std::max(arrival, last);
  }

 private:
  void prepare_noise(const Schedule& schedule, const Scenario* scenarios) {
    noise_.resize(schedule.rank_of.size() * W);
    for (std::uint32_t stream = 0; stream < schedule.rank_of.size(); ++stream)
      for (int w = 0; w < W; ++w)
        if (const std::uint32_t rank = schedule.rank_of[stream]; affected_[w].empty() || affected_[w][rank])
          noise_[stream * W + w] = Interruptions(scenarios[w].noise, scenarios[w].seed, rank);
  }

  void differ(const Prepared& prepared, const Scenario* scenarios) {
    const auto& rank_of = prepared.schedule->rank_of;
    fixed_.resize(rank_of.size() * W);
    own_.resize(fixed_.size());
    for (int w = 0; w < W; ++w)
      for (const Speed& one : scenarios[w].speeds)
        if (one.of == Speed::region) regions_[w].push_back(one);
    for (std::uint32_t stream = 0; stream < rank_of.size(); ++stream) {
      for (int w = 0; w < W; ++w) {
        double& speed = fixed_[stream * W + w] = scenarios[w].core;
        for (const Speed& one : scenarios[w].speeds) {
          const std::uint64_t place = one.of == Speed::node ? prepared.node(rank_of[stream]) : rank_of[stream];
          if (one.of != Speed::region && one.first <= place && place <= one.last) speed *= one.factor;
        }
      }
      enter(stream, 0);
    }
  }

  const Connections* connections_;
  std::array<double, W> slower_{};
  std::vector<double> fixed_,
      own_;  // by stream and scenario: speed outside of regions; present factor of computing times
  std::array<std::vector<Speed>, W> regions_{};
  std::array<bool, W> periodic_{};
  std::array<Losses, W> losses_{};
  std::array<std::vector<bool>, W> affected_{};
  std::vector<Interruptions> noise_;  // by stream and scenario
  std::vector<Time> last_;            // arrival on each connection
  bool lossy_ = false;
};

}  // namespace steelyard::whatif
