// The replay in the order of time.
#include "events.h"

#include <algorithm>

namespace steelyard::whatif {

void Agenda::push(Item item) {
  std::size_t at = heap_.size();
  heap_.push_back(item);
  for (; at > 0; at = (at - 1) / 4) {
    Item& parent = heap_[(at - 1) / 4];
    if (!(item < parent)) break;
    heap_[at] = parent;
  }
  heap_[at] = item;
}

Agenda::Item Agenda::pop() {
  const Item first = heap_.front(), last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return first;
  std::size_t at = 0;
  for (;;) {
    const std::size_t child = 4 * at + 1, end = std::min(child + 4, heap_.size());
    if (child >= end) break;
    std::size_t least = child;
    for (std::size_t i = child + 1; i < end; ++i)
      if (heap_[i] < heap_[least]) least = i;
    if (!(heap_[least] < last)) break;
    heap_[at] = heap_[least];
    at = least;
  }
  heap_[at] = last;
  return first;
}

Events::Events(const Prepared& prepared, const Connections* connections, const Scenario& scenario)
    : p_(prepared),
      schedule_(*prepared.schedule),
      uplinks_(scenario.uplinks),
      disturbance_(prepared, connections, &scenario),
      first_meeting_(schedule_.source.size() + schedule_.signals),
      cost_(costs<1>(schedule_, &scenario)),
      size_(schedule_.source.size()),
      arrival_(first_meeting_ + prepared.rendezvous, UNSENT),
      meetings_(prepared.rendezvous),
      states_(prepared.begins.size()),
      connections_(connections),
      alone_(prepared.rendezvous == 0 && prepared.structure.ranks_per_node == 1 &&
             prepared.begins.size() == schedule_.ranks) {
  if (disturbance_.lossy()) held_.resize(connections->count);
  const std::uint32_t nodes = p_.node(schedule_.ranks - 1) + 1;
  out_.resize(nodes);
  in_.resize(nodes);
  if (p_.structure.tree[0] > 0) tail_.resize(arrival_.size(), 0);
  for (std::size_t level = 0; level < LEVELS; ++level) {
    up_[level].resize(p_.above(nodes - 1, level) + 1);
    down_[level].resize(up_[level].size());
  }
}

Time Events::run() {
  for (std::uint32_t stream = 0; stream < states_.size(); ++stream) {
    states_[stream].at = p_.ops.data() + p_.begins[stream];
    ready_.push_back(static_cast<std::uint32_t>(states_.size()) - 1 - stream);
  }
  for (;;) {
    while (!ready_.empty()) {
      const std::uint32_t stream = ready_.back();
      ready_.pop_back();
      advance(stream);
    }
    if (agenda_.empty()) break;
    const auto [at, what] = agenda_.pop();
    happen(what / STAGES, what % STAGES, at);
  }
  Time end = 0;
  for (std::uint32_t stream = 0; stream < states_.size(); ++stream) {
    if (states_[stream].at->kind() != Kind::end) throw Refused(stuck(p_, stream, *states_[stream].at));
    end = std::max(end, states_[stream].now);
  }
  return predicted(end);
}

std::vector<Account> Events::accounts() const {
  std::vector<Account> found;
  for (const State& state : states_) found.push_back(state.account.ended(state.now));
  return found;
}

void Events::advance(std::uint32_t stream) {
  State& state = states_[stream];
  for (;; ++state.at) {
    const Op op = *state.at;
    switch (op.kind()) {
      case Kind::compute:
        compute(stream, static_cast<Time>(op.value()));
        continue;
      case Kind::send:
        send(stream, op);
        continue;
      case Kind::receive:
      case Kind::receive_rendezvous:
        if (receive(stream, op)) continue;
        return;
      case Kind::receive_all:
        if (!receive_all(stream, state.at)) return;
        state.at += op.value();
        continue;
      case Kind::signal:
        arrive(op.message(), state.now);
        continue;
      case Kind::await:
        if (Time& given = arrival_[op.message()]; given >= 0) {
          state.now = std::max(state.now, given);
          continue;
        } else {
          given = -2 - static_cast<Time>(stream);
        }
        return;
      case Kind::send_rendezvous:
        work(stream, cost_[op.size()].processor[0]);
        meet(op, state.now, Meeting::asked);
        continue;
      case Kind::post:
        meet(op, state.now, Meeting::posted);
        continue;
      case Kind::sent: {
        Meeting& meeting = meetings_[op.message()];
        if (meeting.left >= 0) {
          state.now = std::max(state.now, meeting.left);
          continue;
        }
        meeting.sender = stream;
        return;
      }
      case Kind::region:
        disturbance_.enter(stream, op.value());
        continue;
      case Kind::end:
        return;
    }
  }
}

void Events::compute(std::uint32_t stream, Time time) {
  State& state = states_[stream];
  const Time before = state.now;
  state.now = disturbance_.computed(stream, 0, before, time);
  state.account.computing += state.now - before;
}

void Events::work(std::uint32_t stream, Time time) {
  State& state = states_[stream];
  const Time before = state.now;
  state.now = disturbance_.worked(stream, 0, before, time);
  state.account.talking += state.now - before;
}

void Events::send(std::uint32_t stream, Op op) {
  State& state = states_[stream];
  const Cost<1>& cost = cost_[op.size()];
  work(stream, cost.processor[0]);
  size_[op.message()] = op.size();
  if (op.size() % CLASSES > within) {
    if (alone_)
      leave(op.message(), state.now);
    else
      agenda_.push({state.now, op.message() * STAGES + leaves});
    return;
  }
  const Time leaves = std::max(state.now, state.interface);
  state.interface = later(leaves, cost.occupied[0]);
  arrive(op.message(), leaves + cost.flight[0]);
}

void Events::happen(std::uint64_t slot, std::uint64_t stage, Time now) {
  if (stage == leaves)
    leave(slot, now);
  else if (stage == reaches)
    reach(slot, now);
  else if (stage == mended)
    mend(static_cast<std::uint32_t>(slot), now);
  else
    pass(slot, stage, now);
}

// The interface of the sender's node: one message after the other.
void Events::leave(std::uint64_t slot, Time now) {
  const Cost<1>& cost = cost_[size(slot)];
  Time& free = out_[p_.node(source(slot))];
  const Time begins = std::max(now, free);
  free = later(begins, cost.occupied[0]);
  const std::uint32_t levels = size(slot) % CLASSES - across;
  Time head = begins + cost.latency[0];
  for (std::uint32_t level = 0; level < levels; ++level) head -= 2 * uplinks_[level].hop;
  if (slot >= first_meeting_) {
    const auto number = static_cast<std::uint32_t>(slot - first_meeting_);
    left(number, begins + cost.gap[0]);
    head += lost(source(slot), target(slot), schedule_.source.size() + std::uint64_t{3} * number + DATA, size(slot));
  }
  agenda_.push({head, slot * STAGES + (levels == 0 ? reaches : ups)});
}

// A link between switches: packets of several messages take turns, so that a message's first byte does not wait; its
// last one does until the link has sent what came before it.
void Events::pass(std::uint64_t slot, std::uint64_t stage, Time now) {
  const std::uint32_t levels = size(slot) % CLASSES - across;
  const bool up = stage < downs;
  const std::uint64_t level = up ? stage - ups : stage - downs;
  const Uplink& link = uplinks_[level];
  Time& free = (up ? up_ : down_)[level][p_.above(p_.node(up ? source(slot) : target(slot)), level)];
  const Time begins = std::max(now, free), gap = per_byte(link.G, schedule_.sizes[size(slot) / CLASSES]);
  free = later(begins, gap);
  const bool climbs = up && level + 1 < levels;
  std::uint64_t next = up ? (climbs ? stage + 1 : downs + level) : (level > 0 ? stage - 1 : reaches);
  Time left = link.hop;  // the latency that remains
  if (up) left += link.hop;
  for (std::uint64_t other = level + 1; up && other < levels; ++other) left += 2 * uplinks_[other].hop;
  for (std::uint64_t other = 0; other < level; ++other) left += uplinks_[other].hop;
  tail_[slot] = std::max(tail_[slot], begins + left + gap);
  agenda_.push({now + link.hop, slot * STAGES + next});
}

// The event of the receiver's interface: the first byte of a message has reached it.
void Events::reach(std::uint64_t slot, Time now) {
  if (disturbance_.lossy() && slot < first_meeting_ && hold(static_cast<std::uint32_t>(slot), now)) return;
  arrive(slot, receive_at(slot, now));
}

// Returns whether a message has to wait, because it or an earlier one of its connection was lost.
bool Events::hold(std::uint32_t message, Time now) {
  std::deque<Held>& held = held_[connections_->of[message]];
  const std::uint32_t size = size_[message];
  const Time delay = lost(schedule_.source[message], schedule_.target[message], message, size);
  if (delay == 0 && held.empty()) return false;
  if (delay > 0) {
    held.push_back({message, now + delay, true, now});
    if (held.size() == 1) agenda_.push({now + delay, message * std::uint64_t{STAGES} + mended});
    return true;
  }
  if (disturbance_.reveals(0)) reveal(held, now, 2 * cost_[size].latency[0]);
  held.push_back({message, receive_at(message, now), false});
  return true;
}

// A later message has come: the receiver reports the gap, and the sender sends the lost one again, after a round trip.
// It may be lost once more, which shows by what is sent after that, or by the timer.
void Events::reveal(std::deque<Held>& held, Time now, Time round_trip) {
  const Time again = now + round_trip, due = held.front().due;
  for (Held& one : held)
    if (one.lost && one.copy <= now && again < one.due) {
      one.copy = again;
      one.due = again + disturbance_.resent(0, one.message, ++one.again, round_trip);
    }
  // The agenda already has an event for an earlier moment, at which the message is not due.
  if (held.front().due != due) agenda_.push({held.front().due, held.front().message * std::uint64_t{STAGES} + mended});
}

// The lost message has come, unless it came sooner: it and the messages that waited only for it go to the receiver.
void Events::mend(std::uint32_t message, Time now) {
  std::deque<Held>& held = held_[connections_->of[message]];
  if (held.empty() || held.front().message != message || held.front().due > now) return;
  held.pop_front();
  const Time whole = receive_at(message, now);
  arrive(message, whole);
  for (; !held.empty() && !held.front().lost; held.pop_front())
    arrive(held.front().message, std::max(held.front().due, whole));
  if (held.empty()) return;
  Held& next = held.front();
  next.due = std::max(next.due, now);
  agenda_.push({next.due, next.message * std::uint64_t{STAGES} + mended});
}

// Returns when a message is complete whose first byte has reached the receiver's interface.
Time Events::receive_at(std::uint64_t slot, Time now) {
  const Cost<1>& cost = cost_[size(slot)];
  Time& free = in_[p_.node(target(slot))];
  const Time begins = std::max(now, free);
  free = later(begins, cost.occupied[0]);
  Time arrival = begins + cost.gap[0];
  if (!tail_.empty()) arrival = std::max(arrival, tail_[slot]);
  return arrival;
}

void Events::arrive(std::uint64_t slot, Time arrival) {
  if (arrival_[slot] < UNSENT) ready_.push_back(static_cast<std::uint32_t>(-2 - arrival_[slot]));
  arrival_[slot] = arrival;
}

bool Events::receive(std::uint32_t stream, Op op) {
  Time& arrived = arrival_[slot(op)];
  if (arrived >= 0) {
    take(stream, arrived, op.size());
    return true;
  }
  arrived = -2 - static_cast<Time>(stream);
  return false;
}

void Events::take(std::uint32_t stream, Time arrived, std::uint32_t size) {
  states_[stream].now = std::max(states_[stream].now, arrived);
  work(stream, cost_[size].processor[0]);
}

bool Events::receive_all(std::uint32_t stream, const Op* at) {
  State& state = states_[stream];
  const auto count = static_cast<std::uint32_t>(at->value());
  for (; state.known < count; ++state.known)
    if (Time& arrived = arrival_[slot(at[1 + state.known])]; arrived < 0) {
      arrived = -2 - static_cast<Time>(stream);
      return false;
    }
  state.known = 0;
  taken_.clear();
  for (std::uint32_t i = 1; i <= count; ++i)
    taken_.emplace_back(arrival_[slot(at[i])], cost_[at[i].size()].processor[0]);
  std::sort(taken_.begin(), taken_.end());
  for (const auto& [arrived, processor] : taken_) {
    state.now = std::max(state.now, arrived);
    work(stream, processor);
  }
  return true;
}

void Events::meet(Op op, Time now, decltype(Meeting::open) who) {
  Meeting& meeting = meetings_[op.message()];
  if (meeting.state == Meeting::open) {
    meeting.first = now;
    meeting.state = who;
    meeting.size = op.size();
    return;
  }
  meeting.state = Meeting::met;
  const Cost<1>& cost = cost_[op.size()];
  const Time asked = who == Meeting::asked ? now : meeting.first, posted = who == Meeting::asked ? meeting.first : now;
  const std::uint64_t which = schedule_.source.size() + std::uint64_t{3} * op.message();
  const std::uint32_t from = p_.source[op.message()], to = p_.target[op.message()];
  const Time request = asked + cost.latency[0] + lost(from, to, which, op.size(), true);
  const Time answered = std::max(request, posted) + cost.latency[0] + lost(from, to, which + 1, op.size(), true);
  if (op.size() % CLASSES > within) {
    agenda_.push({answered, (first_meeting_ + op.message()) * STAGES + leaves});
    return;
  }
  left(op.message(), answered + cost.gap[0]);
  arrive(first_meeting_ + op.message(), answered + cost.flight[0]);
}

void Events::left(std::uint32_t number, Time when) {
  meetings_[number].left = when;
  if (meetings_[number].sender != NOBODY) ready_.push_back(meetings_[number].sender);
}

Time Events::lost(std::uint32_t from, std::uint32_t to, std::uint64_t which, std::uint32_t size, bool control) const {
  if (size % CLASSES <= within) return 0;
  return disturbance_.lost(0, from, to, which, control ? Losses::CONTROL : size / CLASSES, 2 * cost_[size].latency[0]);
}

std::uint32_t Events::source(std::uint64_t slot) const {
  return slot < first_meeting_ ? schedule_.source[slot] : p_.source[slot - first_meeting_];
}
std::uint32_t Events::target(std::uint64_t slot) const {
  return slot < first_meeting_ ? schedule_.target[slot] : p_.target[slot - first_meeting_];
}
std::uint32_t Events::size(std::uint64_t slot) const {
  return slot < first_meeting_ ? size_[slot] : meetings_[slot - first_meeting_].size;
}

}  // namespace steelyard::whatif
