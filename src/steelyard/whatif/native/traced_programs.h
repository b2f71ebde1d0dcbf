// The second pass over a rank's file: its records become a program.
#pragma once
#include <algorithm>

#include "traced_file.h"

namespace steelyard::whatif {
class ProgramWriter {
 public:
  ProgramWriter(Shared& shared, RankFile& file, const Outcomes& outcomes, Rank& rank, const Span& span,
                Measured& measured, Timeline::OfRank* line)
      : file_(file),
        handles_(shared, file),
        shared_(shared),
        outcomes_(outcomes),
        rank_(rank),
        measured_(measured),
        line_(line) {
    // A rank that began later than the first one has no operation yet.
    computed_ = late_ = end_ = static_cast<Time>(std::clamp(beginning(file) - span.begin, 0.0, 2e15)) * NANOSECOND;
    measured_.starts.push_back(end_);
    measured_.waiting.push_back(0);
    if (line_) line_->begin = end_;
  }

  // `lengths`, if it is given, gets the length of the program after each call.
  void read(std::vector<std::size_t>* lengths) {
    for (Event event; file_.next(event);) {
      act(event);
      if (file_.torn()) break;
      const bool own = event.kind == Record::preempted || event.kind == Record::tool;
      if (lengths && !own) lengths->push_back(rank_.length());
      if (line_) line_->calls.push_back({begin_, end_, event.kind, together_});
    }
    work();
    if (line_) line_->end = end_;
  }

 private:
  using Bytes = std::int64_t;
  static constexpr std::uint64_t MOST_WAIT = 2'000'000'000'000'000;  // ns: as long as a trace may be
  struct Open {
    enum : std::uint8_t { nothing, send, receive, collective } what = nothing;
    std::uint32_t number = 0;  // of the send, the receive, the signal at the end
    std::size_t stream = 0;
  };

  void work() {
    if (const Time time = computed_ - late_; looked_ && time > 0) {
      const Time waited = std::min(waited_, time);
      measured_.interrupted.push_back({file_.header.rank, region_, time, waited});
      measured_.waiting.back() += waited;
      if (shared_.without_waits) computed_ -= waited;
    }
    if (computed_ > 0) rank_.compute(computed_);
    computed_ = late_ = waited_ = 0;
    looked_ = false;
  }
  void act(const Event& event) {
    computed_ += file_.time(event.gap);
    begin_ = end_ + file_.time(event.gap);
    end_ = begin_ + file_.time(event.duration);
    switch (event.kind) {
      case Record::send:
      case Record::isend:
        return send(event);
      case Record::receive:
        return receive(event);
      case Record::ireceive:
        return ireceive(event);
      case Record::exchange:
        return exchange(event);
      case Record::complete:
        return complete();
      case Record::collective:
      case Record::icollective:
      case Record::vectors:
      case Record::ivectors:
        return write_collective(event);
      case Record::communicator:
        return handles_.communicator();
      case Record::window:
        return handles_.window(event.communicator);
      case Record::put:
      case Record::get:
        return transfer(event);
      case Record::fence:
        return fence(event);
      case Record::region:
        return region();
      default:
        return skip_event(event);
    }
  }
  void enter(std::uint64_t region) {
    region_ = region;
    rank_.region(region);
  }
  // Levels below 0 end a region, as 0 does.
  void region() {
    const std::int64_t level = file_.folded();
    if (file_.torn() || shared_.iterations) return;
    work();
    enter(static_cast<std::uint64_t>(std::clamp<std::int64_t>(level, 0, LAST_REGION)));
  }
  // Begins a region at the n-th call of the collective with which the iterations begin.
  void iteration(const Event& event, trace::Collective what) {
    if (event.communicator == 0 && shared_.iterations == what) enter(++iteration_);
  }
  // Records that are not messages.
  void skip_event(const Event& event) {
    const Record kind = event.kind;
    if (kind == Record::probe) file_.folded(), file_.folded();
    if (kind == Record::polled) file_.number();
    if (kind == Record::preempted) {
      const Time waited = static_cast<Time>(std::min(file_.number(), MOST_WAIT)) * NANOSECOND;
      // Time that follows no computing was spent in a call.
      if (event.gap > 0) waited_ = std::min(waited_ + waited, LONGEST), looked_ = true;
    }
    if (kind == Record::released) open_.erase(file_.number());
  }

