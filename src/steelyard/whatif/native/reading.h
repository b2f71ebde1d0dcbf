// Traces of all formats as schedules (engine and exporter share reading.once.cpp), and the facts about a run in ours.
#pragma once
#include <optional>
#include <string>

#include "digest.h"
#include "json.h"
#include "traced_file.h"

namespace steelyard::whatif {

// The schedule of a trace of ours, a folder, and the facts about its run.
// If ranks are incomplete, programs end at messages that can never come.
// `without_waits`: the computing between two calls does not include waits for a processor.
// `iterations`: the collective whose n-th call on MPI_COMM_WORLD begins region n; else MPI_Pcontrol begins regions.
Schedule read_traced(const std::string& path, Traced& about, Timeline* timeline = nullptr,
                     std::optional<trace::Collective> iterations = {}, bool without_waits = false);

// The schedule of a trace that is text, at this speed of the traced cores (flop/s).
// `content`: what the file holds, where its schedule follows from this file alone.
Schedule read_file(const std::string& path, double speed, std::optional<Digest::Value>* content = nullptr);

// Returns the collective of this name.
inline trace::Collective find_collective(const std::string& name) {
  static constexpr const char* NAMES[] = {"barrier", "bcast",     "reduce",   "allreduce",      "gather",
                                          "scatter", "allgather", "alltoall", "reduce_scatter", "scan"};
  static_assert(std::size(NAMES) == static_cast<std::size_t>(trace::Collective::last));
  for (std::size_t i = 0; i < std::size(NAMES); ++i)
    if (name == NAMES[i]) return static_cast<trace::Collective>(i);
  throw Refused("no collective has the name '" + name + "'");
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
