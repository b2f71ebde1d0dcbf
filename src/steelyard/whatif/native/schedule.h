// The schedule of a replay: the operations of each rank, eight bytes each, and their messages.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace steelyard::whatif {

// Picoseconds: a byte at 400 Gbit/s takes 20 of them, and 106 days fit.
using Time = std::int64_t;
constexpr Time NANOSECOND = 1000;
// An operation takes less than 26 days, and clocks stop at twice that time, so that no sum overflows.
constexpr std::int64_t LAST_REGION = (std::int64_t{1} << 53) - 1;
constexpr Time LONGEST = Time{1} << 61, STOPPED = 2 * LONGEST;

// A trace, or a question, that cannot be replayed: a sentence with the place.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file that cannot be written. The cause is the machine, not the trace.
struct Unwritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind : std::uint8_t {
  compute,          // the processor works: value is the time
  send,             // a message leaves
  sent,             // waits until its data have left; only a message with rendezvous makes one wait
  post,             // from here on a message may be received; only for rendezvous it matters when
  receive,          // waits for a message and takes it
  receive_all,      // the next `value` operations are receives, taken in the order in which the messages arrive
  signal,           // to another stream of the rank
  await,            // a signal of another stream
  region,           // from here on the rank is in the region `value`; it begins in region 0
  send_rendezvous,  // as send and receive, of a message that is longer than the eager limit
  receive_rendezvous,
  end,
};

// Kind in 4 bits; then either a value of 60 bits, or which size (28 bits) and which message (32 bits).
struct Op {
  std::uint64_t word;

  static constexpr unsigned SIZES = 28;
  static Op of(Kind kind, std::uint64_t value) { return {static_cast<std::uint64_t>(kind) << 60 | value}; }
  static Op of(Kind kind, std::uint32_t size, std::uint32_t message) {
    return of(kind, std::uint64_t{size} << 32 | message);
  }
  Kind kind() const { return static_cast<Kind>(word >> 60); }
  std::uint64_t value() const { return word & ((std::uint64_t{1} << 60) - 1); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(word >> 32 & ((1u << SIZES) - 1)); }
  std::uint32_t message() const { return static_cast<std::uint32_t>(word); }
};

// What messages are matched by.
struct Match {
  std::uint32_t source, target;
  std::uint64_t tag;
  bool operator==(const Match&) const = default;
};
struct MatchHash {
  std::size_t operator()(const Match& m) const {
    std::uint64_t x = (std::uint64_t{m.source} << 32 | m.target) * 0x9e3779b97f4a7c15u ^ m.tag * 0xbf58476d1ce4e5b9u;
    return static_cast<std::size_t>(x ^ x >> 31);
  }
};

struct Counted {
  std::uint64_t computes = 0, sends = 0, receives = 0, signals = 0, unreceived = 0;
  std::int64_t bytes = 0;
  std::uint32_t ranks = 0;
};

// All ranks' operations, matched: each message has a number, which is that of its send.
struct Schedule : Counted {
  std::vector<Op> ops;                        // stream after stream, each with an `end`
  std::vector<std::uint64_t> begins;          // where each stream's operations begin
  std::vector<std::uint32_t> rank_of;         // each stream's rank; a rank has several where it has several processors
  std::vector<std::uint32_t> source, target;  // ranks, by message
  std::vector<std::int64_t> sizes;            // B, by the number of the size

  // Counts events as other simulators do: each computation, send, receive, and message on its way.
  std::uint64_t events() const { return computes + sends + receives + source.size(); }
};

// One rank's program while it is being read.
class Rank {
 public:
  void compute(Time time, std::size_t stream = 0);
  // Returns the send's number within the rank.
  std::uint32_t send(std::uint32_t target, std::uint64_t tag, std::int64_t bytes, std::size_t stream = 0);
  void sent(std::uint32_t send, std::size_t stream = 0);
  // Returns the receive's number within the rank.
  std::uint32_t post(std::uint32_t source, std::uint64_t tag, std::size_t stream = 0);
  void receive(std::uint32_t post, std::size_t stream = 0);
  void receive_all(const std::vector<std::uint32_t>& posts, std::size_t stream = 0);
  std::uint32_t signal(std::size_t stream);
  void await(std::uint32_t signal, std::size_t stream);
  void region(std::uint64_t number) { add(0, Op::of(Kind::region, number)); }
  // Nothing more comes: memory that nothing needs is given back.
  void fit() { first_.shrink_to_fit(), sends_.shrink_to_fit(), posts_.shrink_to_fit(); }
  // Operations of stream 0 so far.
  std::size_t length() const { return first_.size(); }

 private:
  friend class Builder;
  struct Sent {
    std::uint64_t tag;
    std::int64_t bytes;
    std::uint32_t target;
  };
  struct Posted {
    std::uint64_t tag;
    std::uint32_t source;
  };
  void add(std::size_t stream, Op op);

  std::vector<Op> first_;  // stream 0: most ranks have no other
  std::vector<std::vector<Op>> others_;
  std::vector<Sent> sends_;
  std::vector<Posted> posts_;
  std::uint32_t signals_ = 0;
  Time computed_ = 0;
};

class Builder {
 public:
  explicit Builder(std::size_t ranks);
  Rank& rank(std::size_t number) { return ranks_[number]; }
  std::size_t size() const { return ranks_.size(); }
  // Messages are matched as MPI does it: by source, target and tag in the order of the calls. Refused names a receive
  // that no send fits. The builder is empty then.
  Schedule finish();
  // Ends programs where they wait for a message that is never sent, those that wait for them then, and so on. Returns
  // for each rank how many operations of stream 0 are left, or WHOLE.
  std::vector<std::size_t> end_early();
  static constexpr std::size_t WHOLE = ~std::size_t{0};

 private:
  struct Left;
  struct Counts;
  static std::vector<Op>& stream(Rank& rank, std::size_t number);
  static void look(Rank& rank, Left& left);
  static bool shorten(Rank& rank, Left& left);
  void drop(std::uint32_t number, const Left& left, Counts& taken);
  void number_messages();
  void match(std::uint32_t target, std::vector<std::uint32_t>& incoming, std::vector<std::uint32_t>& found);
  void place(std::uint32_t rank, const std::vector<std::uint32_t>& received);
  std::uint32_t size_of(std::int64_t bytes);

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> base_;  // number of each rank's first message
  std::unordered_map<std::int64_t, std::uint32_t> known_sizes_;
  std::int64_t last_bytes_ = -1;  // most messages have the size of the one before
  std::uint32_t last_size_ = 0, first_signal_ = 0;
  Schedule made_;
};

}  // namespace steelyard::whatif