  std::uint32_t post(const Event& event, std::int64_t source, std::int32_t tag) {
    const Members& members = handles_.of(event.communicator);
    const std::uint32_t from = handles_.world(members, source), number = rank_.post(from, tag_of(members.id, tag));
    if (line_) {
      posted_[number] = line_->posted.size();
      line_->posted.push_back({from, tag_of(members.id, tag), begin_, -1});
    }
    return number;
  }
  std::uint32_t dispatch(std::uint32_t target, std::uint64_t tag, Bytes bytes) {
    if (line_) line_->sent.push_back({target, tag, bytes, begin_, end_});
    return rank_.send(target, tag, bytes);
  }
  void receive(const Event& event) {
    const std::int64_t source = file_.folded();
    const std::int32_t tag = file_.tag();
    if (file_.torn()) return;
    work();
    receive(post(event, source, tag));
  }
  void receive(std::uint32_t number) {
    rank_.receive(number);
    complete_receive(number);
  }
  void complete_receive(std::uint32_t number) {
    if (line_) line_->posted[posted_.at(number)].received = end_;
  }
  void send(const Event& event) {
    const std::int64_t to = file_.folded();
    const std::int32_t tag = file_.tag();
    const Bytes bytes = file_.bytes();
    const std::uint64_t request = event.kind == Record::isend ? file_.number() : 0;
    if (file_.torn()) return;
    const Members& members = handles_.of(event.communicator);
    const std::uint32_t target = handles_.world(members, to);
    work();
    const std::uint32_t number = dispatch(target, tag_of(members.id, tag), bytes);
    if (event.kind == Record::send)
      rank_.sent(number);
    else
      open_[request] = {Open::send, number};
  }
  void ireceive(const Event& event) {
    std::int64_t source = file_.folded();
    std::int32_t tag = file_.tag();
    const std::uint64_t request = file_.number(), own = received_++;
    if (file_.torn()) return;
    if (source == ANY || tag == ANY) {
      const Outcome& outcome = outcomes_.any[any_++];
      open_[request] = {};
      if (outcome.what != Outcome::known) return;  // it took no message
      source = outcome.source;
      tag = outcome.tag;
    } else if (outcomes_.cancelled.contains(own)) {
      open_[request] = {};
      return;
    }
    work();
    open_[request] = {Open::receive, post(event, source, tag)};
  }
  void exchange(const Event& event) {
    const std::int64_t to = file_.folded();
    const std::int32_t tag = file_.tag();
    const Bytes bytes = file_.bytes();
    const std::int64_t from = file_.folded();
    const std::int32_t with = file_.tag();
    if (file_.torn()) return;
    work();
    const Members& members = handles_.of(event.communicator);
    const std::uint32_t posted = from == NOBODY ? 0 : post(event, from, with);
    if (to != NOBODY) {
      const std::uint32_t number = dispatch(handles_.world(members, to), tag_of(members.id, tag), bytes);
      if (from != NOBODY) receive(posted);
      rank_.sent(number);
    } else if (from != NOBODY) {
      receive(posted);
    }
  }
  // First the receives, in the order of arrival; then the sends.
  void complete() {
    const auto all = list_completions(file_);
    if (file_.torn()) return;
    work();
    std::vector<std::uint32_t> posts, sends;
    std::vector<Open> collectives;
    for (const Completed& one : all) {
      const auto found = open_.find(one.request);
      if (found == open_.end()) continue;
      const Open open = found->second;
      if (open.what == Open::receive) posts.push_back(open.number);
      if (open.what == Open::send) sends.push_back(open.number);
      if (open.what == Open::collective) collectives.push_back(open);
      open_.erase(found);
    }
    if (!posts.empty()) rank_.receive_all(posts);
    for (std::uint32_t number : posts) complete_receive(number);
    for (std::uint32_t number : sends) rank_.sent(number);
    for (const Open& open : collectives) {
      rank_.await(open.number, 0);
      free_.push_back(open.stream);
    }
  }

