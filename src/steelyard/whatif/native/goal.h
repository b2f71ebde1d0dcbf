// Reads GOAL (Hoefler, Siebert, Lumsdaine, Group Operation Assembly Language, ICPP 2009): each
// rank's operations, and which of them must be over, or begun, before which.
#pragma once
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
  static std::size_t hash(std::string_view name) {  // FNV-1a
    std::uint64_t x = 0xcbf29ce484222325u;
    for (const char c : name) x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
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

inline bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes a line apart in one pass. Each member is false where something else stands there.
struct Cursor {
  const char *at, *end;

  void skip() {
    while (at < end && blank(*at)) ++at;
  }
  bool done() {
    skip();
    return at == end;
  }
  std::string_view word() {
    skip();
    const char* first = at;
    while (at < end && !blank(*at) && *at != ':' && *at != '{' && *at != '}') ++at;
    return {first, static_cast<std::size_t>(at - first)};
  }
  bool take(std::string_view wanted) {
    if (static_cast<std::size_t>(end - at) < wanted.size() || std::string_view(at, wanted.size()) != wanted)
      return false;
    at += wanted.size();
    return true;
  }
  bool number(std::uint64_t& found) {
    skip();
    const char* first = at;
    for (found = 0; at < end && *at >= '0' && *at <= '9' && at - first < 18; ++at)
      found = 10 * found + static_cast<std::uint64_t>(*at - '0');
    return at > first && (at == end || blank(*at) || *at == 'b');
  }
};

class GoalReading final : Words {
 public:
  GoalReading(Source& source, const GoalSink& sink) : source_(source), sink_(sink), most_(most_ranks(source.size())) {}

  void read() {
    if (!next() || words_[0] != "num_ranks") refuse("expected 'num_ranks N'");
    const auto ranks = number<std::size_t>(1, "number of ranks");
    if (ranks < 1 || ranks > most_) refuse("a trace of this length can have 1 to " + std::to_string(most_) + " ranks");
    sink_.ranks(ranks);
    std::vector<bool> seen(ranks);
    while (next()) {
      if (words_[0] != "rank") refuse("expected 'rank N {'");
      const auto rank = number<std::size_t>(1, "number of a rank");
      if (rank >= ranks) refuse("there are " + std::to_string(ranks) + " ranks, from 0");
      if (seen[rank]) refuse("rank " + std::to_string(rank) + " appears twice");
      if (word(2, "'{'") != "{") refuse("expected '{'");
      seen[rank] = true;
      read_rank();
      sink_.rank(rank, rank_);
    }
  }

 private:
  // The words of the next line that has some: names, numbers, and ':', '{', '}' as words of their own.
  bool next() {
    for (std::string_view line; source_.line(line);)
      if (split(line)) return true;
    return false;
  }
  bool split(std::string_view line) {
    words_.clear();
    if (source_.number() == 1 && line.starts_with(UTF_8)) line.remove_prefix(UTF_8.size());
    for (Cursor at{line.data(), line.data() + line.size()}; !at.done();) {
      if (comment_) {
        comment_ = !at.take("*/");
        at.at += comment_;
      } else if (*at.at == '#' || std::string_view(at.at, at.end).starts_with("//")) {
        break;
      } else if (at.take("/*")) {
        comment_ = true;
      } else if (const auto found = at.word(); !found.empty()) {
        words_.push_back(found);
      } else {
        words_.emplace_back(at.at++, 1);
      }
    }
    return !words_.empty();
  }
  [[noreturn]] void refuse(const std::string& reason) const override { source_.refuse(reason); }

  void read_rank() {
    names_.clear();
    rank_.steps.clear();
    rank_.needs.clear();
    for (std::string_view line;;) {
      if (!source_.line(line)) refuse("the file ends within a rank");
      if (!comment_ && usual(line)) continue;
      if (!split(line)) continue;
      if (words_[0] == "}") return;
      if (words_.size() > 1 && (words_[1] == "requires" || words_[1] == "irequires")) {
        const auto step = named(words_[0]);
        need(step, named(word(2, "an operation")), words_[1] == "irequires");
        continue;
      }
      const bool has_name = words_.size() > 1 && words_[1] == ":";
      const std::string_view name = words_[0];
      add(step(has_name ? 2 : 0), has_name ? name : "");
    }
  }

  // 'l2: send 8192b to 1 tag 5 cpu 0 nic 0', 'l1: calc 100 cpu 0', 'l2 requires l1'. False for all else.
  bool usual(std::string_view line) {
    Cursor at{line.data(), line.data() + line.size()};
    const std::string_view name = at.word();
    if (name.empty() || name[0] == '#' || name[0] == '/') return false;
    if (!at.take(":")) return needs(at, name);
    Step step{};
    std::uint64_t amount, peer = 0;
    at.skip();
    if (at.take("calc ")) {
      step.kind = Step::compute;
      if (!at.number(amount) || amount > LONGEST / NANOSECOND) return false;
    } else {
      step.kind = at.take("send ") ? Step::send : Step::receive;
      if (step.kind == Step::receive && !at.take("recv ")) return false;
      if (!at.number(amount) || amount > static_cast<std::uint64_t>(MOST_BYTES)) return false;
      at.take("b");
      at.skip();
      if (!at.take(step.kind == Step::send ? "to " : "from ") || !at.number(peer) || peer > MOST) return false;
    }
    step.amount = static_cast<std::int64_t>(amount);
    step.peer = static_cast<std::uint32_t>(peer);
    if (!options(at, step)) return false;
    add(step, name);
    return true;
  }
  bool needs(Cursor at, std::string_view name) {
    at.skip();
    const bool begin = at.take("irequires ");
    if (!begin && !at.take("requires ")) return false;
    const std::string_view before = at.word();
    const std::uint32_t step = names_.find(name), other = names_.find(before);
    if (!at.done() || step == Names::NONE || other == Names::NONE) return false;
    need(step, other, begin);
    return true;
  }
  static bool options(Cursor& at, Step& step) {
    while (!at.done()) {
      std::uint32_t& option = at.take("tag ")   ? step.tag
                              : at.take("cpu ") ? step.processor
                              : at.take("nic ") ? step.interface
                                                : step.peer;
      std::uint64_t value;
      if (&option == &step.peer || !at.number(value) || value > MOST) return false;
      option = static_cast<std::uint32_t>(value);
    }
    return true;
  }

  void add(const Step& step, std::string_view name) {
    if (rank_.steps.size() >= MOST) refuse("a rank has more than 4 billion operations");
    if (!name.empty() && !names_.add(name, static_cast<std::uint32_t>(rank_.steps.size())))
      refuse("'" + std::string(name.substr(0, 60)) + "' is the name of two operations");
    rank_.steps.push_back(step);
  }
  void need(std::uint32_t step, std::uint32_t before, bool begin) { rank_.needs.push_back({step, before, begin}); }

  Step step(std::size_t at) const {
    const auto verb = word(at, "calc, send or recv");
    Step found{};
    std::size_t options = at + 2;
    if (verb == "calc") {
      found.kind = Step::compute;
      found.amount = number<std::int64_t>(at + 1, "time in ns");
      if (found.amount < 0 || found.amount > LONGEST / NANOSECOND) refuse("a time lies between 0 and 26 days");
    } else if (verb == "send" || verb == "recv") {
      found.kind = verb == "send" ? Step::send : Step::receive;
      auto bytes = word(at + 1, "a number of bytes");
      if (bytes.ends_with('b'))
        bytes.remove_suffix(1);
      else if (words_.size() > options && words_[options] == "b")
        ++options;
      found.amount = parsed<std::int64_t>(bytes, "number of bytes");
      if (found.amount < 0 || found.amount > MOST_BYTES) refuse("a message has 0 to 2^50 bytes");
      const auto* direction = verb == "send" ? "to" : "from";
      if (word(options, direction) != direction) refuse(std::string("expected '") + direction + "'");
      if (word(options + 1, "number of a rank") == "-1")
        refuse("a receive from any rank: the file does not name the sender");
      found.peer = number<std::uint32_t>(options + 1, "number of a rank");
      options += 2;
    } else {
      refuse("'" + std::string(verb.substr(0, 60)) + "' is not one of calc, send, recv, requires, irequires");
    }
    further(options, found);
    return found;
  }
  void further(std::size_t at, Step& step) const {
    for (; at < words_.size(); at += 2) {
      const auto name = words_[at];
      if (name == "tag" && word(at + 1, "whole number") == "-1")
        refuse("a receive with any tag: the file does not name the tag");
      const auto value = number<std::uint32_t>(at + 1, "whole number");
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

  std::uint32_t named(std::string_view name) const {
    const std::uint32_t found = names_.find(name);
    if (found == Names::NONE) refuse("no operation above has the name '" + std::string(name.substr(0, 60)) + "'");
    return found;
  }

  static constexpr std::uint32_t MOST = std::numeric_limits<std::uint32_t>::max() - 1;
  static constexpr std::string_view UTF_8 = "\xef\xbb\xbf";
  Source& source_;
  const GoalSink& sink_;
  const std::size_t most_;
  bool comment_ = false;  // between /* and */
  Names names_;
  GoalRank rank_;
};

inline void read_goal(Source& source, const GoalSink& sink) { GoalReading(source, sink).read(); }

}  // namespace steelyard::whatif
