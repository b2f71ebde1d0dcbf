// Replays without contention: each rank runs until it needs a message that was not sent yet. The order in which ranks
// run depends on no time, so that `W` scenarios are replayed at once, and no queue of events is needed.
#pragma once
#include <memory>

#include "activity.h"
#include "cost.h"
#include "disturbance.h"
#include "path.h"

namespace steelyard::whatif {

// The times of each stream, in ps.
struct Account {
  Time computing = 0, talking = 0, waiting = 0, end = 0;

  Account ended(Time at) const { return {computing, talking, at - computing - talking, at}; }
};

// Returns the sentence about streams that wait for a message that never comes.
inline std::string describe_stuck(const Prepared& prepared, std::uint32_t stream, Op op) {
  const Schedule& schedule = *prepared.schedule;
  auto rank = [](std::uint32_t number) { return "rank " + std::to_string(number); };
  const std::string who = rank(schedule.rank_of[stream]) + " waits forever: ";
  switch (op.kind()) {
    case Kind::receive:
      return who + "for a message of " + rank(schedule.source[op.message()]);
    case Kind::receive_rendezvous:
      return who + "for a message of " + rank(prepared.source[op.message()]);
    case Kind::sent:
      return who + "its message to " + rank(prepared.target[op.message()]) +
             " is larger than the eager limit, and its receive never begins";
    case Kind::receive_all:
      return who + "for one of several messages";
    default:
      return who + "for another processor of its own";
  }
}

// `Disturbed`: with loss, noise or changed cores. Without it the code skips all of these. `Queues`: the class, derived
// from this one, that carries messages between nodes in the order of time (events.h); void: no message waits for
// another.
template <int W, bool Disturbed, class Queues = void>
class Dataflow {
 public:
  Dataflow(const Prepared& prepared, const Connections* connections, const Scenario* scenarios)
      : p_(prepared), schedule_(*prepared.schedule), cost_(costs<W>(schedule_, scenarios)) {
    slot_of_.assign(schedule_.source.size() + schedule_.signals, UNSENT);
    meetings_.resize(p_.rendezvous);
    states_.resize(p_.begins.size());
    if constexpr (Disturbed) disturbance_ = std::make_unique<Disturbance<W>>(p_, connections, scenarios);
  }

  // Returns the end of each scenario. Refused names a rank that waits forever.
  Times<W> run() {
    ready_.resize(states_.size());
    for (std::uint32_t stream = 0; stream < states_.size(); ++stream) {
      states_[stream].at = p_.ops.data() + p_.begins[stream];
      ready_[states_.size() - 1 - stream] = stream;
    }
    advance_ready();
    if constexpr (QUEUED) static_cast<Queues*>(this)->deliver();
    Times<W> end{};
    for (std::uint32_t stream = 0; stream < states_.size(); ++stream) {
      if (states_[stream].at->kind() != Kind::end) throw Refused(describe_stuck(p_, stream, *states_[stream].at));
      for (int w = 0; w < W; ++w) end[w] = std::max(end[w], states_[stream].now[w]);
    }
    for (Time time : end) predicted(time);
    return end;
  }

  // Call before `run`: keeps the data for the critical path of the first scenario.
  void record() {
    recorder_ =
        std::make_unique<PathRecorder>(schedule_.source.size() + schedule_.signals, p_.rendezvous, states_.size());
  }
  // Call before `run`: adds the activity of the ranks to it.
  void watch(Activity* activity) { activity_ = activity; }
  // Call after `run`.
  Path path() {
    std::uint32_t last = 0;
    for (std::uint32_t stream = 1; stream < states_.size(); ++stream)
      if (states_[stream].now[0] > states_[last].now[0]) last = stream;
    return recorder_->path(schedule_, place(last, states_[last].now[0]));
  }

  // Results of the first scenario.
  std::vector<Account> accounts() const {
    std::vector<Account> found;
    for (const State& state : states_) found.push_back(state.account.ended(state.now[0]));
    return found;
  }

 protected:
  static constexpr bool QUEUED = !std::is_void_v<Queues>;
  // Stands in place of the slot of a message that is not sent yet; a stream may wait for it.
  static constexpr std::uint32_t WAITED = 1u << 31, UNSENT = ~0u;
  static constexpr std::uint32_t NOBODY = ~0u;