  void write_collective(const Event& event) {
    const bool waits = event.kind == Record::collective || event.kind == Record::vectors;
    const bool several = event.kind == Record::vectors || event.kind == Record::ivectors;
    const std::uint64_t what = file_.number(), root = file_.number();
    Together call{static_cast<trace::Collective>(what), static_cast<std::uint32_t>(root), several, {}};
    const std::size_t count = several ? file_.count() : 1;
    for (std::size_t i = 0; i < count && !file_.torn(); ++i) call.bytes.push_back(file_.bytes());
    const std::uint64_t request = waits ? 0 : file_.number();
    if (file_.torn()) return;
    const Members& members = handles_.of(event.communicator);
    const std::size_t n = members.all.size();
    if (what >= static_cast<std::uint64_t>(trace::Collective::last)) file_.refuse("an unknown collective");
    if (root >= n) file_.refuse("the root of a collective is not one of its ranks");
    together_ = call.what;
    work();
    iteration(event, call.what);
    std::size_t stream = 0;
    if (!waits) {
      stream = free_.empty() ? ++streams_ : free_.back();
      if (!free_.empty()) free_.pop_back();
      rank_.await(rank_.signal(0), stream);
    }
    const Group group{static_cast<std::uint32_t>(n), members.own, &members.all, members.id};
    if (n > 1) {
      expect_numbers(call, call.count(n, members.own));
      Collectives(rank_, group, stream).carry_out(call);
    }
    if (!waits) open_[request] = {Open::collective, rank_.signal(stream), stream};
  }
  void expect_numbers(const Together& call, std::size_t count) const {
    if (count == 0) file_.refuse("an unknown collective with one number of bytes for each rank");
    if (call.bytes.size() == count) return;
    file_.refuse(count == 1 ? "a rank other than the root must have one number of bytes"
                            : "expected one number of bytes for each rank");
  }
  static constexpr std::int32_t PUT = -2, GOT = -3;
  void transfer(const Event& event) {
    const auto window = handles_.windows(file_.number());
    const std::int64_t target = file_.folded(), bytes = file_.bytes();
    if (file_.torn()) return;
    work();
    const std::uint32_t to = handles_.world(handles_.of(event.communicator), target);
    if (to == file_.header.rank) return;
    if (event.kind == Record::put)
      moved_[window.id].sends.push_back(rank_.send(to, tag_of(window.id, PUT), bytes));
    else
      moved_[window.id].posts.push_back(rank_.post(to, tag_of(window.id, GOT)));
  }
  // A fence: each rank serves the puts and gets of the others, and waits for its own; then all ranks wait for all.
  void fence(const Event& event) {
    auto& window = handles_.windows(file_.number());
    if (file_.torn()) return;
    work();
    const std::uint32_t own = file_.header.rank;
    Moved moved = std::move(moved_[window.id]);
    moved_[window.id] = {};
    const auto found = shared_.transfers.find({window.id, window.epoch++, own});
    if (found != shared_.transfers.end())
      for (const auto& one : found->second) {
        if (one.origin == own) continue;
        if (one.get)
          moved.sends.push_back(rank_.send(one.origin, tag_of(window.id, GOT), one.bytes));
        else
          moved.posts.push_back(rank_.post(one.origin, tag_of(window.id, PUT)));
      }
    if (!moved.posts.empty()) rank_.receive_all(moved.posts);
    for (std::uint32_t number : moved.sends) rank_.sent(number);
    const Members& members = handles_.of(event.communicator);
    const Group group{static_cast<std::uint32_t>(members.all.size()), members.own, &members.all, window.id};
    Collectives(rank_, group).barrier();
  }

  struct Moved {
    std::vector<std::uint32_t> sends, posts;
  };
  RankFile& file_;
  Handles handles_;
  Shared& shared_;
  const Outcomes& outcomes_;
  Rank& rank_;
  Measured& measured_;
  std::uint64_t region_ = 0;
  Timeline::OfRank* const line_;
  Time computed_ = 0, begin_ = 0, end_ = 0;  // and when the call began and ended that is being read
  Time late_ = 0, waited_ = 0;               // parts of the computing: before the rank began; waits for a processor
  bool looked_ = false;                      // the trace says how long the rank waited
  trace::Collective together_{};
  std::unordered_map<std::uint32_t, std::size_t> posted_;  // receives of the timeline
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<std::uint32_t, Moved> moved_;
  std::vector<std::size_t> free_;
  std::size_t streams_ = 0, any_ = 0;
  std::uint64_t received_ = 0, iteration_ = 0;
};

// Writes the program of a rank, and into `measured` what was measured of its phases. If given, `lengths` gets the
// length of the program after each call, and `line` its course in time.
inline void write_program(Shared& shared, RankFile& file, const Outcomes& outcomes, Rank& rank, const Span& span,
                          Measured& measured, std::vector<std::size_t>* lengths, Timeline::OfRank* line) {
  ProgramWriter(shared, file, outcomes, rank, span, measured, line).read(lengths);
}

}  // namespace steelyard::whatif
