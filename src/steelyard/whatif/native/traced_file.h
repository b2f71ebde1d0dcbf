// Common parts of both passes over a rank's file: records, numbers of communicators, outcomes of receives.
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives.h"
#include "phases.h"
#include "text.h"
#include "timeline.h"

namespace steelyard::whatif {

using trace::ANY;
using trace::NOBODY;
using Record = trace::Kind;

// One record, its numbers as they stand in the file.
struct Event {
  Record kind{};
  std::uint64_t gap = 0, duration = 0;
  std::uint32_t communicator = 0;
  std::size_t at = 0;  // where it begins in the file
};

// The file of a rank, record by record. Refused names the place; a record that the end of the file cuts is the end.
class RankFile {
 public:
  RankFile(std::string path, std::string text, std::uint32_t rank) : path_(std::move(path)), text_(std::move(text)) {
    if (text_.size() < sizeof header) refuse(0, "the file ends within its header");
    std::memcpy(&header, text_.data(), sizeof header);
    if (std::memcmp(header.magic, trace::MAGIC, sizeof header.magic) != 0)
      refuse(0, "this is not the trace of a rank, or it has another version");
    if (header.rank != rank) refuse(8, "its header names rank " + std::to_string(header.rank));
    if (header.shift > 16) refuse(16, "its unit of time is unknown");
    const double ticks = static_cast<double>(header.end_ticks - header.begin_ticks),
                 ns = static_cast<double>(header.end_ns - header.begin_ns);
    if (header.end_ticks <= header.begin_ticks || header.end_ns <= header.begin_ns || ns / ticks > 1e3 ||
        ns / ticks < 1e-3)
      refuse(24, "its clock does not advance");
    pace_ = (ns + drift(ns)) / ticks;
    at_ = sizeof header;
  }

  bool next(Event& event) {
    if (ended_ || at_ >= text_.size()) return false;
    event.at = at_;
    const auto first = static_cast<std::uint8_t>(text_[at_]);
    event.kind = static_cast<Record>(first & ~trace::OTHER);
    if (event.kind == Record::end) {
      if (first != 0) refuse(at_, "a record has no kind");
      return false;
    }
    if (event.kind >= Record::last) refuse(at_, "a record has an unknown kind");
    ++at_;
    event.gap = number();
    event.duration = number();
    event.communicator = first & trace::OTHER ? static_cast<std::uint32_t>(std::min<std::uint64_t>(number(), ~0u)) : 0;
    begin_ = event.at;
    total_ += static_cast<double>(event.gap) + static_cast<double>(event.duration);
    if (seconds(total_) > 2e6) refuse(begin_, "the trace is longer than 23 days");
    return !ended_;
  }
  std::uint64_t number() {
    std::uint64_t found = 0;
    for (unsigned bits = 0; bits < 64; bits += 7) {
      if (at_ >= text_.size()) {
        ended_ = true;
        return 0;
      }
      const auto byte = static_cast<std::uint8_t>(text_[at_++]);
      found |= std::uint64_t{byte & 0x7fu} << bits;
      if (byte < 0x80) return found;
    }
    refuse(begin_, "a number is longer than 64 bits");
  }
  std::int64_t folded() {
    const std::uint64_t found = number();
    return static_cast<std::int64_t>(found >> 1) ^ -static_cast<std::int64_t>(found & 1);
  }
  std::int64_t bytes() {
    const std::uint64_t found = number();
    if (found > static_cast<std::uint64_t>(MOST_BYTES)) refuse(begin_, "a message has 0 to 2^50 bytes");
    return static_cast<std::int64_t>(found);
  }
  std::int32_t tag() {
    const std::int64_t found = folded();
    if (found < -1 || found > INT32_MAX) refuse(begin_, "a tag lies between 0 and 2^31 - 1");
    return static_cast<std::int32_t>(found);
  }
  // The count of the numbers that follow; each has at least one byte.
  std::size_t count() {
    const std::uint64_t found = number();
    if (found > text_.size() - std::min(at_, text_.size())) ended_ = true;
    return ended_ ? 0 : static_cast<std::size_t>(found);
  }
  bool torn() const { return ended_; }
  double seconds(double ticks) const { return ticks * static_cast<double>(1u << header.shift) * pace_ * 1e-9; }
  Time time(std::uint64_t ticks) const { return static_cast<Time>(seconds(static_cast<double>(ticks)) * 1e12 + 0.5); }
  [[noreturn]] void refuse(const std::string& why) const { refuse(begin_, why); }
  [[noreturn]] void refuse(std::size_t at, const std::string& why) const {
    throw Refused(path_ + ", byte " + std::to_string(at) + ": " + why);
  }
  std::size_t size() const { return text_.size(); }

