// The timeline of the traced run: the calls and messages of each rank with their times.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
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
    Time begin, received;  // begin of the receive; moment when the message came, -1: never
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

  Time end() const {
    Time last = 0;
    for (const OfRank& rank : ranks) last = std::max(last, rank.end);
    return last;
  }
  // The messages that were received, in the order of their sends, rank by rank.
  std::vector<Message> messages() const {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<const Posted*>> posted;
    for (std::uint32_t to = 0; to < ranks.size(); ++to)
      for (const Posted& one : ranks[to].posted) posted[{one.from, to, one.tag}].push_back(&one);
    for (auto& [key, all] : posted) std::reverse(all.begin(), all.end());
    std::vector<Message> found;
    for (std::uint32_t from = 0; from < ranks.size(); ++from)
      for (const Sent& one : ranks[from].sent) {
        const auto all = posted.find({from, one.to, one.tag});
        if (all == posted.end() || all->second.empty()) continue;
        const Posted& taken = *all->second.back();
        all->second.pop_back();
        const auto tag = static_cast<std::int32_t>(one.tag);
        if (taken.received >= 0)
          found.push_back({from, one.to, one.bytes, tag, one.begin, one.end, taken.begin, taken.received});
      }
    return found;
  }
};

// Returns the name of a call.
inline const char* name_of(const Timeline::Call& call) {
  static constexpr const char* KINDS[] = {
      "end",          "call",        "send",       "isend",       "receive", "ireceive", "sendrecv",
      "wait",         "probe",       "collective", "icollective", "vectors", "ivectors", "make communicator",
      "free request", "make window", "fence",      "put",         "get",     "poll",     "look at the queue",
      "tracer",       "finalize",    "abort",      "region"};
  static constexpr const char* TOGETHER[] = {"barrier", "broadcast", "reduce",   "allreduce",      "gather",
                                             "scatter", "allgather", "alltoall", "reduce_scatter", "scan"};
  static_assert(std::size(KINDS) == static_cast<std::size_t>(trace::Kind::last));
  static_assert(std::size(TOGETHER) == static_cast<std::size_t>(trace::Collective::last));
  const bool together = call.kind >= trace::Kind::collective && call.kind <= trace::Kind::ivectors;
  return together ? TOGETHER[static_cast<std::size_t>(call.what)] : KINDS[static_cast<std::size_t>(call.kind)];
}

}  // namespace steelyard::whatif
