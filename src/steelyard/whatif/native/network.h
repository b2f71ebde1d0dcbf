// The network's parameters (LogGOPS), and the operations as they are replayed under them.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "schedule.h"

namespace steelyard::whatif {

// The parameters of one class of pairs. After Hoefler, Schneider, Lumsdaine, LogGOPSim, HPDC 2010: latency, overhead of
// the processor for a message and for a byte, gap of the network interface between messages and for a byte. The first
// byte is in `o` and `g`.
struct Link {
  std::int64_t from = 0;  // B: of messages of that size and longer, until the next link begins
  Time L = 0, o = 0, g = 0;
  double O = 0, G = 0;  // ps/B
};
using Links = std::vector<Link>;  // by rising `from`, the first of which is 0: an MPI has several protocols

// Returns the link for messages of this size.
inline const Link& link_for(const Links& links, std::int64_t bytes) {
  std::size_t at = links.size() - 1;
  while (at > 0 && links[at].from > bytes) --at;
  return links[at];
}

// Ranks of one node that share a cache, a socket, or neither; of two nodes on one switch, and of two that are parted by
// one and by two further levels of switches. A power of two of classes: operations are asked for theirs often.
enum Class : std::uint32_t { same_cache, same_socket, within, across, farthest = across + 2, CLASSES = 8 };
constexpr std::size_t LEVELS = farthest - across;  // of links between switches

// The conditions that decide the operations. They are the same for all scenarios that are replayed together.
struct Structure {
  std::int64_t eager = 65535;  // bytes (S of LogGPS): longer messages wait until the receiver is ready
  std::uint32_t ranks_per_node = 1;
  std::uint32_t ranks_per_cache = 0, ranks_per_socket = 0;  // in blocks, from a node's first rank on; 0: none share one
  std::array<std::uint32_t, LEVELS> tree{};  // nodes on a switch, switches on one of the next level; 0: all of them

  bool operator==(const Structure&) const = default;
};

// The links of one level between switches: up and down.
struct Uplink {
  double G = 0;  // ps/B
  Time hop = 0;  // the latency of each
};

struct Prepared {
  const Schedule* schedule;
  Structure structure;
  std::vector<Op> ops;
  std::vector<std::uint64_t> begins;
  std::uint32_t rendezvous = 0;               // messages that are longer than the eager limit
  std::vector<std::uint32_t> source, target;  // their ranks

  std::uint32_t node(std::uint32_t rank) const { return rank / structure.ranks_per_node; }
  // Returns the switch of that level above a node. All nodes share the one above the last level.
  std::uint32_t above(std::uint32_t node, std::size_t level) const {
    for (std::size_t i = 0; i <= level; ++i) node = structure.tree[i] == 0 ? 0 : node / structure.tree[i];
    return node;
  }
  // Returns the class of two ranks of a node, by their numbers there.
  std::uint32_t inside(std::uint32_t rank, std::uint32_t other) const {
    const auto share = [&](std::uint32_t each) { return each > 0 && rank / each == other / each; };
    return share(structure.ranks_per_cache) ? same_cache : share(structure.ranks_per_socket) ? same_socket : within;
  }
  std::uint32_t between(std::uint32_t rank, std::uint32_t other) const {
    const std::uint32_t a = node(rank), b = node(other);
    if (a == b) return inside(rank % structure.ranks_per_node, other % structure.ranks_per_node);
    for (std::size_t level = 0; level < LEVELS; ++level)
      if (above(a, level) == above(b, level)) return across + static_cast<std::uint32_t>(level);
    return farthest;
  }
};

// Returns ps. All callers round in the same way, so that both modes agree to the last digit.
inline Time per_byte(double cost, std::int64_t bytes) {
  const double found = cost * static_cast<double>(std::max<std::int64_t>(bytes - 1, 0));
  if (!(found < static_cast<double>(LONGEST / 4)))
    throw Refused("a message of " + std::to_string(bytes) + " B takes more than 6 days");
  return static_cast<Time>(std::llround(found));
}

// Adds times. A clock stays at the end of the predictable time once it has reached it.
inline Time later(Time now, Time by) { return std::min(now + by, STOPPED); }
inline Time predicted(Time end) {
  if (end >= STOPPED) throw Refused("the predicted time is longer than 53 days");
  return end;
}

class Preparing {
 public:
  Preparing(const Schedule& schedule, const Structure& structure)
      : schedule_(schedule), out_{&schedule, structure, {}, {}, 0, {}, {}} {
    if (schedule.sizes.size() * CLASSES >> Op::SIZES)
      throw Refused("messages have more than 33 million different sizes");
    for (std::int64_t size : schedule.sizes)
      if (size > structure.eager) number_.resize(schedule.source.size(), NONE);
  }

  Prepared done() {
    out_.ops.reserve(schedule_.ops.size());
    for (std::size_t at = 0, stream = 0; at < schedule_.ops.size(); ++at) {
      if (stream < schedule_.begins.size() && schedule_.begins[stream] == at) {
        out_.begins.push_back(out_.ops.size());
        ++stream;
      }
      add(schedule_.ops[at]);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t NONE = ~0u;

  void add(Op op) {
    switch (Kind kind = op.kind()) {
      case Kind::send:
      case Kind::sent:
      case Kind::post:
      case Kind::receive: {
        std::uint32_t size = op.size() * CLASSES + between(op.message());
        if (schedule_.sizes[op.size()] > out_.structure.eager) {
          if (kind == Kind::send) kind = Kind::send_rendezvous;
          if (kind == Kind::receive) kind = Kind::receive_rendezvous;
          out_.ops.push_back(Op::of(kind, size, number_message(op.message())));
        } else if (kind == Kind::send || kind == Kind::receive) {
          out_.ops.push_back(Op::of(kind, size, op.message()));
        }
        break;
      }
      default:
        out_.ops.push_back(op);
    }
  }
  std::uint32_t between(std::uint32_t message) const {
    return out_.between(schedule_.source[message], schedule_.target[message]);
  }
  std::uint32_t number_message(std::uint32_t message) {
    if (number_[message] == NONE) {
      number_[message] = out_.rendezvous++;
      out_.source.push_back(schedule_.source[message]);
      out_.target.push_back(schedule_.target[message]);
    }
    return number_[message];
  }

  const Schedule& schedule_;
  Prepared out_;
  std::vector<std::uint32_t> number_;
};

inline Prepared prepare(const Schedule& schedule, const Structure& structure) {
  return Preparing(schedule, structure).done();
}

}  // namespace steelyard::whatif
