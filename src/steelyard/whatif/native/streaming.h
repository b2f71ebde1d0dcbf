// Replays a graph as the simulator LogGOPSim does (Hoefler, Schneider, Lumsdaine, HPDC 2010), to the last digit: a
// message is taken by the receiver's processor from its first byte on, and keeps it busy until the last byte is there.
#pragma once
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
  Streaming(const Graph& graph, const Structure& structure, const Scenario& scenario);
  // Returns the end of the last rank. Refused names a rank that waits forever.
  Time run();
  // Times by rank, of its first processor.
  std::vector<Account> accounts() const;

 private:
  using Node = Graph::Node;
  static constexpr std::uint32_t NONE = ~0u;
  // Events of the agenda, in the order in which they were added.
  struct Waiting {
    std::uint32_t node;
    bool arrives;  // the message of that send
  };
  struct Processor {
    Time free = 0;
    Account account{};
  };

  void insert(std::uint32_t node, bool arrives, Time at);
  Time compute(std::uint32_t node, Time at);
  Time send(std::uint32_t node, Time at);
  void receive(std::uint32_t node, Time at);
  Time arrive(std::uint32_t node, Time at);
  void end_send(std::uint32_t node, Time at);
  void ended(std::uint32_t node);
  void begun(std::uint32_t node) { free(2 * std::size_t{node} + 1); }
  void free(std::size_t list);
  void go_on(Time at);
  void hold(std::uint32_t node);
  std::uint32_t take(const Node& node, decltype(Node::kind) kind);
  Price price_of(const Node& node) const;
  [[noreturn]] void refuse() const;

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
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> freed_;  // nodes that can begin now
  Agenda agenda_;
};

}  // namespace steelyard::whatif
