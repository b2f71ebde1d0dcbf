// Writes SimGrid's time-independent traces: all collectives as the messages that they consist of.
#pragma once
#include <set>

#include "writers.h"

namespace steelyard::whatif {
class TiWriting {
 public:
  TiWriting(const Schedule& schedule, const std::vector<std::uint32_t>& tags, Output& out, std::uint32_t rank)
      : schedule_(schedule), tags_(tags), out_(out), rank_(rank) {}

  std::uint64_t write(const Op* op) {
    learn_messages(op);
    out_.write("%u init\n", rank_);
    for (; op->kind() != Kind::end; ++op) op = write_operation(op);
    out_.write("%u finalize\n", rank_);
    return apart_;
  }

 private:
  // Collects the sends and receives that a later wait completes: only these are tracked as open requests.
  void learn_messages(const Op* op) {
    for (; op->kind() != Kind::end; ++op) {
      if (op->kind() == Kind::sent) waited_sends_.insert(op->message());
      if (op->kind() == Kind::receive) waited_posts_.insert(op->message());
    }
  }
  // Returns the last operation that it has written.
  const Op* write_operation(const Op* op) {
    const std::uint32_t m = op->message();
    switch (op->kind()) {
      case Kind::compute:
        if (const std::uint64_t ps = op->value())
          out_.write("%u compute %llu.%03u\n", rank_, static_cast<unsigned long long>(ps / 1000),
                     static_cast<unsigned>(ps % 1000));
        return op;
      case Kind::send:
        return begin(op, "send", schedule_.target[m], op[1].kind() == Kind::sent && op[1].message() == m, waited_sends_,
                     open_sends_);
      case Kind::post:
        if (!waited_posts_.contains(m)) return op;
        return begin(op, "recv", schedule_.source[m], op[1].kind() == Kind::receive && op[1].message() == m,
                     waited_posts_, open_posts_);
      case Kind::sent:
        return wait(op, open_sends_);
      case Kind::receive:
        return wait(op, open_posts_);
      case Kind::receive_all:
        return write_all(op);
      default:
        return op;
    }
  }
  const Op* begin(const Op* op, const char* verb, std::uint32_t partner, bool waits,
                  const std::set<std::uint32_t>& waited, std::set<std::uint32_t>& open) {
    const std::uint32_t m = op->message();
    out_.write("%u %s%s %u %u %lld\n", rank_, waits ? "" : "i", verb, partner, tags_[m],
               static_cast<long long>(schedule_.sizes[op->size()]));
    if (!waits) (waited.contains(m) ? open : freed_).insert(m);
    return waits ? op + 1 : op;
  }
  const Op* wait(const Op* op, std::set<std::uint32_t>& open) {
    const std::uint32_t m = op->message();
    // The send and the receive of a message to the rank itself have one name, and the send comes first.
    const bool twice = op->kind() == Kind::receive && freed_.erase(m);
    for (int i = 0; i <= twice; ++i)
      out_.write("%u wait %u %u %u\n", rank_, schedule_.source[m], schedule_.target[m], tags_[m]);
    open.erase(m);
    return op;
  }
  // All open requests together, if the operations wait for exactly these.
  const Op* write_all(const Op* op) {
    const Op* last = op + op->value();
    std::set<std::uint32_t> posts, sends;
    for (const Op* o = op + 1; o <= last; ++o) posts.insert(o->message());
    // Other formats put computations of no length between.
    const auto belongs = [](Op o) { return o.kind() == Kind::sent || (o.kind() == Kind::compute && o.value() == 0); };
    for (; belongs(last[1]) && sends.size() < open_sends_.size(); ++last)
      if (last[1].kind() == Kind::sent) sends.insert(last[1].message());
    if (posts == open_posts_ && sends == open_sends_) {
      out_.write("%u waitall\n", rank_);
      open_posts_.clear();
      open_sends_.clear();
      return last;
    }
    ++apart_;
    return op;  // the receives follow
  }

  const Schedule& schedule_;
  const std::vector<std::uint32_t>& tags_;
  Output& out_;
  const std::uint32_t rank_;
  std::set<std::uint32_t> waited_sends_, waited_posts_, open_sends_, open_posts_;
  std::set<std::uint32_t> freed_;  // sends that nothing waits for
  std::uint64_t apart_ = 0;
};

// SimGrid's time-independent traces: `folder`/trace names a file for each rank. Work counts 1 flop a ns. What several
// receives wait for at once while others stay open becomes one wait after the other; returned is how often.
inline std::uint64_t write_ti(const Schedule& schedule, const std::string& folder) {
  const auto tags = list_tags(schedule);
  Output list(folder + "/trace");
  std::uint64_t apart = 0;
  for (std::size_t stream = 0; stream < schedule.begins.size(); ++stream) {
    const std::uint32_t rank = schedule.rank_of[stream];
    if (stream > 0 && schedule.rank_of[stream - 1] == rank)
      throw Refused("TI has one order of operations for each rank, and rank " + std::to_string(rank) +
                    " computes during a collective, or has several processors. Export to GOAL instead");
    const std::string name = "trace." + std::to_string(rank);
    Output out(folder + "/" + name);
    apart += TiWriting(schedule, tags, out, rank).write(schedule.ops.data() + schedule.begins[stream]);
    out.close();
    list.write("%s\n", name.c_str());
  }
  list.close();
  return apart;
}

}  // namespace steelyard::whatif
