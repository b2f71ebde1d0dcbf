// The operations for receive=stream, with their dependencies. The replay decides by their times in which order a
// processor carries them out.
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "goal.h"
#include "schedule.h"
#include "text.h"

namespace steelyard::whatif {

struct Graph {
  struct Node {
    std::int64_t amount = 0;  // ps or B
    std::uint32_t rank = 0;
    std::uint32_t channel = 0;  // channel of a send or receive: its messages are received in the order of their arrival
    std::uint32_t needs = 0;    // count of ends and begins that it waits for
    std::uint32_t processor = 0, interface = 0;
    // In the order in which operations go on that can go on at the same moment.
    enum : std::uint8_t { send, receive, compute } kind = compute;
  };
  struct Ends {
    std::uint32_t source, target;
  };
  std::uint32_t ranks = 0, processors = 1, interfaces = 1;  // of each rank
  std::vector<Node> nodes;                                  // rank after rank
  std::vector<std::uint32_t> begins;                        // by rank: its first node, and behind its last
  std::vector<std::uint32_t> next;   // nodes that wait for the end of a node, and then those that wait for its begin
  std::vector<std::uint64_t> first;  // by node, twice: where those begin in `next`
  std::vector<Ends> channels;
};

class Making {
 public:
  explicit Making(std::size_t ranks) {
    out_.ranks = static_cast<std::uint32_t>(ranks);
    out_.begins.assign(2 * ranks, 0);
  }

  std::uint32_t channel(std::uint32_t source, std::uint32_t target, std::uint32_t tag) {
    const auto [at, added] = known_.try_emplace({source, target, tag}, out_.channels.size());
    if (added) add_channel(source, target);
    return static_cast<std::uint32_t>(at->second);
  }
  void add_channel(std::uint32_t source, std::uint32_t target) {
    for (const std::uint32_t rank : {source, target})
      if (rank >= out_.ranks)
        throw Refused("a message of rank " + std::to_string(source) + " to rank " + std::to_string(target) +
                      "; there are " + std::to_string(out_.ranks) + " ranks");
    out_.channels.push_back({source, target});
  }
  // The numbers of processors and interfaces have no gaps.
  std::uint32_t processor(std::uint32_t number) { return compact(processors_, number, out_.processors); }
  std::uint32_t interface(std::uint32_t number) { return compact(interfaces_, number, out_.interfaces); }

  // The nodes of a rank and their dependencies, by their numbers within the rank.
  void add(std::uint32_t rank, const std::vector<Graph::Node>& nodes, const std::vector<Need>& needs) {
    const auto base = static_cast<std::uint32_t>(out_.nodes.size());
    if (nodes.size() > std::numeric_limits<std::uint32_t>::max() / 2 - base)
      throw Refused("the trace has more than 2 billion operations");
    out_.begins[2 * rank] = base;
    out_.nodes.insert(out_.nodes.end(), nodes.begin(), nodes.end());
    out_.begins[2 * rank + 1] = static_cast<std::uint32_t>(out_.nodes.size());
    // Counted, then placed: those of one node stay in their order.
    std::vector<std::uint64_t> place(2 * nodes.size() + 1, 0);
    for (const Need& need : needs) ++place[2 * need.before + need.begin + 1], ++out_.nodes[base + need.step].needs;
    place[0] = out_.next.size();
    for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
    out_.first.insert(out_.first.end(), place.begin(), place.end() - 1);
    out_.next.resize(place.back());
    for (const Need& need : needs) out_.next[place[2 * need.before + need.begin]++] = base + need.step;
  }

  Graph done() {
    out_.first.push_back(out_.next.size());
    constexpr std::uint64_t MOST = 1u << 28;
    if (std::uint64_t{out_.ranks} * std::max(out_.processors, out_.interfaces) > MOST)
      throw Refused("the ranks have more than " + std::to_string(MOST) + " processors or interfaces");
    return std::move(out_);
  }

 private:
  static std::uint32_t compact(std::map<std::uint32_t, std::uint32_t>& known, std::uint32_t number,
                               std::uint32_t& count) {
    const std::uint32_t found = known.try_emplace(number, known.size()).first->second;
    count = std::max(count, found + 1);
    return found;
  }

  Graph out_;
  std::unordered_map<Match, std::size_t, MatchHash> known_;
  std::map<std::uint32_t, std::uint32_t> processors_, interfaces_;
};

// The streams of a rank as nodes, each on a processor of its own. What comes next in a stream waits for the begin of
// the last one, which the processor carries out then, and for the end of what the program waits for.
class Chain {
 public:
  Chain(Making& making, const Schedule& schedule, std::uint32_t rank)
      : making_(making), schedule_(schedule), rank_(rank) {}

