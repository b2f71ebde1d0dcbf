// The timeline of the traced run: the calls and messages of each rank with their times.
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
    std::vector<Posted> posted;  // receives from any rank: the rank that sent
  };
  struct Message {
    std::uint32_t from, to;
    std::int64_t bytes;
    std::int32_t tag;
    Time send, sent, receive, received;
  };
  std::vector<OfRank> ranks;

  Time end() const;
  // The messages that were received, in the order of their sends, rank by rank.
  std::vector<Message> messages() const;
};

// Returns the name of a call.
const char* name_of(const Timeline::Call& call);

}  // namespace steelyard::whatif
