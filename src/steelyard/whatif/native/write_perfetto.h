// Writes JSON of trace events, which Perfetto and Chrome show: a row for each rank, an arrow for each message.
#pragma once
#include "json.h"
#include "writers.h"

namespace steelyard::whatif {
inline double microseconds(Time time) { return static_cast<double>(time) * 1e-6; }

// Perfetto, as JSON of trace events.
inline void write_perfetto(const Timeline& timeline, const std::string& path) {
  Output out(path);
  out.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const std::string name = json::text("rank " + std::to_string(r) + ", " + timeline.ranks[r].host);
    out.write("%s\n{\"ph\":\"M\",\"pid\":0,\"tid\":%zu,\"name\":\"thread_name\",\"args\":{\"name\":%s}}", r ? "," : "",
              r, name.c_str());
    for (const auto& call : timeline.ranks[r].calls)
      out.write(",\n{\"ph\":\"X\",\"pid\":0,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s}", r,
                microseconds(call.begin), microseconds(call.end - call.begin), json::text(name_of(call)).c_str());
  }
  std::size_t id = 0;
  for (const auto& m : timeline.messages()) {
    // An arrow begins and ends within a call: at the end of the send, and of what received.
    out.write(",\n{\"ph\":\"s\",\"pid\":0,\"tid\":%u,\"ts\":%.3f,\"id\":%zu,\"cat\":\"message\",\"name\":\"%lld B\"}",
              m.from, microseconds(m.send), id, static_cast<long long>(m.bytes));
    out.write(
        ",\n{\"ph\":\"f\",\"bp\":\"e\",\"pid\":0,\"tid\":%u,\"ts\":%.3f,\"id\":%zu,\"cat\":\"message\",\"name\":\"%lld "
        "B\"}",
        m.to, microseconds(m.received), id++, static_cast<long long>(m.bytes));
  }
  out.write("\n]}\n");
  out.close();
}

}  // namespace steelyard::whatif
