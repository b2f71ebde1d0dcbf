// Reads GOAL (Hoefler, Siebert, Lumsdaine, Group Operation Assembly Language, ICPP 2009): each
// rank's operations, and which of them must be over, or begun, before which.
#pragma once
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "source.h"
#include "text.h"

namespace steelyard::whatif {

struct Step {
  std::int64_t amount;  // ns or B
  std::uint32_t peer, tag, processor, interface;
  enum : std::uint8_t { compute, send, receive } kind;
};
// `step` waits for the end of `before`, or for its begin.
struct Need {
  std::uint32_t step, before;
  bool begin;
};
struct GoalRank {
  std::vector<Step> steps;
  std::vector<Need> needs;
};

// Called once with the number of ranks, then for each rank of the file. What it says of a rank is refused with the
// line.
struct GoalSink {
  std::function<void(std::size_t)> ranks;
  std::function<void(std::size_t, const GoalRank&)> rank;
};

// The operations of one rank by their names, which are kept here: the text may be gone.
class Names {
 public:
  static constexpr std::uint32_t NONE = ~0u;

  void clear() {
    if (++generation_ == 0) slots_.assign(slots_.size(), {}), generation_ = 1;
    letters_.clear();
    count_ = 0;
  }
  // The operation of that name, or NONE.
  std::uint32_t find(std::string_view name) const { return slots_.empty() ? NONE : slots_[place(name)].step; }
  // False where the name stands for another operation.
  bool add(std::string_view name, std::uint32_t step) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(name)];
    if (slot.generation == generation_) return false;
    slot = {static_cast<std::uint32_t>(letters_.size()), static_cast<std::uint32_t>(name.size()), generation_, step};
    letters_.append(name);
    ++count_;
    return true;
  }

 private:
  struct Slot {
    std::uint32_t at = 0, length = 0, generation = 0, step = NONE;
  };
  // FNV-1: names that differ in their last letter lie side by side, and so in a line of a cache.
  static std::size_t hash(std::string_view name) {
    std::uint64_t x = 0xcbf29ce484222325u;
    for (const char c : name) x = x * 0x100000001b3u ^ static_cast<unsigned char>(c);
    return static_cast<std::size_t>(x ^ x >> 32);
  }
  std::string_view name(const Slot& slot) const { return std::string_view(letters_).substr(slot.at, slot.length); }
  // Returns the slot of a name, or the slot for it. Slots of earlier ranks are free.
  std::size_t place(std::string_view wanted) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(wanted) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.generation != generation_) slot.step = NONE;
      if (slot.generation != generation_ || name(slot) == wanted) return at;
    }
  }
  void grow() {
    std::vector<Slot> before(std::max<std::size_t>(2 * slots_.size(), 1024));
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.generation == generation_) slots_[place(name(slot))] = slot;
  }

  mutable std::vector<Slot> slots_;  // their number is a power of two
  std::string letters_;
  std::uint32_t generation_ = 1;
  std::size_t count_ = 0;
};

class GoalReading {
 public:
  GoalReading(Source& source, const GoalSink& sink) : source_(source), sink_(sink), most_(most_ranks(source.size())) {}

