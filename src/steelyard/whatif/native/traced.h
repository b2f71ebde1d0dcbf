// Reads traces of our own (../tracer/format.h), and the facts about the run in them: each rank's file twice, once for
// what others must know of it, once for its program.
#pragma once
#include "early.h"
#include "json.h"
#include "rank_files.h"
#include "traced_needs.h"
#include "traced_programs.h"

namespace steelyard::whatif {

// Finds the last call of the ranks that wait for a message that never came.
inline void end_early(Builder& out, const std::vector<std::vector<std::size_t>>& lengths, Traced& about) {
  const auto left = out.end_early();
  for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
    if (left[rank] == Builder::WHOLE) continue;
    const auto& ends = lengths[rank];
    const auto call = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), left[rank]) - ends.begin());
    std::erase_if(about.broken, [&](const Broken& b) { return b.rank == rank; });
    about.broken.push_back({rank, call + 1, "it waits for a message that never came"});
  }
  std::sort(about.broken.begin(), about.broken.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
}

// Returns the collective of this name.
inline trace::Collective collective_of(const std::string& name) {
  static constexpr const char* NAMES[] = {"barrier", "bcast",     "reduce",   "allreduce",      "gather",
                                          "scatter", "allgather", "alltoall", "reduce_scatter", "scan"};
  static_assert(std::size(NAMES) == static_cast<std::size_t>(trace::Collective::last));
  for (std::size_t i = 0; i < std::size(NAMES); ++i)
    if (name == NAMES[i]) return static_cast<trace::Collective>(i);
  throw Refused("no collective has the name '" + name + "'");
}

// If ranks are incomplete, programs end at messages that can never come.
// `without_waits`: the computing between two calls does not include waits for a processor.
// `iterations`: the collective whose n-th call on MPI_COMM_WORLD begins region n; else MPI_Pcontrol begins regions.
inline Builder read_traced(const std::string& path, Traced& about, Timeline* timeline = nullptr,
                           std::optional<trace::Collective> iterations = {}, bool without_waits = false) {
  const RankFiles ranks(path);
  const std::size_t files = ranks.size();
  Shared shared;
  shared.iterations = iterations;
  shared.without_waits = about.without_waits = without_waits;
  std::vector<Outcomes> outcomes(files);
  Span span;
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file = ranks.of(rank);
    if (file.header.ranks != files)
      throw Refused("The trace in '" + ranks.path() + "' has files of " + std::to_string(files) +
                    " ranks, but the file of rank " + std::to_string(rank) + " was written by a run with " +
                    std::to_string(file.header.ranks));
    learn(shared, file, outcomes[rank], about, span);
  }
  about.time = std::max(span.end - span.begin, 0.0) * 1e-9;
  Builder out(files);
  std::vector<std::vector<std::size_t>> lengths(about.broken.empty() ? 0 : files);
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file = ranks.of(rank);
    Timeline::OfRank* line = timeline ? &timeline->ranks.emplace_back() : nullptr;
    if (line) line->host.assign(file.header.host, strnlen(file.header.host, sizeof file.header.host));
    write_program(shared, file, outcomes[rank], out.rank(rank), span, about.measured,
                  lengths.empty() ? nullptr : &lengths[rank], line);
  }
  for (const Time waiting : about.measured.waiting)
    about.waiting = std::max(about.waiting, static_cast<double>(waiting) * 1e-12);
  if (!about.broken.empty()) end_early(out, lengths, about);
  return out;
}

// Returns the JSON of the engine's reply.
inline std::string said(const Traced& traced) {
  const auto said = [](const Broken& b) {
    return json::Object().add("rank", b.rank).add("call", b.call).add("why", json::text(b.why)).str();
  };
  return json::Object()
      .add("time", traced.time)
      .add("computing", traced.computing)
      .add("preempted", traced.preempted)
      .add("waiting", traced.waiting)
      .add("without_waits", std::string(traced.without_waits ? "true" : "false"))
      .add("tool", traced.tool)
      .add("calls", traced.calls)
      .add("bytes", traced.bytes)
      .add("broken", json::list(traced.broken, said))
      .str();
}

}  // namespace steelyard::whatif
