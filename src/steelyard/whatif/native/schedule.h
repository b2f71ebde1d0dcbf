// The schedule of a replay: the operations of each rank, eight bytes each, and their messages.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
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

// The key by which messages are matched.
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
  void compute(Time time, std::size_t stream = 0) {
    if (time < 0 || time > LONGEST || (computed_ += time) > LONGEST)
      throw Refused("a computation is longer than 26 days, or its length is negative");
    // An operation holds 2^60 ps, which is more than 12 days.
    for (constexpr Time most = (Time{1} << 60) - 1; time > most; time -= most) add(stream, Op::of(Kind::compute, most));
    add(stream, Op::of(Kind::compute, static_cast<std::uint64_t>(time)));
  }
  // Returns the send's number within the rank.
  std::uint32_t send(std::uint32_t target, std::uint64_t tag, std::int64_t bytes, std::size_t stream = 0) {
    std::uint32_t number = static_cast<std::uint32_t>(sends_.size());
    sends_.push_back({tag, bytes, target});
    add(stream, Op::of(Kind::send, 0, number));
    return number;
  }
  void sent(std::uint32_t send, std::size_t stream = 0) { add(stream, Op::of(Kind::sent, 0, send)); }
  // Returns the receive's number within the rank.
  std::uint32_t post(std::uint32_t source, std::uint64_t tag, std::size_t stream = 0) {
    std::uint32_t number = static_cast<std::uint32_t>(posts_.size());
    posts_.push_back({tag, source});
    add(stream, Op::of(Kind::post, 0, number));
    return number;
  }
  void receive(std::uint32_t post, std::size_t stream = 0) { add(stream, Op::of(Kind::receive, 0, post)); }
  void receive_all(const std::vector<std::uint32_t>& posts, std::size_t stream = 0) {
    if (posts.size() > 1) add(stream, Op::of(Kind::receive_all, posts.size()));
    for (std::uint32_t post : posts) receive(post, stream);
  }
  std::uint32_t signal(std::size_t stream) {
    add(stream, Op::of(Kind::signal, 0, signals_));
    return signals_++;
  }
  void await(std::uint32_t signal, std::size_t stream) { add(stream, Op::of(Kind::await, 0, signal)); }
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
  void add(std::size_t stream, Op op) {
    if (stream > others_.size()) others_.resize(stream);
    (stream == 0 ? first_ : others_[stream - 1]).push_back(op);
  }

  std::vector<Op> first_;  // stream 0: most ranks have no other
  std::vector<std::vector<Op>> others_;
  std::vector<Sent> sends_;
  std::vector<Posted> posts_;
  std::uint32_t signals_ = 0;
  Time computed_ = 0;
};

