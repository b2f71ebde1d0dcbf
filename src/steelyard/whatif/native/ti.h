// Reads SimGrid's time-independent traces: `rank action amounts`, one file, or a list of one file a rank.
#pragma once
#include <climits>
#include <cmath>
#include <deque>
#include <filesystem>
#include <numeric>

#include "collectives.h"
#include "formats.h"
#include "text.h"

namespace steelyard::whatif {
// B of the datatypes by their number: found by the time that SimGrid 3.32 gives messages of each, and from the list in
// its sources (smpi_datatype.cpp). Numbers 55 and 56 (MPI_UB, MPI_LB) have no content; 57 is MPI_PACKED, 59 MPI_COUNT.
constexpr std::int64_t TYPES[] = {8, 4,  1, 2,  8,  4, 1,  8,  1, 1,  2,  4,  8,  8,  16, 4, 1,  1,  2, 4,
                                  8, 1,  2, 4,  8,  8, 16, 32, 8, 8,  8,  16, 16, 8,  8,  8, 16, 16, 4, 4,
                                  8, 16, 8, 16, 16, 4, 2,  4,  8, 16, 32, 1,  8,  16, 32, 0, 0,  1,  8, 8};

// The requests of one rank that nothing has waited for, and its unit of sizes.
struct Open {
  struct Request {
    std::int64_t source, target;
    std::int32_t tag;
    std::uint32_t number;
    bool receive;
  };
  std::deque<Request> requests;
  std::int64_t unit = 1;
  bool begun = false;
};

class TiReading {
 public:
  TiReading(Builder& out, double speed) : out_(out), speed_(speed), open_(out.size()) {}

  void read(Lines& lines) {
    while (lines.next()) {
      const auto rank = lines.number<std::size_t>(0, "number of a rank");
      if (rank >= out_.size()) lines.refuse("there are " + std::to_string(out_.size()) + " ranks, from 0");
      replay_line(lines, static_cast<std::uint32_t>(rank));
    }
  }

 private:
  using Bytes = std::int64_t;
  using Action = void (TiReading::*)(Lines&, std::uint32_t);

  // A collective whose bytes are alike: the places of its datatype, its root and its work on the line; 0: it has none.
  struct Alike {
    trace::Collective what;
    std::size_t type = 0, root = 0, work = 0;
  };

  void replay_line(Lines& lines, std::uint32_t rank) {
    using enum trace::Collective;
    static const std::unordered_map<std::string_view, Alike> all_alike = {
        {"barrier", {barrier}},        {"bcast", {broadcast, 4, 3}},
        {"reduce", {reduce, 5, 4, 3}}, {"allreduce", {allreduce, 4, 0, 3}},
        {"alltoall", {alltoall, 4}},   {"gather", {gather, 5, 4}},
        {"scatter", {scatter, 5, 4}},  {"allgather", {allgather, 4}},
        {"scan", {scan, 4, 0, 3}},     {"exscan", {scan, 4, 0, 3}},
    };
    if (const auto found = all_alike.find(lines.word(1, "an action")); found != all_alike.end())
      return carry_out(lines, rank, found->second);
    static const std::unordered_map<std::string_view, Action> actions = {
        {"init", &TiReading::init},
        {"finalize", &TiReading::ignore_call},
        {"comm_size", &TiReading::ignore_call},
        {"comm_split", &TiReading::ignore_call},
        {"comm_dup", &TiReading::ignore_call},
        {"location", &TiReading::ignore_call},
        {"compute", &TiReading::compute},
        {"sleep", &TiReading::sleep},
        {"send", &TiReading::send},
        {"isend", &TiReading::send},
        {"recv", &TiReading::receive},
        {"irecv", &TiReading::receive},
        {"wait", &TiReading::wait},
        {"test", &TiReading::ignore_call},
        {"waitall", &TiReading::wait_all},
        {"alltoallv", &TiReading::alltoallv},
        {"gatherv", &TiReading::gatherv},
        {"scatterv", &TiReading::scatterv},
        {"allgatherv", &TiReading::allgatherv},
        {"reducescatter", &TiReading::reduce_scatter},
    };
    const auto found = actions.find(lines.words()[1]);
    if (found == actions.end())
      lines.refuse("'" + std::string(lines.words()[1].substr(0, 60)) + "' is not a known action");
    (this->*found->second)(lines, rank);
  }

  void ignore_call(Lines&, std::uint32_t) {}
  void init(Lines& lines, std::uint32_t rank) { open_[rank].unit = lines.words().size() > 2 ? 8 : 1; }