  struct State {
    const Op* at = nullptr;
    Times<W> now{}, interface{};  // time of the processor; time from which the network interface is free
    Account account{};
    std::uint32_t known = 0;  // number of the messages of a receive_all that have been sent
  };
  // A message with rendezvous: the sender asks, and sends when the receiver has answered.
  struct Meeting {
    Times<W> first{}, left{}, arrival{};  // time of the side that came first; when the data have left; when they arrive
    std::uint32_t sender = NOBODY, receiver = NOBODY;  // streams that wait for it
    bool has_left = false, has_arrived = false;        // whether these times are known
    enum : std::uint8_t { open, asked, posted, met } state = open;
  };

  void advance_ready() {
    while (!ready_.empty()) {
      std::uint32_t stream = ready_.back();
      ready_.pop_back();
      advance(stream);
    }
  }
  void advance(std::uint32_t stream) {
    State& state = states_[stream];
    const Op* at = state.at;
    Times<W> now = state.now;
    for (;; ++at) {
      const Op op = *at;
      switch (op.kind()) {
        case Kind::compute:
          compute(stream, now, static_cast<Time>(op.value()));
          continue;
        case Kind::send:
          send(stream, now, op);
          continue;
        case Kind::receive:
          if (const Times<W>* arrived = sent(op.message(), stream)) {
            take(stream, now, *arrived, op);
            release(op.message());
            continue;
          }
          break;
        case Kind::receive_all:
          if (receive_all(stream, now, at)) {
            at += op.value();
            continue;
          }
          break;
        case Kind::signal:
          if (recorder_) recorder_->begins(op.message(), place(stream, now[0]));
          arrive(op.message(), now);
          continue;
        case Kind::await:
          if (const Times<W>* given = sent(op.message(), stream)) {
            if (recorder_ && (*given)[0] > now[0]) recorder_->waited(place(stream, (*given)[0]), op.message());
            for (int w = 0; w < W; ++w) now[w] = std::max(now[w], (*given)[w]);
            continue;
          }
          break;
        case Kind::send_rendezvous:
          work(stream, now, cost_[op.size()].processor);
          meet(stream, op, now, Meeting::asked);
          continue;
        case Kind::post:
          meet(stream, op, now, Meeting::posted);
          continue;
        case Kind::sent: {
          Meeting& meeting = meetings_[op.message()];
          if (meeting.has_left) {
            if (recorder_ && meeting.left[0] > now[0])
              recorder_->waited_for_meeting(place(stream, meeting.left[0]), op.message(), cost_[op.size()].latency[0]);
            for (int w = 0; w < W; ++w) now[w] = std::max(now[w], meeting.left[w]);
            continue;
          }
          meeting.sender = stream;
          break;
        }
        case Kind::receive_rendezvous:
          if (const Times<W>* arrived = met(op.message(), stream)) {
            take(stream, now, *arrived, op);
            continue;
          }
          break;
        case Kind::region:
          if constexpr (Disturbed) disturbance_->enter(stream, op.value());
          continue;
        case Kind::end:
          break;
      }
      break;
    }
    state.at = at;
    state.now = now;
  }

  Place place(std::uint32_t stream, Time at) const { return {stream, at, states_[stream].account.computing}; }

  void compute(std::uint32_t stream, Times<W>& now, Time time) {
    for (int w = 0; w < W; ++w) {
      const Time before = now[w];
      if constexpr (Disturbed)
        now[w] = disturbance_->computed(stream, w, before, time);
      else
        now[w] = later(before, time);
      if constexpr (W == 1) {
        states_[stream].account.computing += now[w] - before;
        if (activity_) activity_->add(stream, before, now[w], Activity::computing);
      }
    }
  }

  // The overhead of the processor for a message. Beside so much other code GCC leaves it out of line, and a replay
  // takes a sixth longer.
  [[gnu::always_inline]] void work(std::uint32_t stream, Times<W>& now, const Times<W>& time) {
    for (int w = 0; w < W; ++w) {
      const Time before = now[w];
      if constexpr (Disturbed)
        now[w] = disturbance_->end_computation(stream, w, before, time[w]);
      else
        now[w] = later(before, time[w]);
      if constexpr (W == 1) {
        states_[stream].account.talking += now[w] - before;
        if (activity_) activity_->add(stream, before, now[w], Activity::talking);
      }
    }
  }

