// Programs that wait for what is never sent end there: the trace of a rank that was killed lacks its last messages.
#pragma once
#include <algorithm>

#include "schedule.h"

namespace steelyard::whatif {
struct Builder::Counts : std::unordered_map<Match, std::uint32_t, MatchHash> {};

// The rest of a rank: the first operations of each stream, and which sends and posts are among them.
struct Builder::Left {
  std::vector<std::size_t> lengths;
  std::vector<bool> sends, posts, signals;
};

inline std::vector<Op>& Builder::stream(Rank& rank, std::size_t number) {
  return number == 0 ? rank.first_ : rank.others_[number - 1];
}

inline void Builder::look(Rank& rank, Left& left) {
  left.sends.assign(rank.sends_.size(), false);
  left.posts.assign(rank.posts_.size(), false);
  left.signals.assign(rank.signals_, false);
  for (std::size_t s = 0; s < left.lengths.size(); ++s)
    for (std::size_t i = 0; i < left.lengths[s]; ++i) {
      const Op op = stream(rank, s)[i];
      if (op.kind() == Kind::send) left.sends[op.message()] = true;
      if (op.kind() == Kind::post) left.posts[op.message()] = true;
      if (op.kind() == Kind::signal) left.signals[op.message()] = true;
    }
}

// Shortens each stream to the part that can go on. Returns false if no stream changed.
inline bool Builder::shorten(Rank& rank, Left& left) {
  bool changed = false;
  for (std::size_t s = 0; s < left.lengths.size(); ++s) {
    const std::vector<Op>& ops = stream(rank, s);
    std::size_t all = ops.size();  // begin of the receives that are completed together
    std::uint64_t more = 0;
    for (std::size_t i = 0; i < left.lengths[s]; ++i) {
      const Op op = ops[i];
      if (op.kind() == Kind::receive_all) all = i, more = op.value();
      const bool never = (op.kind() == Kind::receive && !left.posts[op.message()]) ||
                         (op.kind() == Kind::await && !left.signals[op.message()]);
      if (never) {
        left.lengths[s] = op.kind() == Kind::receive && i <= all + more && all < i ? all : i;
        changed = true;
      }
    }
  }
  return changed;
}

// Takes out what is not left, with new numbers for the rest. Nobody waits for a message that nobody takes.
inline void Builder::drop(std::uint32_t number, const Left& left, Counts& taken) {
  Rank& rank = ranks_[number];
  std::vector<std::uint32_t> sends(rank.sends_.size()), posts(rank.posts_.size());
  std::vector<bool> received(rank.sends_.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (!left.sends[i]) continue;
    std::uint32_t& open = taken[{number, rank.sends_[i].target, rank.sends_[i].tag}];
    received[i] = open > 0;
    open -= open > 0;
    rank.sends_[sends[i] = kept++] = rank.sends_[i];
  }
  rank.sends_.resize(kept);
  kept = 0;
  for (std::size_t i = 0; i < posts.size(); ++i)
    if (left.posts[i]) rank.posts_[posts[i] = kept++] = rank.posts_[i];
  rank.posts_.resize(kept);
  for (std::size_t s = 0; s < left.lengths.size(); ++s) {
    std::vector<Op>& ops = stream(rank, s);
    ops.resize(left.lengths[s]);
    std::erase_if(ops, [&](Op op) {
      return (op.kind() == Kind::post && !left.posts[op.message()]) ||
             (op.kind() == Kind::sent && !(left.sends[op.message()] && received[op.message()]));
    });
    for (Op& op : ops) {
      if (op.kind() == Kind::send || op.kind() == Kind::sent) op = Op::of(op.kind(), 0, sends[op.message()]);
      if (op.kind() == Kind::post || op.kind() == Kind::receive) op = Op::of(op.kind(), 0, posts[op.message()]);
    }
  }
}

inline std::vector<std::size_t> Builder::end_early() {
  std::vector<Left> left(ranks_.size());
  Counts taken;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    left[r].lengths.push_back(ranks_[r].first_.size());
    for (const auto& stream : ranks_[r].others_) left[r].lengths.push_back(stream.size());
  }
  for (bool changed = true; changed;) {
    Counts sent, posted;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      look(ranks_[r], left[r]);
      for (std::size_t i = 0; i < left[r].sends.size(); ++i)
        if (left[r].sends[i]) ++sent[{r, ranks_[r].sends_[i].target, ranks_[r].sends_[i].tag}];
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t i = 0; i < left[r].posts.size(); ++i) {
        const Match key{ranks_[r].posts_[i].source, r, ranks_[r].posts_[i].tag};
        if (!left[r].posts[i]) continue;
        const auto found = sent.find(key);
        left[r].posts[i] = found != sent.end() && posted[key]++ < found->second;
      }
    changed = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) changed |= shorten(ranks_[r], left[r]);
    if (!changed) taken = std::move(posted);
  }
  std::vector<std::size_t> found(ranks_.size(), WHOLE);
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (left[r].lengths[0] < ranks_[r].first_.size()) found[r] = left[r].lengths[0];
    drop(r, left[r], taken);
  }
  return found;
}

}  // namespace steelyard::whatif
