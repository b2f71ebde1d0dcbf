// The first pass over a rank's file: what other ranks, and records before it, must know.
#pragma once
#include "traced_file.h"

namespace steelyard::whatif {
class NeedsReader {
 public:
  NeedsReader(Shared& shared, RankFile& file, Outcomes& out, Traced& about)
      : file_(file), handles_(shared, file), shared_(shared), out_(out), about_(about) {}

  void read(Span& span) {
    double ticks = 0, computing = 0, tool = 0, preempted = 0;
    std::uint64_t calls = 0;
    bool finished = false, aborted = false;
    for (Event event; file_.next(event);) {
      act(event, preempted);
      if (file_.torn()) break;
      ticks += static_cast<double>(event.gap + event.duration);
      computing += static_cast<double>(event.gap);
      const bool own = event.kind == Record::preempted || event.kind == Record::tool;
      if (own) tool += static_cast<double>(event.duration);
      calls += !own;
      finished |= event.kind == Record::finalize;
      aborted |= event.kind == Record::abort;
    }
    const std::uint32_t rank = file_.header.rank;
    if (!finished) about_.broken.push_back({rank, calls, aborted ? "it called MPI_Abort" : "its trace ends"});
    about_.calls += calls;
    about_.bytes += file_.size();
    about_.computing = std::max(about_.computing, file_.seconds(computing));
    about_.tool = std::max(about_.tool, file_.seconds(tool));
    about_.preempted = std::max(about_.preempted, preempted);
    const double begin = beginning(file_);
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, begin + file_.seconds(ticks) * 1e9);
  }

 private:
  void act(const Event& event, double& preempted) {
    switch (event.kind) {
      case Record::ireceive:
        return ireceive();
      case Record::complete:
        for (const Completed& one : list_completions(file_)) settle_request(one);
        return;
      case Record::isend:
      case Record::icollective:
      case Record::ivectors:
      case Record::released:
        open_.erase(skip(event.kind));  // the request is the last number
        return;
      case Record::communicator:
        return handles_.communicator();
      case Record::window:
        return handles_.window(event.communicator);
      case Record::fence:
        ++handles_.windows(file_.number()).epoch;
        return;
      case Record::put:
      case Record::get:
        return transfer(event);
      case Record::preempted:
        preempted += static_cast<double>(file_.number()) * 1e-9;
        return;
      default:
        skip(event.kind);
    }
  }
  void ireceive() {
    const std::int64_t source = file_.folded(), tag = file_.tag();
    Open& open = open_[file_.number()];
    open = {received_++, NONE};
    if (source != ANY && tag != ANY) return;
    open.any = out_.any.size();
    out_.any.push_back({Outcome::unknown, static_cast<std::int32_t>(tag), source});
  }
  void transfer(const Event& event) {
    const auto window = handles_.windows(file_.number());
    const std::int64_t target = file_.folded(), bytes = file_.bytes();
    if (file_.torn()) return;
    const std::uint32_t to = handles_.world(handles_.of(event.communicator), target);
    shared_.transfers[{window.id, window.epoch, to}].push_back({file_.header.rank, bytes, event.kind == Record::get});
  }
  // Reads the numbers of a record, and returns the last one.
  std::uint64_t skip(Record kind) {
    std::uint64_t last = 0;
    try {
      numbers_of(kind, [&](bool) {
        last = file_.number();
        if (file_.torn()) throw Torn{};
        return static_cast<std::int64_t>(last);
      });
    } catch (const Torn&) {
    }
    return last;
  }
  void settle_request(const Completed& one) {
    const auto found = open_.find(one.request);
    if (found == open_.end()) return;
    if (one.ended == trace::Ended::cancelled) out_.cancelled.insert(found->second.number);
    if (found->second.any != NONE) {
      Outcome& outcome = out_.any[found->second.any];
      outcome.what = one.ended == trace::Ended::received && one.source != NOBODY ? Outcome::known : Outcome::none;
      outcome.source = one.source;
      outcome.tag = one.tag;
    }
    open_.erase(found);  // a persistent one begins anew with its next start
  }

  static constexpr std::size_t NONE = ~std::size_t{0};
  struct Open {
    std::uint64_t number;
    std::size_t any;
  };
  RankFile& file_;
  Handles handles_;
  Shared& shared_;
  Outcomes& out_;
  Traced& about_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t received_ = 0;
};

inline void learn(Shared& shared, RankFile& file, Outcomes& out, Traced& about, Span& span) {
  NeedsReader(shared, file, out, about).read(span);
}

}  // namespace steelyard::whatif