  void send(std::uint32_t stream, Times<W>& now, Op op) {
    const Cost<W>& cost = cost_[op.size()];
    Times<W>& interface = states_[stream].interface;
    work(stream, now, cost.processor);
    if constexpr (QUEUED)
      if (crosses(op)) return static_cast<Queues*>(this)->dispatch(op.message(), op, now[0]);
    Times<W> arrival;
    for (int w = 0; w < W; ++w) {
      const Time leaves = std::max(now[w], interface[w]);
      interface[w] = later(leaves, cost.occupied[w]);
      arrival[w] = leaves + cost.flight[w];
    }
    if constexpr (Disturbed) lose(op, arrival);
    if constexpr (W == 1)
      if (activity_) activity_->sent(arrival[0] - now[0]);
    if (recorder_) recorder_->begins(op.message(), place(stream, now[0]));
    arrive(op.message(), arrival);
  }

  void arrive(std::uint32_t message, const Times<W>& arrival) {
    std::uint32_t& slot = slot_of_[message];
    if (slot != UNSENT) ready_.push_back(slot - WAITED);
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(arrivals_.size());
      if (slot >= WAITED) throw Refused("more than 2 billion messages are on their way at once");
      arrivals_.push_back(arrival);
    } else {
      slot = free_.back();
      free_.pop_back();
      arrivals_[slot] = arrival;
    }
  }
  // A message that was received leaves its slot to another. Signals keep theirs: several streams may wait for one.
  void release(std::uint32_t message) { free_.push_back(slot_of_[message]); }

  // A lost message arrives later, and delays the messages behind it on the same connection.
  void lose(Op op, Times<W>& arrival) {
    if (!disturbance_->lossy() || !crosses(op)) return;
    const std::uint32_t message = op.message();
    for (int w = 0; w < W; ++w) {
      const Time delay = disturbance_->lost(w, schedule_.source[message], schedule_.target[message], message,
                                            op.size() / CLASSES, 2 * cost_[op.size()].latency[w]);
      arrival[w] = disturbance_->in_order(w, message, arrival[w] + delay);
    }
  }

  const Times<W>* sent(std::uint32_t message, std::uint32_t stream) {
    std::uint32_t& slot = slot_of_[message];
    if (slot < WAITED) return &arrivals_[slot];
    slot = WAITED + stream;
    return nullptr;
  }
  const Times<W>* met(std::uint32_t number, std::uint32_t stream) {
    Meeting& meeting = meetings_[number];
    if (meeting.has_arrived) return &meeting.arrival;
    meeting.receiver = stream;
    return nullptr;
  }

  void take(std::uint32_t stream, Times<W>& now, const Times<W>& arrived, Op op) {
    if (recorder_ && arrived[0] > now[0]) {
      if (op.kind() == Kind::receive)
        recorder_->waited(place(stream, arrived[0]), op.message());
      else
        recorder_->waited_for_meeting(place(stream, arrived[0]), op.message(), cost_[op.size()].latency[0]);
    }
    take(stream, now, arrived, cost_[op.size()]);
  }
  void take(std::uint32_t stream, Times<W>& now, const Times<W>& arrived, const Cost<W>& cost) {
    for (int w = 0; w < W; ++w) now[w] = std::max(now[w], arrived[w]);
    work(stream, now, cost.processor);
  }

  // Takes the messages in the order in which they arrive; false if one was not sent yet.
  bool receive_all(std::uint32_t stream, Times<W>& now, const Op* at) {
    State& state = states_[stream];
    const std::uint32_t count = static_cast<std::uint32_t>(at->value());
    for (; state.known < count; ++state.known) {
      const Op op = at[1 + state.known];
      if (!(op.kind() == Kind::receive ? sent(op.message(), stream) : met(op.message(), stream))) return false;
    }
    state.known = 0;
    if (count <= FEW && same(at + 1, count) && !recorder_)
      take_few(stream, now, at + 1, count);
    else
      take_many(stream, now, at + 1, count);
    for (std::uint32_t i = 1; i <= count; ++i)
      if (at[i].kind() == Kind::receive) release(at[i].message());
    return true;
  }
  static constexpr std::uint32_t FEW = 8;