  void work(Lines& lines, std::uint32_t rank, std::size_t which) {
    const double amount = lines.number<double>(which, "amount of work", 0.0);
    if (!(amount >= 0) || amount / speed_ > 2e6) lines.refuse("work takes between 0 and 23 days");
    if (amount > 0) out_.rank(rank).compute(static_cast<Time>(std::llround(amount / speed_ * 1e12)));
  }
  void compute(Lines& lines, std::uint32_t rank) {
    lines.word(2, "an amount of work");
    work(lines, rank, 2);
  }
  void sleep(Lines& lines, std::uint32_t rank) {
    const double seconds = lines.number<double>(2, "time in s");
    if (!(seconds >= 0) || seconds > 2e6) lines.refuse("a time lies between 0 and 23 days");
    out_.rank(rank).compute(static_cast<Time>(std::llround(seconds * 1e12)));
  }

  Bytes bytes(Lines& lines, std::uint32_t rank, std::size_t count, std::size_t type) {
    const double amount =
        lines.number<double>(count, "count of data");  // SimGrid writes them as floating-point numbers, too
    const Bytes unit = bytes_of_unit(lines, rank, type);
    if (!(amount >= 0) || amount * static_cast<double>(unit) > static_cast<double>(MOST_BYTES))
      lines.refuse("a message has 0 to 2^50 bytes");
    return static_cast<Bytes>(amount) * unit;
  }
  Bytes bytes_of_unit(Lines& lines, std::uint32_t rank, std::size_t which) {
    if (which >= lines.words().size()) return open_[rank].unit;
    const auto type = lines.number<std::size_t>(which, "number of a datatype");
    if (type >= std::size(TYPES)) lines.refuse("datatype " + std::to_string(type) + " is unknown");
    return TYPES[type];
  }
  std::vector<Bytes> read_all_bytes(Lines& lines, std::uint32_t rank, std::size_t first, std::size_t type) {
    std::vector<Bytes> found;
    for (std::size_t i = 0; i < out_.size(); ++i) found.push_back(bytes(lines, rank, first + i, type));
    return found;
  }
  std::uint32_t read_member(Lines& lines, std::size_t which) {
    const auto found = lines.number<std::int64_t>(which, "number of a rank");
    if (found < 0 || found >= static_cast<std::int64_t>(out_.size()))
      lines.refuse("there are " + std::to_string(out_.size()) + " ranks, from 0; '" + std::to_string(found) +
                   "' is not one of them");
    return static_cast<std::uint32_t>(found);
  }
  std::uint32_t read_root(Lines& lines, std::size_t which) {
    return which < lines.words().size() ? read_member(lines, which) : 0;
  }

  void send(Lines& lines, std::uint32_t rank) {
    const auto target = read_member(lines, 2);
    const auto tag = lines.number<std::int32_t>(3, "tag");
    const auto number = out_.rank(rank).send(target, tag_of(0, tag), bytes(lines, rank, 4, 5));
    if (lines.words()[1] == "send")
      out_.rank(rank).sent(number);
    else
      open_[rank].requests.push_back({rank, target, tag, number, false});
  }
  void receive(Lines& lines, std::uint32_t rank) {
    const auto source = read_member(lines, 2);
    const auto tag = lines.number<std::int32_t>(3, "tag");
    const auto number = out_.rank(rank).post(source, tag_of(0, tag));
    if (lines.words()[1] == "recv")
      out_.rank(rank).receive(number);
    else
      open_[rank].requests.push_back({source, rank, tag, number, true});
  }
  void wait(Lines& lines, std::uint32_t rank) {
    const auto source = lines.number<std::int64_t>(2, "number of a rank"),
               target = lines.number<std::int64_t>(3, "number of a rank");
    const auto tag = lines.number<std::int32_t>(4, "tag", 0);
    auto& requests = open_[rank].requests;
    for (auto at = requests.begin(); at != requests.end(); ++at)
      if (at->source == source && at->target == target && at->tag == tag) {
        if (at->receive)
          out_.rank(rank).receive(at->number);
        else
          out_.rank(rank).sent(at->number);
        requests.erase(at);
        return;
      }
    // One that a test has completed is waited for again by what SimGrid writes; nothing is left to do then.
  }
  void wait_all(Lines&, std::uint32_t rank) {
    std::vector<std::uint32_t> posts;
    for (const auto& request : open_[rank].requests)
      if (request.receive) posts.push_back(request.number);
    if (!posts.empty()) out_.rank(rank).receive_all(posts);
    for (const auto& request : open_[rank].requests)
      if (!request.receive) out_.rank(rank).sent(request.number);
    open_[rank].requests.clear();
  }

