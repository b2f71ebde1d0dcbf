// The disturbances of a replay: lost packets, system noise, and changed speeds of cores. Each draw is a function of the
// seed, the scenario and the operation alone, so that no order of ranks and no number of threads changes a result.
#pragma once
#include <cstdint>
#include <numeric>

#include "network.h"
#include "recorded_noise.h"

namespace steelyard::whatif {

// 64 random bits for a key; two rounds of Steele, Lea and Flood's mixer (SplitMix, OOPSLA 2014).
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
inline std::uint64_t draw(std::uint64_t key, std::uint64_t what, std::uint64_t which) {
  return mixed(mixed(key + what * 0x9e3779b97f4a7c15u) + which * 0xd1342543de82ef95u);
}
// A computation on cores of another speed.
inline Time scaled(Time time, double slower) {
  return static_cast<Time>(std::min(static_cast<double>(time) * slower + 0.5, static_cast<double>(LONGEST)));
}
// Returns whether an event of probability p happens: the share p of all draws lies below it.
inline std::uint64_t threshold(double probability) {
  if (probability >= 1) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

// The purposes of draws, so that draws for different purposes never share a key.
enum class Drawn : std::uint64_t { loss, burst, phase, affected, resent };

// TCP on a lossy network. A packet lost before the last few is noticed by those after it and sent again at once (fast
// retransmit: one round trip); one of the last waits for the timer, which doubles with each further loss.
struct Loss {
  double probability = 0;      // of each packet, or of each message
  Time rto = 200'000'000'000;  // ps; the least that Linux waits (TCP_RTO_MIN)
  std::int64_t mss = 1448;     // B in a packet; 0: the probability is that of a message
  bool doubling = true;        // RFC 6298, 5.5
  bool fast = true;            // fast retransmit (RFC 5681, 3.2)
  // Tail-loss probe (RFC 8985, 7.2): of several packets the last one is sent again two round trips and this time later,
  // ps; 0: none. One packet alone waits for the timer, as its receiver may be late with the acknowledgement.
  Time probe = 0;
  bool sack = false;  // later packets of the connection reveal a loss (RFC 2018); only in event mode
  bool once = false;  // each lost message, of any size, waits exactly one time-out; the probability may be 1
};

// Periodic interruptions, or one before a computation with some probability.
struct Noise {
  Time period = 0, duration = 0;             // ps; duration 0: none
  double probability = 0;                    // of a computation, if not 0; there is no period then
  bool together = false;                     // all ranks are interrupted at the same moments
  const RecordedNoise* recording = nullptr;  // instead of period and duration

  bool any() const { return duration > 0 || recording; }
};

// Cores that are `factor` times as fast as the others: of ranks, of nodes, or of all ranks in regions; the first and
// the last of them. Where several hold, their factors multiply.
struct Speed {
  enum Of : std::uint8_t { rank, node, region } of = rank;
  double factor = 1;
  std::uint64_t first = 0, last = 0;
};

// The conditions of one scenario.
struct Scenario {
  Links across, within;
  Links same_cache{}, same_socket{};  // empty: as within

  const Links& links(std::uint32_t c) const {
    if (c >= whatif::across) return across;
    const Links& near = c == whatif::same_cache ? same_cache : same_socket;
    return c == whatif::within || near.empty() ? within : near;
  }
  std::array<Uplink, LEVELS> uplinks{};
  double core = 1;  // speed of the cores, against those of the trace
  std::vector<Speed> speeds{};
  Loss loss{};
  Noise noise{};
  double affected = 1;  // share of the ranks with loss and noise
  std::uint64_t seed = 1;
};

// The noise of one rank in one scenario.
class Interruptions {
 public:
  Interruptions() = default;
  Interruptions(const Noise& noise, std::uint64_t seed, std::uint32_t rank)
      : noise_(noise),
        key_(draw(seed, static_cast<std::uint64_t>(Drawn::burst), rank)),
        below_(threshold(noise.probability)) {
    const Time period = noise.recording ? noise.recording->length() : noise.period;
    if (period > 0 && noise.probability == 0)
      phase_ = static_cast<Time>(draw(seed, static_cast<std::uint64_t>(Drawn::phase), noise.together ? 0 : rank) %
                                 static_cast<std::uint64_t>(period));
  }

  // Returns the end of work of this time that begins at `now`.
  Time end(Time now, Time work) {
    if (noise_.recording) return noise_.recording->end(now, work, phase_);
    if (noise_.duration == 0) return now + work;
    if (noise_.probability > 0)
      return now + work + (mixed(key_ + count_++ * 0x9e3779b97f4a7c15u) < below_ ? noise_.duration : 0);
    if (work == 0) return now;
    // The interruptions begin at phase + k period.
    const Time free = noise_.period - noise_.duration;
    Time in = (now - phase_) % noise_.period;
    if (in < 0) in += noise_.period;
    if (in < noise_.duration) {
      now += noise_.duration - in;
      in = noise_.duration;
    }
    const Time rest = noise_.period - in;
    if (work <= rest) return now + work;
    return now + work + ((work - rest - 1) / free + 1) * noise_.duration;
  }

 private:
  Noise noise_{};
  std::uint64_t key_ = 0, below_ = 0, count_ = 0;
  Time phase_ = 0;
};

// A message with rendezvous has three legs: the request, the answer, and the data.
constexpr std::uint64_t DATA = 2;

constexpr std::int64_t TAIL = 3;  // packets whose loss fewer than three duplicate acknowledgements tell of (RFC 5681)
constexpr Time LONGEST_RTO = 120'000'000'000'000;  // ps: TCP_RTO_MAX

// Draws the delays of messages.
class Losses {
 public:
  static constexpr std::uint32_t CONTROL = ~0u;  // the size of requests and answers: one packet

  Losses() = default;
  Losses(const Loss& loss, std::uint64_t seed, const std::vector<std::int64_t>& sizes)
      : loss_(loss), key_(seed), below_(threshold(loss.probability)) {
    if (!any()) return;
    if (!loss.once) control_ = chances(1);  // with `once`, a rendezvous must not wait for each of its three messages
    for (std::int64_t bytes : sizes) chances_.push_back(chances(bytes));
  }
  bool any() const { return loss_.probability > 0; }

  // Returns the delay of message `which` by losses. `size` is the index of its size in `chances_`, or CONTROL.
  Time delay(std::uint64_t which, std::uint32_t size, Time round_trip) const {
    const Chances& chance = size == CONTROL ? control_ : chances_[size];
    const std::uint64_t key = draw(key_, static_cast<std::uint64_t>(Drawn::loss), which);
    // A message is drawn for a fast repetition and for a time-out; most messages have neither.
    const bool again = mixed(key + 1) < chance.again, late = mixed(key + 2) < chance.late;
    return (again ? round_trip : 0) + (late ? delay_by_timeout(key + 2, chance.several, round_trip) : 0);
  }
  // Returns the delay of the n-th copy, one packet, which is sent again because later packets arrived.
  Time resent(std::uint64_t which, std::uint32_t copy, Time round_trip) const {
    const std::uint64_t key = draw(draw(key_, static_cast<std::uint64_t>(Drawn::resent), which), copy, 0);
    return mixed(key) < below_ ? delay_by_timeout(key, false, round_trip) : 0;
  }
  bool reveals() const { return loss_.sack; }

 private:
  // Thresholds of the draws: a packet before the tail is lost; a packet of the tail is lost.
  struct Chances {
    std::uint64_t again = 0, late = 0;
    bool several = true;  // whether the message has several packets
  };
  Chances chances(std::int64_t bytes) const {
    if (loss_.mss == 0 || loss_.once) return {0, below_, true};
    const std::int64_t packets = std::max<std::int64_t>((bytes + loss_.mss - 1) / loss_.mss, 1);
    const std::int64_t tail = loss_.fast ? std::min(packets, TAIL) : packets;
    // The probability that at least one of n packets is lost is 1 - (1 - p)^n.
    auto some = [&](std::int64_t n) {
      return threshold(-std::expm1(static_cast<double>(n) * std::log1p(-loss_.probability)));
    };
    return {some(packets - tail), some(tail), packets > 1};
  }
  // Returns the delay by time-outs: a lost packet is sent again until it arrives.
  Time delay_by_timeout(std::uint64_t state, bool several, Time round_trip) const {
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

  Loss loss_{};
  std::uint64_t key_ = 0, below_ = 0;
  Chances control_{};
  std::vector<Chances> chances_;
};

// The ranks with loss and noise: the same number of them in each scenario, drawn at random.
inline std::vector<bool> affected(const Scenario& scenario, std::uint32_t ranks) {
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
