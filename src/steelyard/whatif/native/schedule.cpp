// Matches the messages of all ranks, and lays their operations out one after the other.
#include "schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace steelyard::whatif {

void Rank::add(std::size_t stream, Op op) {
  if (stream > others_.size()) others_.resize(stream);
  (stream == 0 ? first_ : others_[stream - 1]).push_back(op);
}

void Rank::compute(Time time, std::size_t stream) {
  if (time < 0 || time > LONGEST || (computed_ += time) > LONGEST)
    throw Refused("a computation is longer than 26 days, or its length is negative");
  // An operation holds 2^60 ps, which is more than 12 days.
  for (constexpr Time most = (Time{1} << 60) - 1; time > most; time -= most) add(stream, Op::of(Kind::compute, most));
  add(stream, Op::of(Kind::compute, static_cast<std::uint64_t>(time)));
}

std::uint32_t Rank::send(std::uint32_t target, std::uint64_t tag, std::int64_t bytes, std::size_t stream) {
  std::uint32_t number = static_cast<std::uint32_t>(sends_.size());
  sends_.push_back({tag, bytes, target});
  add(stream, Op::of(Kind::send, 0, number));
  return number;
}

void Rank::sent(std::uint32_t send, std::size_t stream) { add(stream, Op::of(Kind::sent, 0, send)); }

std::uint32_t Rank::post(std::uint32_t source, std::uint64_t tag, std::size_t stream) {
  std::uint32_t number = static_cast<std::uint32_t>(posts_.size());
  posts_.push_back({tag, source});
  add(stream, Op::of(Kind::post, 0, number));
  return number;
}

void Rank::receive(std::uint32_t post, std::size_t stream) { add(stream, Op::of(Kind::receive, 0, post)); }

void Rank::receive_all(const std::vector<std::uint32_t>& posts, std::size_t stream) {
  if (posts.size() > 1) add(stream, Op::of(Kind::receive_all, posts.size()));
  for (std::uint32_t post : posts) receive(post, stream);
}

std::uint32_t Rank::signal(std::size_t stream) {
  add(stream, Op::of(Kind::signal, 0, signals_));
  return signals_++;
}

void Rank::await(std::uint32_t signal, std::size_t stream) { add(stream, Op::of(Kind::await, 0, signal)); }

Builder::Builder(std::size_t ranks) : ranks_(ranks) {
  if (ranks == 0) throw Refused("the trace has no rank");
}

Schedule Builder::finish() {
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

void Builder::number_messages() {
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
void Builder::match(std::uint32_t target, std::vector<std::uint32_t>& incoming, std::vector<std::uint32_t>& found) {
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
                    std::to_string(static_cast<std::int32_t>(post.tag)) + " from rank " + std::to_string(post.source) +
                    ", but that rank never sends it");
    found[number] = incoming[at++];
  }
  made_.unreceived += incoming.size() - at;
}

// The rank's streams, with the numbers of messages and sizes instead of those within the rank.
void Builder::place(std::uint32_t rank, const std::vector<std::uint32_t>& received) {
  Rank& own = ranks_[rank];
  auto size = [&](std::uint32_t message) {
    std::uint32_t source = made_.source[message];
    return size_of(ranks_[source].sends_[message - base_[source]].bytes);
  };
  auto lay = [&](std::vector<Op>& stream) {
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
  lay(own.first_);
  for (auto& stream : own.others_) lay(stream);
  first_signal_ += own.signals_;
}

std::uint32_t Builder::size_of(std::int64_t bytes) {
  if (bytes == last_bytes_) return last_size_;
  auto [at, added] = known_sizes_.try_emplace(bytes, static_cast<std::uint32_t>(made_.sizes.size()));
  if (added) made_.sizes.push_back(bytes);
  last_bytes_ = bytes;
  return last_size_ = at->second;
}

}  // namespace steelyard::whatif
