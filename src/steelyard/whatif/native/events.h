// Replays in the order of time, with queues: the messages that leave and reach a node pass its network interface one
// after the other. Without contention it gives the same times as `dataflow.h`, to the picosecond.
#pragma once
#include <algorithm>
#include <deque>

#include "dataflow.h"

namespace steelyard::whatif {

// The next event is first; of events at one moment, the one with the lowest number. It is a heap with four children per
// node.
class Agenda {
 public:
  struct Item {
    Time at;
    std::uint64_t what;
    // As one number of 128 bits: the order of two events is hard to predict, and this needs no branch.
    __extension__ using Order = unsigned __int128;
    Order order() const { return static_cast<Order>(at) << 64 | what; }
    bool operator<(const Item& other) const { return order() < other.order(); }
  };
  bool empty() const { return heap_.empty(); }
  void push(Item item) {
    std::size_t at = heap_.size();
    heap_.push_back(item);
    for (; at > 0; at = (at - 1) / 4) {
      Item& parent = heap_[(at - 1) / 4];
      if (!(item < parent)) break;
      heap_[at] = parent;
    }
    heap_[at] = item;
  }
  const Item& first() const { return heap_.front(); }
  Item pop() {
    const Item first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) replace_first(last);
    return first;
  }
  // Removes the first item, and adds another one.
  void replace_first(Item last) {
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
  }

 private:
  std::vector<Item> heap_;
};

class Events : public Dataflow<1, true, Events> {
 public:
  Events(const Prepared& prepared, const Connections* connections, const Scenario& scenario)
      : Dataflow(prepared, connections, &scenario),
        uplinks_(scenario.uplinks),
        first_meeting_(schedule_.source.size() + schedule_.signals),
        size_(first_meeting_ + prepared.rendezvous),
        connections_(connections),
        alone_(prepared.rendezvous == 0 && prepared.structure.ranks_per_node == 1 &&
               prepared.begins.size() == schedule_.ranks) {
    if (disturbance_->lossy()) held_.resize(connections->count);
    const std::uint32_t nodes = p_.node(schedule_.ranks - 1) + 1;
    out_.resize(nodes);
    in_.resize(nodes);
    if (p_.structure.tree[0] > 0) tail_.resize(size_.size(), 0);
    for (std::size_t level = 0; level < LEVELS; ++level) {
      up_[level].resize(p_.above(nodes - 1, level) + 1);
      down_[level].resize(up_[level].size());
    }
  }

 private:
  friend Dataflow;
  // The steps of a message, from the sender's interface up and down the links between switches to the receiver's.
  // An item of the agenda is the message's slot and that, in the last bits.
  enum Stage : std::uint64_t { leaves, ups, downs = ups + LEVELS, reaches = downs + LEVELS, mended, STAGES = 8 };

  // Messages that a connection delays: lost ones, and those behind them. `due`: when the first byte of a
  // lost one reaches the receiver, or when another was whole there. `copy`: when what was sent last of a lost one would
  // have come, `again`: how often that was because others came.
  struct Held {
    std::uint32_t message;
    Time due;
    bool lost;
    Time copy = 0;
    std::uint32_t again = 0;
  };

