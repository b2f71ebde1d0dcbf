// Draws losses, and whom they concern.
#include "perturbation.h"

#include <numeric>

namespace steelyard::whatif {
namespace {

constexpr std::int64_t TAIL = 3;  // packets whose loss fewer than three duplicate acknowledgements tell of (RFC 5681)
constexpr Time LONGEST_RTO = 120'000'000'000'000;  // ps: TCP_RTO_MAX

}  // namespace

Losses::Losses(const Loss& loss, std::uint64_t seed, const std::vector<std::int64_t>& sizes)
    : loss_(loss), key_(seed), below_(threshold(loss.probability)) {
  if (!any()) return;
  if (!loss.once) control_ = chances(1);  // otherwise a message with rendezvous would wait three times
  for (std::int64_t bytes : sizes) chances_.push_back(chances(bytes));
}

Losses::Chances Losses::chances(std::int64_t bytes) const {
  if (loss_.mss == 0 || loss_.once) return {0, below_, true};
  const std::int64_t packets = std::max<std::int64_t>((bytes + loss_.mss - 1) / loss_.mss, 1);
  const std::int64_t tail = loss_.fast ? std::min(packets, TAIL) : packets;
  // At least one of n is lost with 1 - (1 - p)^n.
  auto some = [&](std::int64_t n) {
    return threshold(-std::expm1(static_cast<double>(n) * std::log1p(-loss_.probability)));
  };
  return {some(packets - tail), some(tail), packets > 1};
}

// A packet was lost; it is sent again until it arrives.
Time Losses::timed_out(std::uint64_t state, bool several, Time round_trip) const {
  if (loss_.once) return loss_.rto;
  const bool probe = loss_.probe > 0 && several;
  Time wait = loss_.rto, found = probe ? std::min(2 * round_trip + loss_.probe, wait) : wait;
  if (!probe && loss_.doubling) wait = std::min(2 * wait, std::max(LONGEST_RTO, loss_.rto));
  // A network on which everything is lost would never deliver it: after a hundred tries it is given up as delivered.
  for (int tries = 0; tries < 100 && mixed(state += 0x9e3779b97f4a7c15u) < below_; ++tries) {
    found += wait;
    if (loss_.doubling) wait = std::min(2 * wait, std::max(LONGEST_RTO, loss_.rto));
  }
  return found;
}

std::vector<bool> affected(const Scenario& scenario, std::uint32_t ranks) {
  std::vector<bool> found(ranks, scenario.affected >= 1);
  if (scenario.affected >= 1) return found;
  std::vector<std::uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  const auto wanted = static_cast<std::uint32_t>(std::llround(scenario.affected * ranks));
  for (std::uint32_t i = 0; i < wanted && i < ranks; ++i) {
    std::uint64_t pick = i + draw(scenario.seed, static_cast<std::uint64_t>(Drawn::affected), i) % (ranks - i);
    std::swap(order[i], order[pick]);
    found[order[i]] = true;
  }
  return found;
}

}  // namespace steelyard::whatif
