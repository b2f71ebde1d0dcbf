// The facts about the run in a trace of our own (../tracer/format.h).
#pragma once
#include "json.h"
#include "traced_file.h"

namespace steelyard::whatif {

// Returns the collective of this name.
inline trace::Collective collective_of(const std::string& name) {
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