  // A message to another node is given to the interface; one with rendezvous when its receiver has answered.
  void dispatch(std::uint64_t slot, Op op, Time now) {
    size_[slot] = op.size();
    if (alone_)
      leave(slot, now);
    else
      agenda_.push({now, slot * STAGES + leaves});
  }
  void dispatch_meeting(Op op, Time answered) { dispatch(first_meeting_ + op.message(), op, answered); }
  // Carries all messages, and goes on with the streams that wait for them.
  void deliver() {
    while (!agenda_.empty()) {
      const auto [at, what] = agenda_.pop();
      handle_event(what / STAGES, what % STAGES, at);
      advance_ready();
    }
  }
  void handle_event(std::uint64_t slot, std::uint64_t stage, Time now) {
    if (stage == leaves)
      leave(slot, now);
    else if (stage == reaches)
      reach(slot, now);
    else if (stage == mended)
      deliver_lost(static_cast<std::uint32_t>(slot), now);
    else
      pass(slot, stage, now);
  }
  // The interface of the sender's node: one message after the other.
  void leave(std::uint64_t slot, Time now) {
    const Cost<1>& cost = cost_[size_[slot]];
    Time& free = out_[p_.node(source(slot))];
    const Time begins = std::max(now, free);
    free = later(begins, cost.occupied[0]);
    const std::uint32_t levels = size_[slot] % CLASSES - across;
    Time head = begins + cost.latency[0];
    for (std::uint32_t level = 0; level < levels; ++level) head -= 2 * uplinks_[level].hop;
    if (slot >= first_meeting_) {
      const auto number = static_cast<std::uint32_t>(slot - first_meeting_);
      Meeting& meeting = meetings_[number];
      meeting.left = {begins + cost.gap[0]};
      wake(meeting.has_left, meeting.sender);
      head += lost(slot, schedule_.source.size() + std::uint64_t{3} * number + DATA);
    }
    agenda_.push({head, slot * STAGES + (levels == 0 ? reaches : ups)});
  }
  // A link between switches: packets of several messages take turns, so that a message's first byte does not wait; its
  // last one does until the link has sent what came before it.
  void pass(std::uint64_t slot, std::uint64_t stage, Time now) {
    const std::uint32_t levels = size_[slot] % CLASSES - across;
    const bool up = stage < downs;
    const std::uint64_t level = up ? stage - ups : stage - downs;
    const Uplink& link = uplinks_[level];
    Time& free = (up ? up_ : down_)[level][p_.above(p_.node(up ? source(slot) : target(slot)), level)];
    const Time begins = std::max(now, free), gap = per_byte(link.G, schedule_.sizes[size_[slot] / CLASSES]);
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
  void reach(std::uint64_t slot, Time now) {
    if (disturbance_->lossy() && slot < first_meeting_ && hold(static_cast<std::uint32_t>(slot), now)) return;
    come(slot, receive_at(slot, now));
  }
  // Returns whether a message has to wait, because it or an earlier one of its connection was lost.
  bool hold(std::uint32_t message, Time now) {
    std::deque<Held>& held = held_[connections_->of[message]];
    const Time delay = lost(message, message);
    if (delay == 0 && held.empty()) return false;
    if (delay > 0) {
      held.push_back({message, now + delay, true, now});
      if (held.size() == 1) agenda_.push({now + delay, message * std::uint64_t{STAGES} + mended});
      return true;
    }
    if (disturbance_->reveals(0)) reveal_loss(held, now, 2 * cost_[size_[message]].latency[0]);
    held.push_back({message, receive_at(message, now), false});
    return true;
  }
  // A later message has come: the receiver reports the gap, and the sender sends the lost one again, after a round
  // trip. It may be lost once more, which shows by what is sent after that, or by the timer.
  void reveal_loss(std::deque<Held>& held, Time now, Time round_trip) {
    const Time again = now + round_trip, due = held.front().due;
    for (Held& one : held)
      if (one.lost && one.copy <= now && again < one.due) {
        one.copy = again;
        one.due = again + disturbance_->resent(0, one.message, ++one.again, round_trip);
      }
    // The agenda already has an event for an earlier moment, at which the message is not due.
    if (held.front().due != due)
      agenda_.push({held.front().due, held.front().message * std::uint64_t{STAGES} + mended});
  }
  // The lost message has come, unless it came sooner: it and the messages that waited only for it go to the receiver.
  void deliver_lost(std::uint32_t message, Time now) {
    std::deque<Held>& held = held_[connections_->of[message]];
    if (held.empty() || held.front().message != message || held.front().due > now) return;
    held.pop_front();
    const Time whole = receive_at(message, now);
    come(message, whole);
    for (; !held.empty() && !held.front().lost; held.pop_front())
      come(held.front().message, std::max(held.front().due, whole));
    if (held.empty()) return;
    Held& next = held.front();
    next.due = std::max(next.due, now);
    agenda_.push({next.due, next.message * std::uint64_t{STAGES} + mended});
  }
  // Returns when a message is complete whose first byte has reached the receiver's interface.
  Time receive_at(std::uint64_t slot, Time now) {
    const Cost<1>& cost = cost_[size_[slot]];
    Time& free = in_[p_.node(target(slot))];
    const Time begins = std::max(now, free);
    free = later(begins, cost.occupied[0]);
    Time arrival = begins + cost.gap[0];
    if (!tail_.empty()) arrival = std::max(arrival, tail_[slot]);
    return arrival;
  }
  void come(std::uint64_t slot, Time arrival) {
    if (slot < first_meeting_) return arrive(static_cast<std::uint32_t>(slot), {arrival});
    Meeting& meeting = meetings_[slot - first_meeting_];
    meeting.arrival = {arrival};
    wake(meeting.has_arrived, meeting.receiver);
  }
  Time lost(std::uint64_t slot, std::uint64_t which) const {
    return disturbance_->lost(0, source(slot), target(slot), which, size_[slot] / CLASSES,
                              2 * cost_[size_[slot]].latency[0]);
  }
  std::uint32_t source(std::uint64_t slot) const {
    return slot < first_meeting_ ? schedule_.source[slot] : p_.source[slot - first_meeting_];
  }
  std::uint32_t target(std::uint64_t slot) const {
    return slot < first_meeting_ ? schedule_.target[slot] : p_.target[slot - first_meeting_];
  }

  const std::array<Uplink, LEVELS> uplinks_;
  const std::uint64_t first_meeting_;                // the numbers before it are those of messages and signals
  std::vector<std::uint32_t> size_;                  // by slot: its row in cost_
  std::vector<Time> out_, in_;                       // by node: when its interface is free
  std::vector<Time> tail_;                           // by slot: when its last byte arrives, by the links passed so far
  std::array<std::vector<Time>, LEVELS> up_, down_;  // by level and switch: when its link to the next level is free
  const Connections* connections_;
  const bool alone_;  // one stream sends through each interface, in the order of time, so that no event is needed
  std::vector<std::deque<Held>> held_;  // by connection, in the order in which they were sent
  Agenda agenda_;
};

}  // namespace steelyard::whatif