  void stream(const Op* op) {
    front_.clear();
    processor_ = making_.processor(streams_++);
    for (; op->kind() != Kind::end; ++op) add(*op);
  }
  void end() {
    for (const auto& [node, signal] : awaited_) needs_.push_back({node, signals_.at(signal), false});
    making_.add(rank_, nodes_, needs_);
  }

 private:
  void add(Op op) {
    switch (op.kind()) {
      case Kind::compute:
        return node(Graph::Node::compute, static_cast<std::int64_t>(op.value()), 0);
      case Kind::send:
        sends_[op.message()] = static_cast<std::uint32_t>(nodes_.size());
        return node(Graph::Node::send, schedule_.sizes[op.size()], op.message());
      case Kind::post:
        receives_[op.message()] = static_cast<std::uint32_t>(nodes_.size());
        return node(Graph::Node::receive, schedule_.sizes[op.size()], op.message());
      case Kind::sent:
        if (const auto sent = sends_.find(op.message()); sent != sends_.end())
          front_.push_back({0, sent->second, false});
        return;
      case Kind::receive:
        if (!receives_.contains(op.message())) add(Op::of(Kind::post, op.size(), op.message()));
        return front_.push_back({0, receives_.at(op.message()), false});
      case Kind::signal:
        signals_[op.message()] = static_cast<std::uint32_t>(nodes_.size());
        return node(Graph::Node::compute, 0, 0);
      case Kind::await:
        awaited_.push_back({static_cast<std::uint32_t>(nodes_.size()), op.message()});
        return node(Graph::Node::compute, 0, 0);
      default:
        return;
    }
  }
  void node(decltype(Graph::Node::kind) kind, std::int64_t amount, std::uint32_t channel) {
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    for (Need need : front_) needs_.push_back({number, need.before, need.begin});
    Graph::Node made;
    made.amount = amount, made.rank = rank_, made.channel = channel, made.kind = kind;
    made.processor = processor_;
    nodes_.push_back(made);
    front_.assign(1, {0, number, kind != Graph::Node::compute});
  }

  Making& making_;
  const Schedule& schedule_;
  const std::uint32_t rank_;
  std::uint32_t streams_ = 0, processor_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> awaited_;  // by node: a signal of another stream
  std::vector<Graph::Node> nodes_;
  std::vector<Need> needs_, front_;
  std::unordered_map<std::uint32_t, std::uint32_t> sends_, receives_;  // by message
  std::unordered_map<std::uint32_t, std::uint32_t> signals_;
};

inline Graph make_goal_graph(const std::string& path) {
  Source source(path);
  std::optional<Making> making;
  std::vector<Graph::Node> nodes;
  read_goal(source, {[&](std::size_t ranks) { making.emplace(ranks); },
                     [&](std::size_t number, const GoalRank& rank) {
                       const auto own = static_cast<std::uint32_t>(number);
                       nodes.clear();
                       for (const Step& step : rank.steps) {
                         Graph::Node& made = nodes.emplace_back();
                         made.rank = own;
                         made.processor = making->processor(step.processor);
                         made.interface = making->interface(step.interface);
                         made.amount = step.kind == Step::compute ? step.amount * NANOSECOND : step.amount;
                         if (step.kind == Step::compute) continue;
                         const bool sends = step.kind == Step::send;
                         made.kind = sends ? Graph::Node::send : Graph::Node::receive;
                         made.channel = making->channel(sends ? own : step.peer, sends ? step.peer : own, step.tag);
                       }
                       making->add(own, nodes, rank.needs);
                     }});
  return making->done();
}

// Makes the graph of a schedule: each operation waits for the begin of the one before in its stream, and for the end of
// a computation.
inline Graph make_graph(const Schedule& schedule) {
  Making making(schedule.ranks);
  for (std::size_t message = 0; message < schedule.source.size(); ++message)
    making.add_channel(schedule.source[message], schedule.target[message]);
  for (std::size_t stream = 0; stream < schedule.begins.size();) {
    const std::uint32_t rank = schedule.rank_of[stream];
    Chain chain(making, schedule, rank);
    for (; stream < schedule.begins.size() && schedule.rank_of[stream] == rank; ++stream)
      chain.stream(&schedule.ops[schedule.begins[stream]]);
    chain.end();
  }
  return making.done();
}

}  // namespace steelyard::whatif
