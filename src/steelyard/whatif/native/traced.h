// Traces with the calls of the run (../tracer/format.h): how they are read, and what they say of themselves.
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

// Where a rank's program ends before its MPI_Finalize.
struct Broken {
  std::uint32_t rank = 0;
  std::uint64_t call = 0;  // the last one that is replayed, from 1 on
  std::string why;
};

// What was measured while the trace was made. s; of all ranks on rank 0's clock.
struct Traced {
  double time = 0;       // from the first rank's beginning to the last one's end
  double computing = 0;  // of the rank that computes most
  double preempted = 0;  // of the rank that waited most for a processor
  double tool = 0;       // of the rank that the tracer held up most
  std::uint64_t calls = 0, bytes = 0;
  std::vector<Broken> broken;
  Measured measured;
};

// As the engine says it, in JSON.
std::string said(const Traced& traced);

bool is_traced(const std::string& path);
// Where ranks are broken, programs end at what can never come.
// `iterations`: the collective whose n-th call on MPI_COMM_WORLD begins region n; else MPI_Pcontrol begins regions.
Builder read_traced(const std::string& path, Traced& about, Timeline* timeline = nullptr,
                    std::optional<trace::Collective> iterations = {});
// The one of that name.
trace::Collective collective_of(const std::string& name);

}  // namespace steelyard::whatif