  trace::Header header{};

 private:
  // The drift against rank 0's clock. A drift below the error of the measurement is ignored.
  double drift(double ns) const {
    if (header.offset_known != 2) return 0;
    const double found = static_cast<double>(header.offset_end) - static_cast<double>(header.offset_begin);
    const bool sure = std::abs(found) > 2 * static_cast<double>(header.offset_error);
    return sure && std::abs(found) < 1e-3 * ns ? found : 0;
  }

  const std::string path_, text_;
  std::size_t at_ = 0, begin_ = 0;
  bool ended_ = false;
  double pace_ = 1, total_ = 0;
};

struct Torn {};  // the file ends within a record

// Visits the numbers of a record in the order of the file; `each` reads or writes one, and returns it.
template <class Each>
void numbers_of(Record kind, Each each) {
  using enum trace::Kind;
  const auto plain = [&](int times) {
    for (; times > 0; --times) each(false);
  };
  const auto partner = [&] { each(true), each(true); };  // rank and tag
  const auto several = [&](bool folded) {
    for (std::int64_t left = each(false); left > 0; --left) each(folded);
  };
  switch (kind) {
    case send:
      return partner(), plain(1);
    case isend:
      return partner(), plain(2);
    case receive:
    case probe:
      return partner();
    case ireceive:
      return partner(), plain(1);
    case exchange:
      return partner(), plain(1), partner();
    case complete:
      for (std::int64_t left = each(false); left > 0; --left)
        if ((each(false) & 3) == static_cast<std::int64_t>(trace::Ended::received)) partner();
      return;
    case collective:
      return plain(3);
    case icollective:
      return plain(4);
    case vectors:
    case ivectors:
      return plain(2), several(false), plain(kind == ivectors);
    case communicator:
      return plain(2), several(true);
    case released:
    case window:
    case fence:
    case polled:
    case preempted:
      return plain(1);
    case put:
    case get:
      return plain(1), static_cast<void>(each(true)), plain(1);
    case region:
      return static_cast<void>(each(true));
    default:
      return;
  }
}

struct Completed {
  std::uint64_t request;
  trace::Ended ended;
  std::int64_t source = 0;
  std::int32_t tag = 0;
};
inline std::vector<Completed> list_completions(RankFile& file) {
  std::vector<Completed> found(file.count());
  for (Completed& one : found) {
    const std::uint64_t word = file.number();
    one.request = word >> 2;
    one.ended = static_cast<trace::Ended>(word & 3);
    if (one.ended > trace::Ended::cancelled) file.refuse("a request ended in an unknown way");
    if (one.ended == trace::Ended::received) {
      one.source = file.folded();
      one.tag = file.tag();
    }
  }
  return found;
}

struct Members {
  std::uint32_t id = 0, own = 0;
  std::vector<std::uint32_t> all;
};

// Numbers that must be the same on all ranks: those of communicators and windows, by their keys from the tracer.
struct Shared {
  std::map<std::uint64_t, std::uint32_t> communicators;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> windows;
  std::uint32_t next = 2;
  std::optional<trace::Collective> iterations;  // regions are begun by its calls on MPI_COMM_WORLD, not by MPI_Pcontrol
  bool without_waits = false;                   // waits for a processor are no part of the computing
  // One-sided: what reaches a rank in an epoch between two fences of a window.
  struct Transfer {
    std::uint32_t origin;
    std::int64_t bytes;
    bool get;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Transfer>> transfers;
};

// The communicators and windows of one rank, for both passes.
class Handles {
 public:
  Handles(Shared& shared, RankFile& file) : shared_(shared), file_(file), rank_(file.header.rank) {
    Members& world = communicators_[0];
    for (std::uint32_t r = 0; r < file.header.ranks; ++r) world.all.push_back(r);
    world.own = rank_;
    communicators_[1] = {1, 0, {file.header.rank}};
  }
  const Members& of(std::uint32_t communicator) const {
    const auto found = communicators_.find(communicator);
    if (found == communicators_.end()) file_.refuse("the trace does not describe this communicator");
    return found->second;
  }
  std::uint32_t world(const Members& members, std::int64_t rank) const {
    if (rank < 0 || rank >= static_cast<std::int64_t>(members.all.size()))
      file_.refuse("rank " + std::to_string(rank) + " of a communicator of " + std::to_string(members.all.size()));
    return members.all[static_cast<std::size_t>(rank)];
  }
  void communicator() {
    const std::uint64_t number = file_.number(), key = file_.number();
    Members made;
    std::int64_t rank = 0;
    for (std::size_t left = file_.count(); left > 0; --left) {
      rank += file_.folded();
      if (file_.torn()) return;
      if (rank < 0 || rank >= static_cast<std::int64_t>(file_.header.ranks))
        file_.refuse("a communicator has an unknown rank");
      if (rank == rank_) made.own = static_cast<std::uint32_t>(made.all.size());
      made.all.push_back(static_cast<std::uint32_t>(rank));
    }
    if (std::set(made.all.begin(), made.all.end()).size() != made.all.size())
      file_.refuse("a communicator has a rank twice");
    const auto [at, added] = shared_.communicators.try_emplace(key, shared_.next);
    shared_.next += added;
    made.id = at->second;
    communicators_[static_cast<std::uint32_t>(number)] = std::move(made);
  }
  void window(std::uint32_t communicator) {
    const std::uint64_t number = file_.number();
    const std::uint32_t id = of(communicator).id;
    const auto [at, added] = shared_.windows.try_emplace({id, made_[id]++}, shared_.next);
    shared_.next += added;
    windows_[number] = {at->second, 0};
  }
  struct Window {
    std::uint32_t id, epoch;
  };
  Window& windows(std::uint64_t number) {
    const auto found = windows_.find(number);
    if (found == windows_.end()) file_.refuse("the trace does not describe this window");
    return found->second;
  }

