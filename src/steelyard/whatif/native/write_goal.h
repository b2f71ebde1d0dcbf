// Writes GOAL: each rank's operations in their order, and what each must wait for.
#pragma once
#include <map>

#include "writers.h"

namespace steelyard::whatif {
class GoalWriting {
 public:
  GoalWriting(const Schedule& schedule, const std::vector<std::uint32_t>& tags, Output& out)
      : schedule_(schedule), tags_(tags), out_(out) {}

  void begin(std::uint32_t rank) { out_.write("rank %u {\n", rank); }
  void stream(const Op* op) {
    std::map<std::uint32_t, bool> received;
    for (const Op* o = op; o->kind() != Kind::end; ++o)
      if (o->kind() == Kind::receive) received[o->message()] = true;
    rest_ = 0;
    chained_ = false;
    for (; op->kind() != Kind::end; ++op) {
      if (op->kind() == Kind::post && !received.contains(op->message())) continue;  // nobody waits for it
      if (op->kind() == Kind::receive_all) {
        wait(op + 1, op->value());
        op += op->value();
      } else {
        write_operation(op);
      }
    }
    if (!waiting_.empty()) write_empty_step();
    ++processor_;
  }
  void end() {
    for (const auto& [after, before, begun] : required_)
      out_.write("l%u %s l%u\n", after, begun ? "irequires" : "requires", before);
    out_.write("}\n");
    required_.clear();
    signals_.clear();
    awaited_.clear();
    processor_ = next_ = 0;
  }
  // Signals are known when all streams have been written.
  void join() {
    for (const auto& [label, signal] : awaited_) required_.push_back({label, signals_.at(signal), false});
  }

 private:
  struct Required {
    std::uint32_t after, before;
    bool begun;
  };

  void write_operation(const Op* op) {
    const std::uint32_t m = op->message();
    switch (op->kind()) {
      case Kind::compute:
        rest_ += static_cast<Time>(op->value());
        next_label();
        out_.write("calc %lld cpu %u\n", static_cast<long long>(rest_ / NANOSECOND), processor_);
        rest_ %= NANOSECOND;
        break;
      case Kind::send:
      case Kind::post:
        message(op, op->kind() == Kind::send);
        break;
      case Kind::sent:
      case Kind::receive:
        wait(op, 1);
        break;
      case Kind::signal:
        write_empty_step();
        signals_[m] = next_ - 1;
        break;
      case Kind::await:
        write_empty_step();
        awaited_.push_back({next_ - 1, m});
        chained_ = true;
        break;
      default:
        break;
    }
  }
  void message(const Op* op, bool send) {
    const std::uint32_t m = op->message();
    (send ? sends_ : posts_)[m] = next_label();
    out_.write("%s %lldb %s %u tag %u cpu %u\n", send ? "send" : "recv",
               static_cast<long long>(schedule_.sizes[op->size()]), send ? "to" : "from",
               send ? schedule_.target[m] : schedule_.source[m], tags_[m], processor_);
  }
  // The next operations wait for these; earlier waits have ended by then.
  void wait(const Op* op, std::size_t count) {
    if (!waiting_.empty()) write_empty_step();
    for (std::size_t i = 0; i < count; ++i) {
      auto& labels = op[i].kind() == Kind::sent ? sends_ : posts_;
      waiting_.push_back(labels.at(op[i].message()));
    }
  }
  std::uint32_t next_label() {
    out_.write("l%u: ", next_);
    for (std::uint32_t before : waiting_) required_.push_back({next_, before, false});
    waiting_.clear();
    // GOAL keeps no order after an operation that waits for another processor, so the order is written down.
    if (chained_) required_.push_back({next_, next_ - 1, true});
    return next_++;
  }
  void write_empty_step() {
    next_label();
    out_.write("calc 0 cpu %u\n", processor_);
  }

  const Schedule& schedule_;
  const std::vector<std::uint32_t>& tags_;
  Output& out_;
  std::uint32_t next_ = 0, processor_ = 0;
  Time rest_ = 0;
  bool chained_ = false;
  std::vector<std::uint32_t> waiting_;
  std::vector<Required> required_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> awaited_;
  std::map<std::uint32_t, std::uint32_t> sends_, posts_, signals_;
};

// Writes whole ns, as GOAL requires. The remainder is carried over within a rank.
inline void write_goal(const Schedule& schedule, const std::string& path) {
  const auto tags = list_tags(schedule);
  Output out(path);
  out.write("num_ranks %u\n", schedule.ranks);
  GoalWriting writing(schedule, tags, out);
  for (std::size_t stream = 0; stream < schedule.begins.size(); ++stream) {
    const std::uint32_t rank = schedule.rank_of[stream];
    if (stream == 0 || schedule.rank_of[stream - 1] != rank) writing.begin(rank);
    writing.stream(schedule.ops.data() + schedule.begins[stream]);
    if (stream + 1 == schedule.begins.size() || schedule.rank_of[stream + 1] != rank) writing.join(), writing.end();
  }
  out.close();
}

}  // namespace steelyard::whatif
