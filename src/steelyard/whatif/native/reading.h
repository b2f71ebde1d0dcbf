// Traces of all formats as schedules. Engine and exporter share what reading.once.cpp compiles.
#pragma once
#include <optional>
#include <string>

#include "digest.h"
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

}  // namespace steelyard::whatif