 private:
  Shared& shared_;
  RankFile& file_;
  const std::int64_t rank_;
  std::unordered_map<std::uint32_t, Members> communicators_;
  std::unordered_map<std::uint64_t, Window> windows_;
  std::unordered_map<std::uint32_t, std::uint32_t> made_;
};

// The outcome of a request, which is in the record of its completion.
struct Outcome {
  enum : std::uint8_t { unknown, known, none } what = unknown;
  std::int32_t tag = 0;
  std::int64_t source = 0;
};
// The outcomes of one rank after the first pass: receives from any rank or with any tag, and cancelled ones.
struct Outcomes {
  std::vector<Outcome> any;
  std::set<std::uint64_t> cancelled;  // by number among all nonblocking receives
};

// The time from the beginning of the first rank to the end of the last one, in ns on rank 0's clock.
struct Span {
  double begin = 1e300, end = -1e300;
};
// A whole number, so that no compiler's rounding changes what is replayed.
inline double beginning(const RankFile& file) {
  const trace::Header& h = file.header;
  const double since = static_cast<double>(static_cast<std::int64_t>(h.first_ticks - h.begin_ticks) >> h.shift);
  return std::nearbyint(static_cast<double>(h.begin_ns) + static_cast<double>(h.offset_begin) +
                        file.seconds(since) * 1e9);
}

// The end of a rank's program that has no MPI_Finalize.
struct Broken {
  std::uint32_t rank = 0;
  std::uint64_t call = 0;  // the last one that is replayed, from 1 on
  std::string why;
};

// Measurements of the traced run, in s, on the clock of rank 0.
struct Traced {
  double time = 0;             // from the begin of the first rank to the end of the last one
  double computing = 0;        // of the rank with the most computing
  double preempted = 0;        // of the rank with the longest wait for a processor
  double waiting = 0;          // the same, of the rank with the longest wait between its calls
  bool without_waits = false;  // these waits are no part of the programs
  double tool = 0;             // of the rank with the greatest cost of the tracer
  std::uint64_t calls = 0, bytes = 0;
  std::vector<Broken> broken;
  Measured measured;
};

}  // namespace steelyard::whatif
