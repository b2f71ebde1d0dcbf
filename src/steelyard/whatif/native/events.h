// Replays in the order of time, with queues: the messages that leave and reach a node pass its network interface one
// after the other. Without contention it gives the same times as `dataflow.h`, to the picosecond.
#pragma once
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
    bool operator<(const Item& other) const { return at != other.at ? at < other.at : what < other.what; }
  };
  bool empty() const { return heap_.empty(); }
  void push(Item item);
  Item pop();

 private:
  std::vector<Item> heap_;
};

class Events {
 public:
  Events(const Prepared& prepared, const Connections* connections, const Scenario& scenario);
  // Returns the end of the last rank. Refused names a rank that waits forever.
  Time run();
  std::vector<Account> accounts() const;

 private:
  static constexpr Time UNSENT = -1;  // -2 - stream: that stream waits for it
  static constexpr std::uint32_t NOBODY = ~0u;
  // The steps of a message, from the sender's interface up and down the links between switches to the receiver's.
  // An item of the agenda is the message's slot and that, in the last bits.
  enum Stage : std::uint64_t { leaves, ups, downs = ups + LEVELS, reaches = downs + LEVELS, mended, STAGES = 8 };

  struct State {
    const Op* at = nullptr;
    Time now = 0, interface = 0;
    Account account{};
    std::uint32_t known = 0;
  };
  struct Meeting {
    Time first = 0, left = UNSENT;
    std::uint32_t sender = NOBODY;
    std::uint32_t size = 0;
    enum : std::uint8_t { open, asked, posted, met } state = open;
  };

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

  void advance(std::uint32_t stream);
  void compute(std::uint32_t stream, Time time);
  void work(std::uint32_t stream, Time time);
  void send(std::uint32_t stream, Op op);
  bool receive(std::uint32_t stream, Op op);
  bool receive_all(std::uint32_t stream, const Op* at);
  void take(std::uint32_t stream, Time arrived, std::uint32_t size);
  void meet(Op op, Time now, decltype(Meeting::open) who);
  void happen(std::uint64_t slot, std::uint64_t stage, Time now);
  void leave(std::uint64_t slot, Time now);
  void pass(std::uint64_t slot, std::uint64_t stage, Time now);
  void reach(std::uint64_t slot, Time now);
  bool hold(std::uint32_t message, Time now);
  void reveal(std::deque<Held>& held, Time now, Time round_trip);
  void mend(std::uint32_t message, Time now);
  Time receive_at(std::uint64_t slot, Time now);
  void arrive(std::uint64_t slot, Time arrival);
  void left(std::uint32_t number, Time when);
  Time lost(std::uint32_t source, std::uint32_t target, std::uint64_t which, std::uint32_t size,
            bool control = false) const;

  std::uint64_t slot(Op op) const { return rendezvous(op) ? first_meeting_ + op.message() : op.message(); }
  static bool rendezvous(Op op) { return op.kind() == Kind::receive_rendezvous || op.kind() == Kind::send_rendezvous; }
  std::uint32_t source(std::uint64_t slot) const;
  std::uint32_t target(std::uint64_t slot) const;
  std::uint32_t size(std::uint64_t slot) const;

  const Prepared& p_;
  const Schedule& schedule_;
  const std::array<Uplink, LEVELS> uplinks_;
  Disturbance<1> disturbance_;
  const std::uint64_t first_meeting_;  // the numbers before it are those of messages and signals
  std::vector<Cost<1>> cost_;
  std::vector<std::uint32_t> size_;                  // of each message without rendezvous: its row in cost_
  std::vector<Time> arrival_, out_, in_;             // by slot; by node: when its interface is free
  std::vector<Time> tail_;                           // by slot: when its last byte arrives, by the links passed so far
  std::array<std::vector<Time>, LEVELS> up_, down_;  // by level and switch: when its link to the next level is free
  std::vector<Meeting> meetings_;
  std::vector<State> states_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::pair<Time, Time>> taken_;  // by `receive_all`: arrivals, and what taking them costs
  const Connections* connections_;
  const bool alone_;  // one stream sends through each interface, in the order of time, so that no event is needed
  std::vector<std::deque<Held>> held_;  // by connection, in the order in which they were sent
  Agenda agenda_;
};

}  // namespace steelyard::whatif
