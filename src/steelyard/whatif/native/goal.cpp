// Reads GOAL (Hoefler, Siebert, Lumsdaine, Group Operation Assembly Language, ICPP 2009): each rank's computations,
// sends and receives, and what must be over before what. Of those that could go on, a processor carries out first what
// stands first.
#include <map>
#include <queue>

#include "readers.h"
#include "text.h"

namespace steelyard::whatif {
namespace {

struct Step {
  enum { compute, send, receive } kind;
  std::int64_t amount;  // ns or B
  std::uint32_t peer = 0, tag = 0, processor = 0;
  std::vector<std::uint32_t> after, after_begin;  // steps that must have ended, and begun
};

// The steps of one rank as its streams.
class Ordering {
 public:
  Ordering(std::vector<Step> steps, Rank& rank, const Lines& lines)
      : steps_(std::move(steps)), rank_(rank), lines_(lines), number_(steps_.size()), pending_(steps_.size()) {
    for (const Step& step : steps_) stream_.try_emplace(step.processor, stream_.size());
  }

  void lay_out() {
    const auto needed = needs_signal();
    std::vector<std::vector<std::uint32_t>> next(steps_.size());
    std::vector<std::uint32_t> left(steps_.size());
    for (std::uint32_t i = 0; i < steps_.size(); ++i)
      for (const auto* list : {&steps_[i].after, &steps_[i].after_begin})
        for (std::uint32_t before : *list) next[before].push_back(i), ++left[i];
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> able;
    for (std::uint32_t i = 0; i < steps_.size(); ++i)
      if (left[i] == 0) able.push(i);
    std::size_t done = 0;
    for (; !able.empty(); ++done) {
      const std::uint32_t step = able.top();
      able.pop();
      add(step, needed[step]);
      for (std::uint32_t after : next[step])
        if (--left[after] == 0) able.push(after);
    }
    if (done < steps_.size()) lines_.refuse("operations of this rank require each other in a circle");
    std::map<std::size_t, std::vector<std::uint32_t>> rest;
    for (std::uint32_t i = 0; i < steps_.size(); ++i)
      if (pending_[i]) rest[stream(i)].push_back(i);
    for (auto& [where, steps] : rest) finish(steps, where);
  }

 private:
  std::size_t stream(std::uint32_t step) const { return stream_.at(steps_[step].processor); }

  // Steps for whose end, or begin, a step of another processor waits.
  struct Needed {
    bool end = false, begin = false;
  };
  std::vector<Needed> needs_signal() const {
    std::vector<Needed> found(steps_.size());
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      for (std::uint32_t before : steps_[i].after) found[before].end |= stream(before) != stream(i);
      for (std::uint32_t before : steps_[i].after_begin) found[before].begin |= stream(before) != stream(i);
    }
    return found;
  }

  void add(std::uint32_t which, Needed needed) {
    const Step& step = steps_[which];
    const std::size_t where = stream(which);
    std::vector<std::uint32_t> open;
    for (std::uint32_t before : step.after) {
      if (stream(before) != where)
        rank_.await(ended_.at(before), where);
      else if (pending_[before])
        open.push_back(before);
    }
    finish(open, where);
    for (std::uint32_t before : step.after_begin)
      if (stream(before) != where) rank_.await(begun_.at(before), where);
    if (needed.begin) begun_[which] = rank_.signal(where);
    switch (step.kind) {
      case Step::compute:
        rank_.compute(step.amount * NANOSECOND, where);
        break;
      case Step::send:
        number_[which] = rank_.send(step.peer, step.tag, step.amount, where);
        pending_[which] = true;
        break;
      case Step::receive:
        number_[which] = rank_.post(step.peer, step.tag, where);
        pending_[which] = true;
    }
    if (needed.end) {
      if (pending_[which]) finish({which}, where);
      ended_[which] = rank_.signal(where);
    }
  }

  void finish(const std::vector<std::uint32_t>& steps, std::size_t where) {
    std::vector<std::uint32_t> posts;
    for (std::uint32_t step : steps) {
      if (!pending_[step]) continue;  // named twice
      pending_[step] = false;
      if (steps_[step].kind == Step::receive)
        posts.push_back(number_[step]);
      else
        rank_.sent(number_[step], where);
    }
    if (!posts.empty()) rank_.receive_all(posts, where);
  }