  void read() {
    if (!next() || first_ != "num_ranks") refuse("expected 'num_ranks N'");
    const auto ranks = number<std::size_t>("number of ranks");
    if (ranks < 1 || ranks > most_) refuse("a trace of this length can have 1 to " + std::to_string(most_) + " ranks");
    sink_.ranks(ranks);
    std::vector<bool> seen(ranks);
    while (next()) {
      if (first_ != "rank") refuse("expected 'rank N {'");
      const auto rank = number<std::size_t>("number of a rank");
      if (rank >= ranks) refuse("there are " + std::to_string(ranks) + " ranks, from 0");
      if (seen[rank]) refuse("rank " + std::to_string(rank) + " appears twice");
      if (word("'{'") != "{") refuse("expected '{'");
      seen[rank] = true;
      read_rank();
      sink_.rank(rank, rank_);
    }
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static constexpr auto ENDS = [] {  // by letter: whether it ends a word
    std::array<bool, 256> found{};
    for (const unsigned char c : {' ', '\t', '\r', ':', '{', '}'}) found[c] = true;
    return found;
  }();

  // Goes on to the next line that has words, and takes the first one; false at the end.
  bool next() {
    while (!take().empty()) {  // what nobody asked for may begin a comment
    }
    for (std::string_view line; source_.line(line);) {
      at_ = line.data(), end_ = at_ + line.size();
      first_ = take();
      if (!first_.empty()) return true;
    }
    return false;
  }
  // The next word of the line: a name or a number, or one of ':', '{', '}'; "" at its end.
  std::string_view take() {
    const char* at = at_;  // a copy: the member would be stored at each letter
    while (at < end_ && blank(*at)) ++at;
    if (at < end_ && (comment_ || *at == '/' || *at == '#')) at = skip_comments(at);
    const char* const begin = at;
    while (at < end_ && !ENDS[static_cast<unsigned char>(*at)]) ++at;
    at += at == begin && at < end_;
    at_ = at;
    return {begin, static_cast<std::size_t>(at - begin)};
  }
  [[gnu::noinline]] const char* skip_comments(const char* at) {
    for (; at < end_; ++at) {
      const std::string_view left(at, static_cast<std::size_t>(end_ - at));
      if (comment_ ? left.starts_with("*/") : left.starts_with("/*"))
        comment_ = !comment_, ++at;
      else if (!comment_ && (left.front() == '#' || left.starts_with("//")))
        return end_;
      else if (!comment_ && !blank(*at))
        return at;
    }
    return end_;
  }
  std::string_view word(const char* what) { return expected(take(), what); }
  std::string_view expected(std::string_view word, const char* what) const {
    if (word.empty()) refuse(std::string("the line ends where ") + what + " is expected");
    return word;
  }
  template <class T>
  T number(const char* what) {
    return number_in<T>(word(what), what, source_);
  }
  [[noreturn]] void refuse(const std::string& reason) const { source_.refuse(reason); }

  void read_rank() {
    names_.clear();
    rank_.steps.clear();
    rank_.needs.clear();
    for (;;) {
      if (!next()) refuse("the file ends within a rank");
      if (first_ == "}") return;
      const std::string_view name = first_, second = take();
      if (second == "requires" || second == "irequires") {
        const std::uint32_t step = named(name);
        rank_.needs.push_back({step, named(word("an operation")), second == "irequires"});
      } else if (second == ":") {
        const std::string_view verb = word("calc, send or recv");
        add(step(verb, take()), name);
      } else {
        add(step(name, second), "");
      }
    }
  }

  // 'send 8192b to 1 tag 5 cpu 0 nic 0', 'calc 100 cpu 0'. `amount`: the word after the verb, or "".
  Step step(std::string_view verb, std::string_view amount) {
    Step found{};
    if (verb == "calc") {
      found.kind = Step::compute;
      found.amount = number_in<std::int64_t>(expected(amount, "time in ns"), "time in ns", source_);
      if (found.amount < 0 || found.amount > LONGEST / NANOSECOND) refuse("a time lies between 0 and 26 days");
    } else if (verb == "send" || verb == "recv") {
      found.kind = verb == "send" ? Step::send : Step::receive;
      message(expected(amount, "a number of bytes"), verb == "send" ? "to" : "from", found);
    } else {
      refuse("'" + std::string(verb.substr(0, 60)) + "' is not one of calc, send, recv, requires, irequires");
    }
    further(found);
    return found;
  }
  void message(std::string_view bytes, const char* direction, Step& step) {
    std::string_view then = take();
    if (bytes.ends_with('b'))
      bytes.remove_suffix(1);
    else if (then == "b")
      then = take();
    step.amount = number_in<std::int64_t>(bytes, "number of bytes", source_);
    if (step.amount < 0 || step.amount > MOST_BYTES) refuse("a message has 0 to 2^50 bytes");
    if (expected(then, direction) != direction) refuse(std::string("expected '") + direction + "'");
    const std::string_view peer = word("number of a rank");
    if (peer == "-1") refuse("a receive from any rank: the file does not name the sender");
    step.peer = number_in<std::uint32_t>(peer, "number of a rank", source_);
  }
  void further(Step& step) {
    for (std::string_view name; !(name = take()).empty();) {
      const std::string_view text = word("whole number");
      if (name == "tag" && text == "-1") refuse("a receive with any tag: the file does not name the tag");
      const auto value = number_in<std::uint32_t>(text, "whole number", source_);
      if (name == "tag")
        step.tag = value;
      else if (name == "cpu")
        step.processor = value;
      else if (name == "nic")
        step.interface = value;
      else
        refuse("'" + std::string(name.substr(0, 60)) + "' is not one of tag, cpu, nic");
    }
  }

  void add(const Step& step, std::string_view name) {
    if (rank_.steps.size() >= MOST) refuse("a rank has more than 4 billion operations");
    if (!name.empty() && !names_.add(name, static_cast<std::uint32_t>(rank_.steps.size())))
      refuse("'" + std::string(name.substr(0, 60)) + "' is the name of two operations");
    rank_.steps.push_back(step);
  }
  std::uint32_t named(std::string_view name) const {
    const std::uint32_t found = names_.find(name);
    if (found == Names::NONE) refuse("no operation above has the name '" + std::string(name.substr(0, 60)) + "'");
    return found;
  }

  static constexpr std::uint32_t MOST = std::numeric_limits<std::uint32_t>::max() - 1;
  Source& source_;
  const GoalSink& sink_;
  const std::size_t most_;
  const char *at_ = nullptr, *end_ = nullptr;  // what is left of the line
  std::string_view first_;                     // its first word
  bool comment_ = false;                       // between /* and */
  Names names_;
  GoalRank rank_;
};

inline void read_goal(Source& source, const GoalSink& sink) { GoalReading(source, sink).read(); }

}  // namespace steelyard::whatif
