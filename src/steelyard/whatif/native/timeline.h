// What a trace of ours says of the run in which it was made: each rank's calls and messages by the clock.
#pragma once
#include <string>
#include <vector>

#include "../tracer/format.h"
#include "schedule.h"

namespace steelyard::whatif {

// Times are ps since the first rank's begin, on rank 0's clock.
struct Timeline {
  struct Call {
    Time begin, end;
    trace::Kind kind;
    trace::Collective what;  // of a collective
  };
  struct Sent {
    std::uint32_t to;
    std::uint64_t tag;
    std::int64_t bytes;
    Time begin, end;
  };
  struct Posted {
    std::uint32_t from;
    std::uint64_t tag;
    Time begin, received;  // -1: never
  };
  struct OfRank {
    std::string host;
    Time begin = 0, end = 0;
    std::vector<Call> calls;
    std::vector<Sent> sent;
    std::vector<Posted> posted;  // what comes from anyone: from whom it came
  };
  struct Message {
    std::uint32_t from, to;
    std::int64_t bytes;
    std::int32_t tag;
    Time send, sent, receive, received;
  };
  std::vector<OfRank> ranks;

  Time end() const;
  // Those that were received, between two ranks: in the order of sends, rank by rank.
  std::vector<Message> messages() const;
};

// How a call is named.
const char* name_of(const Timeline::Call& call);

}  // namespace steelyard::whatif
