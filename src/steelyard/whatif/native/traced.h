// Reads traces with the calls of a run (../tracer/format.h), and the facts about the run in them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../tracer/format.h"
#include "phases.h"
#include "readers.h"
#include "timeline.h"

namespace steelyard::whatif {

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

// Returns the JSON of the engine's reply.
std::string said(const Traced& traced);

bool is_traced(const std::string& path);
// If ranks are incomplete, programs end at messages that can never come.
// `without_waits`: the computing between two calls does not include waits for a processor.
// `iterations`: the collective whose n-th call on MPI_COMM_WORLD begins region n; else MPI_Pcontrol begins regions.
Builder read_traced(const std::string& path, Traced& about, Timeline* timeline = nullptr,
                    std::optional<trace::Collective> iterations = {}, bool without_waits = false);
// The one of that name.
trace::Collective collective_of(const std::string& name);

}  // namespace steelyard::whatif