  void carry_out(std::uint32_t rank, const Together& call) {
    const Group group{static_cast<std::uint32_t>(out_.size()), rank, nullptr, 0};
    Collectives(out_.rank(rank), group).carry_out(call);
  }
  void carry_out(Lines& lines, std::uint32_t rank, const Alike& one) {
    const Bytes size = one.type ? bytes(lines, rank, 2, one.type) : 0;
    carry_out(rank, {one.what, one.root ? read_root(lines, one.root) : 0, false, {size}});
    if (one.work) work(lines, rank, one.work);
  }
  void alltoallv(Lines& lines, std::uint32_t rank) {
    const std::size_t n = out_.size();
    auto counts = read_all_bytes(lines, rank, 3, 2 * n + 4);
    const auto received = read_all_bytes(lines, rank, n + 4, 2 * n + 5);
    counts.insert(counts.end(), received.begin(), received.end());
    carry_out(rank, {trace::Collective::alltoall, 0, true, std::move(counts)});
  }
  void gatherv(Lines& lines, std::uint32_t rank) {
    const std::size_t n = out_.size();
    const Bytes own = bytes(lines, rank, 2, n + 4);
    carry_out(rank, {trace::Collective::gather, read_root(lines, n + 3), true, {own}});
  }
  void scatterv(Lines& lines, std::uint32_t rank) {
    const std::size_t n = out_.size();
    auto counts = read_all_bytes(lines, rank, 2, n + 4);
    carry_out(rank, {trace::Collective::scatter, read_root(lines, n + 3), true, std::move(counts)});
  }
  void allgatherv(Lines& lines, std::uint32_t rank) {
    carry_out(rank, {trace::Collective::allgather, 0, true, read_all_bytes(lines, rank, 3, out_.size() + 4)});
  }
  void reduce_scatter(Lines& lines, std::uint32_t rank) {
    const std::size_t n = out_.size();
    const auto counts = read_all_bytes(lines, rank, 2, n + 3);
    const Bytes whole = std::accumulate(counts.begin(), counts.end(), Bytes{0});
    carry_out(rank, {trace::Collective::reduce_scatter, 0, false, {whole}});
    work(lines, rank, n + 2);
  }

  Builder& out_;
  const double speed_;
  std::vector<Open> open_;
};

inline bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// The highest number of a rank, by the first word of each line.
inline std::size_t count_ranks(Lines lines, std::size_t ranks) {
  std::size_t most = 0;
  while (lines.next()) {
    const auto rank = lines.number<std::size_t>(0, "number of a rank");
    if (rank >= ranks) lines.refuse("a trace of this length can have 1 to " + std::to_string(ranks) + " ranks");
    most = std::max(most, rank + 1);
  }
  return most;
}

inline Builder read_ti_file(const std::string& path, std::string_view text, double speed) {
  Builder out(count_ranks(Lines(path, text), most_ranks(text.size())));
  Lines lines(path, text);
  TiReading(out, speed).read(lines);
  return out;
}

// Finds a file that a list names: beside the list, or relative to the folder from which smpirun was called, which is
// the working folder or one above the list.
inline std::string find_listed(const std::string& list, const std::string& name) {
  namespace fs = std::filesystem;
  if (name.size() >= PATH_MAX || name.find('\0') != std::string::npos) throw Refused(unknown(list));
  std::error_code ignored;
  const fs::path folder = fs::absolute(list, ignored).parent_path();
  std::vector<fs::path> places{fs::path(list).parent_path(), {}};
  if (fs::path(name).has_parent_path())
    for (fs::path above = folder; above.has_relative_path(); above = above.parent_path())
      places.push_back(above.parent_path());
  for (const fs::path& place : places)
    if (fs::is_regular_file(place / name, ignored)) return (place / name).string();
  const fs::path beside = places[0] / name;
  if (fs::exists(beside, ignored)) return beside.string();
  throw Refused("The trace '" + list + "' looks like a list of files, and its file '" + name +
                "' cannot be read: No such file or directory, neither beside the list nor in the working folder nor in "
                "a folder above the list. " +
                READABLE);
}

// Returns whether it is TI in one file, not a list of files.
inline bool is_ti(std::string_view begin) {
  Lines lines("", begin);
  return lines.next() && lines.words().size() > 1 && is_number(lines.words()[0]);
}

// One file, or a list of files, one a rank. `speed` in flop/s makes times of their work. `path` names the text in
// errors, and is where its other files are.
inline Builder read_ti(const std::string& path, std::string_view text, double speed) {
  Lines first(path, text);
  if (!first.next()) throw Refused("The trace '" + path + "' is empty");
  if (first.words().size() > 1 && is_number(first.words()[0])) return read_ti_file(path, text, speed);
  std::vector<std::string> files;
  for (bool more = true; more; more = first.next()) {
    if (first.words().size() > 1 && files.empty()) throw Refused(unknown(path));
    if (first.words().size() > 1) first.refuse("expected the name of one file, or '<rank> <action> …'");
    files.push_back(find_listed(path, std::string(first.words()[0])));
  }
  if (files.size() == 1) return read_ti_file(files[0], contents(files[0]), speed);  // of all ranks
  Builder out(files.size());
  TiReading reading(out, speed);
  for (const std::string& file : files) {
    const std::string own = contents(file);
    Lines lines(file, own);
    reading.read(lines);
  }
  return out;
}

}  // namespace steelyard::whatif
