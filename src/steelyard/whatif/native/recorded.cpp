// Reads traces of our own: each rank's file twice, once for what others must know of it, once for its program.
#include "recorded.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <tuple>
#include <unordered_map>

#include "collectives.h"
#include "text.h"

namespace steelyard::whatif {
namespace {

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
  RankFile(const std::string& folder, std::uint32_t rank)
      : path_(folder + "/rank-" + std::to_string(rank) + ".trace"), text_(contents(path_)) {
    if (text_.size() < sizeof header) refuse(0, "the file ends within its header");
    std::memcpy(&header, text_.data(), sizeof header);
    if (std::memcmp(header.magic, trace::MAGIC, sizeof header.magic) != 0)
      refuse(0, "this is no trace of a rank, or of another version");
    if (header.rank != rank) refuse(8, "it says that it is rank " + std::to_string(header.rank));
    if (header.shift > 16) refuse(16, "its unit of time is unknown");
    const double ticks = static_cast<double>(header.end_ticks - header.begin_ticks),
                 ns = static_cast<double>(header.end_ns - header.begin_ns);
    if (header.end_ticks <= header.begin_ticks || header.end_ns <= header.begin_ns || ns / ticks > 1e3 ||
        ns / ticks < 1e-3)
      refuse(24, "its clock does not go on");
    pace_ = ns / ticks;
    at_ = sizeof header;
  }

  bool next(Event& event) {
    if (ended_ || at_ >= text_.size()) return false;
    event.at = at_;
    const auto first = static_cast<std::uint8_t>(text_[at_]);
    event.kind = static_cast<Record>(first & ~trace::OTHER);
    if (event.kind == Record::end) {
      if (first != 0) refuse(at_, "a record of no kind");
      return false;
    }
    if (event.kind >= Record::last) refuse(at_, "a record of a kind that is not known");
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
  // How many numbers follow: each has a byte at least.
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
  const std::string path_, text_;
  std::size_t at_ = 0, begin_ = 0;
  bool ended_ = false;
  double pace_ = 1, total_ = 0;
};

struct Completed {
  std::uint64_t request;
  trace::Ended ended;
  std::int64_t source = 0;
  std::int32_t tag = 0;
};
std::vector<Completed> completions(RankFile& file) {
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

// What all ranks must agree on: numbers of communicators and windows, by what the tracer wrote in each of them.
struct Shared {
  std::map<std::uint64_t, std::uint32_t> communicators;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> windows;
  std::uint32_t next = 2;
  // One-sided: what reaches a rank in an epoch between two fences of a window.
  struct Transfer {
    std::uint32_t origin;
    std::int64_t bytes;
    bool get;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Transfer>> transfers;
};

// What both passes keep of one rank's communicators and windows.
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
    if (found == communicators_.end()) file_.refuse("a communicator that the trace has not described");
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
        file_.refuse("a communicator with a rank that is none");
      if (rank == rank_) made.own = static_cast<std::uint32_t>(made.all.size());
      made.all.push_back(static_cast<std::uint32_t>(rank));
    }
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
    if (found == windows_.end()) file_.refuse("a window that the trace has not described");
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

// What a request became, which the trace tells when it is completed.
struct Outcome {
  enum : std::uint8_t { unknown, known, none } what = unknown;
  std::int32_t tag = 0;
  std::int64_t source = 0;
};
// Of one rank, after the first pass: of its receives from anyone, or with any tag, and those that were cancelled.
struct Outcomes {
  std::vector<Outcome> any;
  std::set<std::uint64_t> cancelled;  // by number among all nonblocking receives
};

#include "recorded_passes.h"

// Of ranks whose programs end at a message that never came: which call that was.
void end_early(Builder& out, const std::vector<std::vector<std::size_t>>& lengths, Recorded& about) {
  const auto left = out.end_early();
  for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
    if (left[rank] == Builder::WHOLE) continue;
    const auto& ends = lengths[rank];
    const auto call = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), left[rank]) - ends.begin());
    std::erase_if(about.broken, [&](const Broken& b) { return b.rank == rank; });
    about.broken.push_back({rank, call + 1, "a message that it waits for never came"});
  }
  std::sort(about.broken.begin(), about.broken.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
}

}  // namespace

bool is_recorded(const std::string& path) { return std::filesystem::is_directory(path); }

Builder read_recorded(const std::string& folder, Recorded& about) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    files += name.starts_with("rank-") && name.ends_with(".trace");
  }
  if (files == 0)
    throw Refused("The folder '" + folder + "' has no trace: no file rank-0.trace, as steelyard trace writes it");
  Shared shared;
  std::vector<Outcomes> outcomes(files);
  Span span;
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file(folder, rank);
    if (file.header.ranks != files)
      throw Refused("The trace in '" + folder + "' has files of " + std::to_string(files) + " ranks, and rank " +
                    std::to_string(rank) + " says that there were " + std::to_string(file.header.ranks));
    First(shared, file, outcomes[rank], about).read(span);
  }
  about.traced = std::max(span.end - span.begin, 0.0);
  Builder out(files);
  std::vector<std::vector<std::size_t>> lengths(about.broken.empty() ? 0 : files);
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file(folder, rank);
    Second(shared, file, outcomes[rank], out.rank(rank), span).read(lengths.empty() ? nullptr : &lengths[rank]);
  }
  if (!about.broken.empty()) end_early(out, lengths, about);
  return out;
}

}  // namespace steelyard::whatif
