// The activity of the ranks in the traced run itself, and how long its sends took.
#pragma once
#include <algorithm>
#include <numeric>
#include <string>

#include "activity.h"
#include "json.h"
#include "reading.h"
#include "schedule.h"
#include "timeline.h"

namespace steelyard::whatif {

inline bool sends(trace::Kind kind) {
  return kind == trace::Kind::send || kind == trace::Kind::isend || kind == trace::Kind::exchange;
}

inline bool communicates(trace::Kind kind) {
  return kind != trace::Kind::preempted && kind != trace::Kind::tool && kind != trace::Kind::region;
}

// Returns the shares of computing by row of `together` ranks and by step of the time from the first begin to the last
// end; and of the calls that send: their number, mean, least, 95th percentile (ps), and how many took at least `wait`.
inline json::Object traced_activity(const std::string& path, const Schedule& schedule, std::uint32_t together,
                                    std::size_t steps, Time wait) {
  Traced about;
  Timeline timeline;
  read_traced(path, about, &timeline);
  const Time span = timeline.end();
  Activity activity(schedule, together, steps, span);
  std::vector<Time> durations;
  for (std::uint32_t rank = 0; rank < timeline.ranks.size() && rank < schedule.ranks; ++rank) {
    const Timeline::OfRank& own = timeline.ranks[rank];
    Time since = own.begin;
    for (const Timeline::Call& call : own.calls) {
      if (!communicates(call.kind)) continue;
      activity.add_of_rank(rank, since, call.begin, Activity::computing);
      since = std::max(since, call.end);
      if (!sends(call.kind)) continue;
      durations.push_back(call.end - call.begin);
      activity.sent(call.end - call.begin);
    }
    activity.add_of_rank(rank, since, own.end, Activity::computing);
  }
  json::Object out;
  out.add("span", span).add("activity", activity.said()).add("sends", durations.size());
  if (durations.empty()) return out;
  std::sort(durations.begin(), durations.end());
  const auto longer = durations.end() - std::lower_bound(durations.begin(), durations.end(), wait);
  const double sum = std::accumulate(durations.begin(), durations.end(), 0.0);
  return out.add("mean", sum / static_cast<double>(durations.size()))
      .add("best", durations.front())
      .add("late", durations[(durations.size() - 1) * 95 / 100])
      .add("longer", static_cast<std::size_t>(longer));
}

}  // namespace steelyard::whatif
