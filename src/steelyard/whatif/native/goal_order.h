// Lays the operations of GOAL out one after the other: of those that could go on, a processor carries out first what
// stands first in the file.
#pragma once
#include <map>
#include <optional>
#include <queue>

#include "goal.h"
#include "schedule.h"

namespace steelyard::whatif {
// The steps of one rank after the other as its streams; its memory is used again.
class Ordering {
 public:
  explicit Ordering(const Source& source) : source_(source) {}

  void lay_out(const GoalRank& from, Rank& rank) {
    from_ = &from, rank_ = &rank;
    begin();
    const std::size_t count = steps().size();
    bool sorted = true;
    for (const Need& need : from.needs) sorted &= need.before < need.step;
    if (sorted)  // the first operation can always begin
      for (std::uint32_t step = 0; step < count; ++step) add(step);
    else
      add_by_needs();
    std::map<std::size_t, std::vector<std::uint32_t>> rest;
    for (std::uint32_t i = 0; i < count; ++i)
      if (pending_[i]) rest[stream(i)].push_back(i);
    for (auto& [where, steps] : rest) finish(steps, where);
  }

 private:
  const std::vector<Step>& steps() const { return from_->steps; }

  // The needs of each step in the order of the file; the streams; steps for whose end or begin another stream waits.
  void begin() {
    const std::size_t count = steps().size();
    first_.assign(count + 1, 0);
    for (const Need& need : from_->needs) ++first_[need.step + 1];
    for (std::size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    before_.resize(from_->needs.size());
    place_.assign(first_.begin(), first_.end());
    for (const Need& need : from_->needs) before_[place_[need.step]++] = need;
    number_.assign(count, 0);
    pending_.assign(count, false);
    stream_.clear(), ended_.clear(), begun_.clear(), needed_.clear();
    for (const Step& step : steps())
      if (stream_.empty() || step.processor != last_) stream_.try_emplace(last_ = step.processor, stream_.size());
    if (stream_.size() < 2) return;
    needed_.resize(count);
    for (const Need& need : from_->needs)
      if (stream(need.before) != stream(need.step))
        (need.begin ? needed_[need.before].begin : needed_[need.before].end) = true;
  }

  void add_by_needs() {
    const std::size_t count = steps().size();
    std::vector<std::vector<std::uint32_t>> next(count);
    std::vector<std::uint32_t> left(count);
    for (const Need& need : from_->needs) next[need.before].push_back(need.step), ++left[need.step];
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> able;
    for (std::uint32_t i = 0; i < count; ++i)
      if (left[i] == 0) able.push(i);
    std::size_t done = 0;
    for (; !able.empty(); ++done) {
      const std::uint32_t step = able.top();
      able.pop();
      add(step);
      for (std::uint32_t after : next[step])
        if (--left[after] == 0) able.push(after);
    }
    if (done < count) source_.refuse("operations of this rank require each other in a circle");
  }

  std::size_t stream(std::uint32_t step) const { return stream_.size() < 2 ? 0 : stream_.at(steps()[step].processor); }

  void add(std::uint32_t which) {
    const Step& step = steps()[which];
    const std::size_t where = stream(which);
    open_.clear();
    const auto each = [&](bool begin, auto act) {
      for (std::uint32_t i = first_[which]; i < first_[which + 1]; ++i)
        if (before_[i].begin == begin) act(before_[i].before);
    };
    each(false, [&](std::uint32_t before) {
      if (stream(before) != where)
        rank_->await(ended_.at(before), where);
      else if (pending_[before])
        open_.push_back(before);
    });
    finish(open_, where);
    each(true, [&](std::uint32_t before) {
      if (stream(before) != where) rank_->await(begun_.at(before), where);
    });
    const Needed needed = needed_.empty() ? Needed{} : needed_[which];
    if (needed.begin) begun_[which] = rank_->signal(where);
    switch (step.kind) {
      case Step::compute:
        rank_->compute(step.amount * NANOSECOND, where);
        break;
      case Step::send:
        number_[which] = rank_->send(step.peer, step.tag, step.amount, where);
        pending_[which] = true;
        break;
      case Step::receive:
        number_[which] = rank_->post(step.peer, step.tag, where);
        pending_[which] = true;
    }
    if (needed.end) {
      if (pending_[which]) finish({which}, where);
      ended_[which] = rank_->signal(where);
    }
  }

  void finish(const std::vector<std::uint32_t>& steps, std::size_t where) {
    posts_.clear();
    for (std::uint32_t step : steps) {
      if (!pending_[step]) continue;  // named twice
      pending_[step] = false;
      if (from_->steps[step].kind == Step::receive)
        posts_.push_back(number_[step]);
      else
        rank_->sent(number_[step], where);
    }
    if (!posts_.empty()) rank_->receive_all(posts_, where);
  }

  // Steps for whose end, or begin, a step of another processor waits.
  struct Needed {
    bool end = false, begin = false;
  };

  const Source& source_;
  const GoalRank* from_ = nullptr;
  Rank* rank_ = nullptr;
  std::vector<std::uint32_t> first_, place_;  // where the needs of each step begin
  std::vector<Need> before_;
  std::vector<std::uint32_t> number_, open_, posts_;  // numbers of sends and receives within the rank
  std::vector<char> pending_;                         // sends and receives that nothing has waited for yet
  std::map<std::uint32_t, std::size_t> stream_;       // number of the stream of each processor
  std::uint32_t last_ = 0;
  std::vector<Needed> needed_;                                      // of a rank with several processors
  std::unordered_map<std::uint32_t, std::uint32_t> ended_, begun_;  // signals
};

inline Builder read_goal(Source& source) {
  std::optional<Builder> out;
  Ordering ordering(source);
  read_goal(source, {[&](std::size_t ranks) { out.emplace(ranks); },
                     [&](std::size_t rank, const GoalRank& steps) {
                       ordering.lay_out(steps, out->rank(rank));
                       out->rank(rank).fit();
                     }});
  return std::move(*out);
}

}  // namespace steelyard::whatif
