// Replays a graph as the simulator LogGOPSim does (Hoefler, Schneider, Lumsdaine, HPDC 2010), to the last digit: a
// message is taken by the receiver's processor from its first byte on, and keeps it busy until the last byte is there.
#pragma once
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "cost.h"
#include "events.h"
#include "graph.h"

namespace steelyard::whatif {

// It differs from the other modes in three rules.
// - A receive takes o + max((s - 1) O, (s - 1) G) of the processor, and begins when both the processor and the
//   interface are free; a message whose receive comes later is taken at once, too.
// - A send begins when both are free, and the interface counts from then on.
// - A message with rendezvous is sent at once; its send ends when the receive has begun.
// A message is taken by the receiver's processor and interface of the same numbers as the sender's.
class Streaming {
 public:
  Streaming(const Graph& graph, const Structure& structure, const Scenario& scenario)
      : graph_(graph),
        scenario_(scenario),
        places_{nullptr, structure, {}, {}, 0, {}, {}},
        slower_(graph.ranks, 1 / scenario.core),
        processors_(std::size_t{graph.ranks} * graph.processors),
        sends_(std::size_t{graph.ranks} * graph.interfaces),
        receives_(sends_.size()),
        left_(graph.nodes.size()),
        ended_(graph.nodes.size()),
        state_(2 * graph.nodes.size(), fresh),
        head_(graph.channels.size(), NONE),
        tail_(graph.channels.size(), NONE),
        behind_(graph.nodes.size(), NONE) {
    for (std::size_t node = 0; node < left_.size(); ++node) left_[node] = graph.nodes[node].needs;
    for (const Speed& speed : scenario.speeds)
      for (std::uint32_t rank = 0; rank < graph.ranks; ++rank) {
        const std::uint64_t place = speed.of == Speed::node ? places_.node(rank) : rank;
        if (speed.first <= place && place <= speed.last) slower_[rank] /= speed.factor;
      }
  }
  // Returns the end of the last rank. Refused names a rank that waits forever.
  Time run() {
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      for (std::uint32_t node = graph_.begins[2 * rank]; node < graph_.begins[2 * rank + 1]; ++node)
        if (left_[node] == 0) freed_.push_back(node);
      go_on(0);
    }
    while (!agenda_.empty()) {
      const auto [at, what] = agenda_.first();
      if (state_[event(what)] != fresh && !comes_first(at, what)) continue;
      const auto node = static_cast<std::uint32_t>(what) >> 1;
      const bool arrives = what & 1;
      const auto kind = graph_.nodes[node].kind;
      Time again = -1;
      if (arrives)
        again = arrive(node, at);
      else if (kind == Node::send)
        again = send(node, at);
      else if (kind == Node::compute)
        again = compute(node, at);
      else
        receive(node, at);
      if (again > at) {
        hold_back(what, again);
      } else {
        agenda_.pop();
        finish(at, what);
        go_on(at);
      }
    }
    if (std::find(ended_.begin(), ended_.end(), false) != ended_.end()) refuse();
    Time end = 0;
    for (const Processor& one : processors_) end = std::max(end, one.free);
    return predicted(end);
  }
  // Times by rank, of its first processor.
  std::vector<Account> accounts() const {
    std::vector<Account> found;
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      const Processor& first = processors_[std::size_t{rank} * graph_.processors];
      found.push_back(first.account.ended(first.free));
    }
    return found;
  }

 private:
  using Node = Graph::Node;
  static constexpr std::uint32_t NONE = ~0u;
  struct Processor {
    Time free = 0;
    Account account{};
  };

  // Of events at one moment, the one that was added first is first. `arrives`: the message of that send. There are at
  // most 2^31 nodes, each with two events.
  void insert(std::uint32_t node, bool arrives, Time at) {
    agenda_.push({at, added_++ << 32 | std::uint64_t{node} << 1 | (arrives ? 1u : 0u)});
  }
  // Events that wait for the same processor and interface, the first one on top. Only this one is in the agenda, at
  // `at`: if each of n events were tried again whenever the processor is free, that would be n^2 steps.
  struct Waiting {
    std::vector<std::uint64_t> numbers;  // a heap of what the agenda calls them
    Time at = 0;
  };
  enum State : std::uint8_t { fresh, waits, done };
  static std::size_t event(std::uint64_t what) { return static_cast<std::uint32_t>(what); }

  Waiting& waiting(std::uint64_t what) {
    const Node& node = graph_.nodes[event(what) >> 1];
    const bool arrives = what & 1;
    const std::uint64_t rank = arrives ? graph_.channels[node.channel].target : node.rank;
    const std::uint64_t resource = rank * graph_.processors + node.processor;
    return waiting_[(resource * graph_.interfaces + node.interface) * 3 + (arrives ? 2 : node.kind == Node::send)];
  }
  // Removes an event from the agenda that cannot be carried out before `again`.
  void hold_back(std::uint64_t what, Time again) {
    Waiting& all = waiting(what);
    if (state_[event(what)] == fresh) {
      state_[event(what)] = waits;
      all.numbers.push_back(what);
      std::push_heap(all.numbers.begin(), all.numbers.end(), std::greater{});
    }
    if (all.numbers.front() != what) return agenda_.pop(), void();
    all.at = again;
    agenda_.replace_first({again, what});
  }
  // Returns whether an event that waited is the first of its kind at this time. Otherwise it is removed from the
  // agenda, in which it is once more or which gets it later.
  bool comes_first(Time at, std::uint64_t what) {
    if (state_[event(what)] == waits)
      if (const Waiting& all = waiting(what); all.numbers.front() == what && all.at == at) return true;
    agenda_.pop();
    return false;
  }
  void finish(Time at, std::uint64_t what) {
    State& state = state_[event(what)];
    if (std::exchange(state, done) != waits) return;
    Waiting& all = waiting(what);
    std::pop_heap(all.numbers.begin(), all.numbers.end(), std::greater{});
    all.numbers.pop_back();
    if (all.numbers.empty()) return;
    const Node& node = graph_.nodes[event(what) >> 1];  // the next one has its processor and interface
    const std::uint32_t rank = what & 1 ? graph_.channels[node.channel].target : node.rank;
    all.at = std::max(at, processor(rank, node).free);
    if (node.kind == Node::send) all.at = std::max(all.at, (what & 1 ? receives_ : sends_)[interface(rank, node)]);
    agenda_.push({all.at, all.numbers.front()});
  }
  // Each of these returns when it can be tried again, where it cannot be carried out now.
  Time compute(std::uint32_t number, Time at) {
    const Node& node = graph_.nodes[number];
    Processor& own = processor(node.rank, node);
    if (own.free > at) return own.free;
    const double slower = slower_[node.rank];
    own.free = later(at, slower == 1 ? node.amount : scaled(node.amount, slower));
    own.account.computing += own.free - at;
    begun(number);
    ended(number);
    return at;
  }
  Time send(std::uint32_t number, Time at) {
    const Node& node = graph_.nodes[number];
    Processor& own = processor(node.rank, node);
    Time& interface_free = sends_[interface(node.rank, node)];
    if (const Time both = std::max(own.free, interface_free); both > at) return both;
    const Price cost = find_price(node);
    begun(number);
    own.free = later(at, cost.processor);
    own.account.talking += own.free - at;
    interface_free = later(at, cost.occupied);
    insert(number, true, later(at, cost.overhead + cost.latency));
    if (!rendezvous(node)) ended(number);
    return at;
  }
  void receive(std::uint32_t number, Time at) {
    begun(number);
    const std::uint32_t message = take(graph_.nodes[number], Node::send);
    if (message == NONE) return hold(number);
    if (rendezvous(graph_.nodes[message])) end_send(message, at);
    ended(number);
  }
  Time arrive(std::uint32_t number, Time at) {
    const Node& node = graph_.nodes[number];
    const std::uint32_t rank = graph_.channels[node.channel].target;
    Processor& own = processor(rank, node);
    Time& interface_free = receives_[interface(rank, node)];
    if (const Time both = std::max(own.free, interface_free); both > at) return both;
    const Price cost = find_price(node);
    own.free = later(at, cost.overhead + std::max(cost.processor - cost.overhead, cost.data));
    own.account.talking += own.free - at;
    interface_free = later(at, cost.occupied);
    const std::uint32_t taken = take(node, Node::receive);
    if (taken == NONE) {
      hold(number);
      return at;
    }
    if (rendezvous(node)) end_send(number, at);
    ended(taken);
    return at;
  }
  // A send with rendezvous ends where the receiver takes its message: its processor and interface have waited until
  // then.
  void end_send(std::uint32_t number, Time at) {
    const Node& node = graph_.nodes[number];
    Processor& own = processor(node.rank, node);
    own.free = std::max(own.free, at);
    Time& interface_free = sends_[interface(node.rank, node)];
    interface_free = std::max(interface_free, at);
    ended(number);
  }
  void ended(std::uint32_t node) {
    ended_[node] = true;
    free(2 * std::size_t{node});
  }
  void begun(std::uint32_t node) { free(2 * std::size_t{node} + 1); }
  void free(std::size_t list) {
    for (std::uint64_t i = graph_.first[list]; i < graph_.first[list + 1]; ++i)
      if (--left_[graph_.next[i]] == 0) freed_.push_back(graph_.next[i]);
  }
  // Adds the nodes that can begin now to the agenda: rank by rank, first sends, then receives.
  void go_on(Time at) {
    if (freed_.size() > 1) {
      const auto rank = [&](std::uint32_t node) { return graph_.nodes[node].rank; };
      const auto before = [&](auto a, auto b) { return rank(a) < rank(b); };
      if (!std::is_sorted(freed_.begin(), freed_.end(), before)) std::stable_sort(freed_.begin(), freed_.end(), before);
      for (auto begin = freed_.begin(); begin != freed_.end();) {
        const auto end = std::find_if(begin, freed_.end(), [&](auto node) { return rank(node) != rank(*begin); });
        // Not stable: LogGOPSim's order of more than sixteen is the one of this algorithm.
        std::sort(begin, end, [&](auto a, auto b) { return graph_.nodes[a].kind < graph_.nodes[b].kind; });
        begin = end;
      }
    }
    for (const std::uint32_t number : freed_) {
      const Node& node = graph_.nodes[number];
      Time from = std::max(at, processor(node.rank, node).free);
      if (node.kind == Node::send) from = std::max(from, sends_[interface(node.rank, node)]);
      insert(number, false, from);
    }
    freed_.clear();
  }
  void hold(std::uint32_t number) {
    const std::uint32_t channel = graph_.nodes[number].channel;
    if (head_[channel] == NONE)
      head_[channel] = number;
    else
      behind_[tail_[channel]] = number;
    tail_[channel] = number;
  }
  // Removes and returns the first waiting node of that kind in the channel of `node`; NONE without one.
  std::uint32_t take(const Node& node, decltype(Node::kind) kind) {
    std::uint32_t& head = head_[node.channel];
    if (head == NONE || graph_.nodes[head].kind != kind) return NONE;
    const std::uint32_t found = head;
    head = behind_[found];
    return found;
  }
  Price find_price(const Node& node) const {
    const auto& [source, target] = graph_.channels[node.channel];
    return price(scenario_, places_.between(source, target), node.amount);
  }
  [[noreturn]] void refuse() const {
    for (std::uint32_t number = 0; number < ended_.size(); ++number) {
      const Node& node = graph_.nodes[number];
      if (ended_[number] || left_[number] > 0) continue;
      const auto& [source, target] = graph_.channels[node.channel];
      const std::string who = "rank " + std::to_string(node.rank) + " waits forever: ";
      throw Refused(node.kind == Node::receive ? who + "for a message of rank " + std::to_string(source)
                                               : who + "its message to rank " + std::to_string(target) +
                                                     " is larger than the eager limit, and its receive never begins");
    }
    throw Refused("operations of a rank require each other in a circle");
  }

  Processor& processor(std::uint32_t rank, const Node& node) {
    return processors_[std::size_t{rank} * graph_.processors + node.processor];
  }
  std::size_t interface(std::uint32_t rank, const Node& node) const {
    return std::size_t{rank} * graph_.interfaces + node.interface;
  }
  bool rendezvous(const Node& node) const { return node.amount > places_.structure.eager; }

  const Graph& graph_;
  const Scenario& scenario_;
  Prepared places_;             // for the class of a pair
  std::vector<double> slower_;  // by rank
  std::vector<Processor> processors_;
  std::vector<Time> sends_, receives_;      // when an interface is free for the next one
  std::vector<std::uint32_t> left_;         // by node: the number of nodes that it still waits for
  std::vector<bool> ended_;                 // by node
  std::vector<std::uint32_t> head_, tail_;  // by channel: receives that wait for messages, or messages for receives
  std::vector<std::uint32_t> behind_;       // by node: the next one there
  std::uint64_t added_ = 0;                 // count of events
  std::vector<std::uint32_t> freed_;        // nodes that can begin now
  Agenda agenda_;
  std::vector<State> state_;                            // by event
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by kind, processor and interface
};

}  // namespace steelyard::whatif