  std::vector<Step> steps_;
  Rank& rank_;
  const Lines& lines_;
  std::vector<std::uint32_t> number_;  // of the send or receive within the rank
  std::vector<bool> pending_;          // sends and receives that nothing has waited for yet
  std::map<std::uint32_t, std::size_t> stream_;
  std::unordered_map<std::uint32_t, std::uint32_t> ended_, begun_;  // signals
};

class GoalReading {
 public:
  GoalReading(const std::string& path, std::string_view text) : lines_(path, text), most_(most_ranks(text)) {}

  Builder read() {
    if (!lines_.next() || lines_.words()[0] != "num_ranks") lines_.refuse("expected 'num_ranks N'");
    const auto ranks = lines_.number<std::size_t>(1, "number of ranks");
    if (ranks < 1 || ranks > most_)
      lines_.refuse("a trace of this length has 1 to " + std::to_string(most_) + " ranks");
    Builder out(ranks);
    std::vector<bool> seen(ranks);
    while (lines_.next()) {
      if (lines_.words()[0] != "rank") lines_.refuse("expected 'rank N {'");
      const auto rank = lines_.number<std::size_t>(1, "number of a rank");
      if (rank >= ranks) lines_.refuse("there are " + std::to_string(ranks) + " ranks, from 0");
      if (seen[rank]) lines_.refuse("rank " + std::to_string(rank) + " stands there twice");
      if (lines_.word(2, "'{'") != "{") lines_.refuse("expected '{'");
      seen[rank] = true;
      read_rank(out.rank(rank));
    }
    return out;
  }

 private:
  void read_rank(Rank& rank) {
    names_.clear();
    std::vector<Step> steps;
    for (;;) {
      if (!lines_.next()) lines_.refuse("the file ends within a rank");
      const auto& words = lines_.words();
      if (words[0] == "}") break;
      if (words.size() > 1 && (words[1] == "requires" || words[1] == "irequires")) {
        Step& step = steps[named(words[0])];
        (words[1] == "requires" ? step.after : step.after_begin).push_back(named(lines_.word(2, "an operation")));
        continue;
      }
      std::size_t at = 0;
      if (words[0].ends_with(':')) {
        const auto name = words[0].substr(0, words[0].size() - 1);
        if (!names_.try_emplace(name, steps.size()).second)
          lines_.refuse("'" + std::string(name.substr(0, 60)) + "' is the name of two operations");
        at = 1;
      }
      steps.push_back(step(at));
    }
    Ordering(std::move(steps), rank, lines_).lay_out();
  }

  Step step(std::size_t at) {
    const auto verb = lines_.word(at, "calc, send or recv");
    Step found{};
    std::size_t options = at + 2;
    if (verb == "calc") {
      found.kind = Step::compute;
      found.amount = lines_.number<std::int64_t>(at + 1, "time in ns");
      if (found.amount < 0 || found.amount > LONGEST / NANOSECOND) lines_.refuse("a time lies between 0 and 26 days");
    } else if (verb == "send" || verb == "recv") {
      found.kind = verb == "send" ? Step::send : Step::receive;
      auto bytes = lines_.word(at + 1, "a number of bytes");
      if (bytes.ends_with('b')) bytes.remove_suffix(1);
      found.amount = lines_.parsed<std::int64_t>(bytes, "number of bytes");
      if (found.amount < 0 || found.amount > MOST_BYTES) lines_.refuse("a message has 0 to 2^50 bytes");
      const auto* direction = verb == "send" ? "to" : "from";
      if (lines_.word(at + 2, direction) != direction) lines_.refuse(std::string("expected '") + direction + "'");
      found.peer = lines_.number<std::uint32_t>(at + 3, "number of a rank");
      options = at + 4;
    } else {
      lines_.refuse("'" + std::string(verb.substr(0, 60)) + "' is none of calc, send, recv, requires, irequires");
    }
    for (; options < lines_.words().size(); options += 2) {
      const auto name = lines_.words()[options];
      const auto value = lines_.number<std::uint32_t>(options + 1, "whole number");
      if (name == "tag")
        found.tag = value;
      else if (name == "cpu")
        found.processor = value;
      else if (name != "nic")
        lines_.refuse("'" + std::string(name.substr(0, 60)) + "' is none of tag, cpu, nic");
    }
    return found;
  }

  std::uint32_t named(std::string_view name) const {
    const auto found = names_.find(name);
    if (found == names_.end()) lines_.refuse("there is no operation '" + std::string(name.substr(0, 60)) + "' above");
    return static_cast<std::uint32_t>(found->second);
  }

  Lines lines_;
  const std::size_t most_;
  std::unordered_map<std::string_view, std::size_t> names_;
};

}  // namespace

Builder read_goal(const std::string& path, std::string_view text) { return GoalReading(path, text).read(); }

}  // namespace steelyard::whatif