class Builder {
 public:
  explicit Builder(std::size_t ranks) : ranks_(ranks) {
    if (ranks == 0) throw Refused("the trace has no rank");
  }
  Rank& rank(std::size_t number) { return ranks_[number]; }
  std::size_t size() const { return ranks_.size(); }
  // Messages are matched as MPI does it: by source, target and tag in the order of the calls. Refused names a receive
  // that no send fits. The builder is empty then.
  Schedule finish() {
    made_ = {};
    made_.ranks = static_cast<std::uint32_t>(ranks_.size());
    number_messages();
    // The messages to each rank, one target after the other; of one target by source and order.
    std::vector<std::uint32_t> begin(ranks_.size() + 1, 0);
    for (std::uint32_t target : made_.target) ++begin[target + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> place_of(begin), to(made_.target.size());
    for (std::uint32_t message = 0; message < to.size(); ++message) to[place_of[made_.target[message]]++] = message;

    std::size_t count = 0;
    for (const Rank& rank : ranks_) {
      count += rank.first_.size() + 1;
      for (const auto& stream : rank.others_) count += stream.size() + 1;
    }
    made_.ops.reserve(count);
    std::vector<std::uint32_t> incoming, received;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      incoming.assign(to.begin() + begin[rank], to.begin() + begin[rank + 1]);
      match(rank, incoming, received);
      place(rank, received);
    }
    ranks_.clear();
    return std::move(made_);
  }
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
  void number_messages() {
    std::size_t messages = 0;
    for (const Rank& rank : ranks_) {
      base_.push_back(static_cast<std::uint32_t>(messages));
      messages += rank.sends_.size();
      if (messages + made_.signals + rank.signals_ > std::numeric_limits<std::uint32_t>::max() - 2)
        throw Refused("the trace has more than 4 billion messages");
      made_.signals += rank.signals_;
    }
    made_.source.reserve(messages);
    made_.target.reserve(messages);
    for (std::uint32_t source = 0; source < ranks_.size(); ++source)
      for (const auto& sent : ranks_[source].sends_) {
        if (sent.target >= ranks_.size())
          throw Refused("rank " + std::to_string(source) + " sends to rank " + std::to_string(sent.target) +
                        "; there are " + std::to_string(ranks_.size()) + " ranks");
        made_.source.push_back(source);
        made_.target.push_back(sent.target);
        made_.bytes += sent.bytes;
      }
  }
  // Matches the receives of one target with messages.
  void match(std::uint32_t target, std::vector<std::uint32_t>& incoming, std::vector<std::uint32_t>& found) {
    const auto& posts = ranks_[target].posts_;
    auto tag = [&](std::uint32_t message) {
      std::uint32_t source = made_.source[message];
      return ranks_[source].sends_[message - base_[source]].tag;
    };
    // Messages have rising numbers by source already, and so within a tag after a stable sort.
    std::stable_sort(incoming.begin(), incoming.end(), [&](std::uint32_t a, std::uint32_t b) {
      return made_.source[a] != made_.source[b] ? made_.source[a] < made_.source[b] : tag(a) < tag(b);
    });
    std::vector<std::uint32_t> order(posts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return posts[a].source != posts[b].source ? posts[a].source < posts[b].source : posts[a].tag < posts[b].tag;
    });
    found.resize(posts.size());
    std::size_t at = 0;
    for (std::uint32_t number : order) {
      const auto& post = posts[number];
      auto before = [&](std::uint32_t m) {
        return made_.source[m] != post.source ? made_.source[m] < post.source : tag(m) < post.tag;
      };
      for (; at < incoming.size() && before(incoming[at]); ++at) ++made_.unreceived;
      if (at == incoming.size() || made_.source[incoming[at]] != post.source || tag(incoming[at]) != post.tag)
        throw Refused("rank " + std::to_string(target) + " receives, as its receive number " +
                      std::to_string(number + 1) + ", a message with tag " +
                      std::to_string(static_cast<std::int32_t>(post.tag)) + " from rank " +
                      std::to_string(post.source) + ", but that rank never sends it");
      found[number] = incoming[at++];
    }
    made_.unreceived += incoming.size() - at;
  }
  // Appends the streams of a rank, and replaces its own numbers of messages and sizes by global ones.
  void place(std::uint32_t rank, const std::vector<std::uint32_t>& received) {
    Rank& own = ranks_[rank];
    auto size = [&](std::uint32_t message) {
      std::uint32_t source = made_.source[message];
      return size_of(ranks_[source].sends_[message - base_[source]].bytes);
    };
    auto place_operation = [&](std::vector<Op>& stream) {
      made_.begins.push_back(made_.ops.size());
      made_.rank_of.push_back(rank);
      for (Op op : stream) {
        std::uint32_t message = op.message();
        switch (op.kind()) {
          case Kind::send:
            ++made_.sends;
            [[fallthrough]];
          case Kind::sent:
            message += base_[rank];
            op = Op::of(op.kind(), size(message), message);
            break;
          case Kind::receive:
            ++made_.receives;
            [[fallthrough]];
          case Kind::post:
            op = Op::of(op.kind(), size(received[message]), received[message]);
            break;
          case Kind::signal:
          case Kind::await:
            op = Op::of(op.kind(), 0, static_cast<std::uint32_t>(made_.source.size()) + first_signal_ + message);
            break;
          case Kind::compute:
            ++made_.computes;
            break;
          default:
            break;
        }
        made_.ops.push_back(op);
      }
      made_.ops.push_back(Op::of(Kind::end, 0));
      std::vector<Op>().swap(stream);
    };
    place_operation(own.first_);
    for (auto& stream : own.others_) place_operation(stream);
    first_signal_ += own.signals_;
  }
  std::uint32_t size_of(std::int64_t bytes) {
    if (bytes == last_bytes_) return last_size_;
    auto [at, added] = known_sizes_.try_emplace(bytes, static_cast<std::uint32_t>(made_.sizes.size()));
    if (added) made_.sizes.push_back(bytes);
    last_bytes_ = bytes;
    return last_size_ = at->second;
  }

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> base_;  // number of each rank's first message
  std::unordered_map<std::int64_t, std::uint32_t> known_sizes_;
  std::int64_t last_bytes_ = -1;  // most messages have the size of the one before
  std::uint32_t last_size_ = 0, first_signal_ = 0;
  Schedule made_;
};

}  // namespace steelyard::whatif