  static bool same(const Op* at, std::uint32_t count) {
    for (std::uint32_t i = 1; i < count; ++i)
      if (at[i].size() != at[0].size()) return false;
    return true;
  }
  const Times<W>& arrival(Op op) const {
    return op.kind() == Kind::receive ? arrivals_[slot_of_[op.message()]] : meetings_[op.message()].arrival;
  }
  // All messages have one size: all scenarios are sorted side by side.
  void take_few(std::uint32_t stream, Times<W>& now, const Op* at, std::uint32_t count) {
    Times<W> sorted[FEW];
    for (std::uint32_t i = 0; i < count; ++i) {
      sorted[i] = arrival(at[i]);
      for (std::uint32_t j = i; j > 0; --j)
        for (int w = 0; w < W; ++w) {
          const Time a = sorted[j - 1][w], b = sorted[j][w];
          sorted[j - 1][w] = std::min(a, b);
          sorted[j][w] = std::max(a, b);
        }
    }
    for (std::uint32_t i = 0; i < count; ++i) take(stream, now, sorted[i], cost_[at->size()]);
  }
  void take_many(std::uint32_t stream, Times<W>& now, const Op* at, std::uint32_t count) {
    auto& of = taken_;
    for (int w = 0; w < W; ++w) {
      of[w].clear();
      for (std::uint32_t i = 0; i < count; ++i) of[w].emplace_back(arrival(at[i])[w], i);
      std::sort(of[w].begin(), of[w].end(), [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : processor(at[a.second], w) < processor(at[b.second], w);
      });
    }
    Times<W> arrived;
    Cost<W> cost{};
    for (std::uint32_t i = 0; i < count; ++i) {
      for (int w = 0; w < W; ++w) arrived[w] = of[w][i].first, cost.processor[w] = processor(at[of[w][i].second], w);
      if (recorder_)
        take(stream, now, arrived, at[of[0][i].second]);
      else
        take(stream, now, arrived, cost);
    }
  }
  Time processor(Op op, int w) const { return cost_[op.size()].processor[w]; }

  // The first of both leaves its time, the second finds out when the data go. Requests and answers cost a latency each,
  // and neither processor.
  void meet(std::uint32_t stream, Op op, const Times<W>& now, decltype(Meeting::open) who) {
    Meeting& meeting = meetings_[op.message()];
    if (recorder_) recorder_->note_meeting(op.message(), place(stream, now[0]), who == Meeting::asked);
    if (meeting.state == Meeting::open) {
      meeting.first = now;
      meeting.state = who;
      return;
    }
    const Cost<W>& cost = cost_[op.size()];
    const Times<W>&asked = who == Meeting::asked ? now : meeting.first,
          &posted = who == Meeting::asked ? meeting.first : now;
    meeting.state = Meeting::met;
    for (int w = 0; w < W; ++w) {
      const Time request = asked[w] + cost.latency[w] + lost(w, op, 0);
      const Time answered = std::max(request, posted[w]) + cost.latency[w] + lost(w, op, 1);
      if constexpr (QUEUED)
        if (crosses(op)) return static_cast<Queues*>(this)->dispatch_meeting(op, answered);
      meeting.left[w] = answered + cost.gap[w];
      meeting.arrival[w] = answered + cost.flight[w] + lost(w, op, DATA);
    }
    if constexpr (W == 1)
      if (activity_) activity_->sent(meeting.arrival[0] - asked[0]);
    wake(meeting.has_left, meeting.sender);
    wake(meeting.has_arrived, meeting.receiver);
  }
  // What the stream waits for, if it does, is known.
  void wake(bool& known, std::uint32_t waiter) {
    known = true;
    if (waiter != NOBODY) ready_.push_back(waiter);
  }
  static bool crosses(Op op) { return op.size() % CLASSES > within; }
  Time lost([[maybe_unused]] int w, [[maybe_unused]] Op op, [[maybe_unused]] std::uint64_t leg) const {
    if constexpr (Disturbed) {
      if (!crosses(op)) return 0;
      const std::uint64_t which = schedule_.source.size() + std::uint64_t{3} * op.message() + leg;
      const std::uint32_t size = leg == DATA ? op.size() / CLASSES : Losses::CONTROL;
      return disturbance_->lost(w, p_.source[op.message()], p_.target[op.message()], which, size,
                                2 * cost_[op.size()].latency[w]);
    }
    return 0;
  }

  const Prepared& p_;
  const Schedule& schedule_;
  std::vector<Cost<W>> cost_;
  std::vector<std::uint32_t> slot_of_;  // by message, then by signal
  std::vector<Times<W>> arrivals_;      // of what is on its way, by slot
  std::vector<std::uint32_t> free_;     // slots
  std::vector<Meeting> meetings_;
  std::vector<State> states_;
  std::vector<std::uint32_t> ready_;
  std::array<std::vector<std::pair<Time, std::uint32_t>>, W> taken_;  // by `take_many`: arrivals and their places
  std::unique_ptr<PathRecorder> recorder_;
  Activity* activity_ = nullptr;
  std::unique_ptr<Disturbance<W>> disturbance_;  // only where Disturbed
};

}  // namespace steelyard::whatif
