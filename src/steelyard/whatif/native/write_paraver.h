// Writes Paraver's traces: states and events of all calls, messages, and what their numbers mean.
#pragma once
#include <algorithm>
#include <ctime>
#include <map>

#include "writers.h"

namespace steelyard::whatif {
constexpr unsigned CALLS =
    50000001;  // the event's type; its value is the kind, or 100 and the number of the collective

// Paraver's own numbers of states.
enum State : unsigned {
  running = 1,
  waiting_message = 3,
  blocking_send = 4,
  probing = 6,
  waiting = 8,
  immediate_send = 10,
  immediate_receive = 11,
  together = 13,
  others = 15,
  send_receive = 16,
};

inline State state_of(trace::Kind kind) {
  using enum trace::Kind;
  switch (kind) {
    case send:
      return blocking_send;
    case isend:
      return immediate_send;
    case receive:
      return waiting_message;
    case ireceive:
      return immediate_receive;
    case exchange:
      return send_receive;
    case complete:
      return waiting;
    case probe:
    case polled:
      return probing;
    case collective:
    case icollective:
    case vectors:
    case ivectors:
    case fence:
      return together;
    default:
      return others;
  }
}
inline unsigned value_of(const Timeline::Call& call) {
  const bool all = call.kind >= trace::Kind::collective && call.kind <= trace::Kind::ivectors;
  return all ? 100 + static_cast<unsigned>(call.what) : static_cast<unsigned>(call.kind);
}

using Ns = long long;
inline Ns ns(Time time) { return time / NANOSECOND; }

inline std::string make_printable(std::string name) {
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 127; }, '?');
  return name;
}

// Ranks by hosts: Paraver counts processors from 1, node after node.
struct Places {
  std::vector<std::string> hosts;
  std::vector<std::size_t> node, processor, processors;

  explicit Places(const Timeline& timeline) {
    std::map<std::string, std::size_t> known;
    for (const auto& rank : timeline.ranks) {
      const auto [at, added] = known.try_emplace(rank.host, hosts.size());
      if (added) hosts.push_back(make_printable(rank.host)), processors.push_back(0);
      node.push_back(at->second);
      processor.push_back(++processors[at->second]);
    }
    std::size_t before = 0;
    for (std::size_t host = 0; host < hosts.size(); before += processors[host++])
      for (std::size_t rank = 0; rank < node.size(); ++rank)
        if (node[rank] == host) processor[rank] += before;
  }
  // Processor, application, task, thread.
  std::string of(std::size_t rank) const {
    return std::to_string(processor[rank]) + ":1:" + std::to_string(rank + 1) + ":1:";
  }
};

struct Line {
  Ns time;
  std::string text;
};

inline std::vector<Line> lines(const Timeline& timeline, const Places& places) {
  std::vector<Line> found;
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const auto& rank = timeline.ranks[r];
    const std::string of = places.of(r);
    const auto state = [&](Time begin, Time end, unsigned which) {
      if (ns(end) > ns(begin))
        found.push_back({ns(begin), "1:" + of + std::to_string(ns(begin)) + ":" + std::to_string(ns(end)) + ":" +
                                        std::to_string(which)});
    };
    const auto event = [&](Time time, unsigned value) {
      found.push_back(
          {ns(time), "2:" + of + std::to_string(ns(time)) + ":" + std::to_string(CALLS) + ":" + std::to_string(value)});
    };
    Time before = rank.begin;
    for (const auto& call : rank.calls) {
      state(before, call.begin, running);
      state(call.begin, call.end, state_of(call.kind));
      event(call.begin, value_of(call));
      event(call.end, 0);
      before = call.end;
    }
    state(before, rank.end, running);
  }
  for (const auto& m : timeline.messages()) {
    // A message cannot come before it was sent: clocks of hosts have an error.
    const Ns sent = ns(m.send), received = std::max(ns(m.received), sent);
    found.push_back({sent, "3:" + places.of(m.from) + std::to_string(sent) + ":" + std::to_string(sent) + ":" +
                               places.of(m.to) + std::to_string(ns(m.receive)) + ":" + std::to_string(received) + ":" +
                               std::to_string(m.bytes) + ":" + std::to_string(m.tag)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Line& a, const Line& b) { return a.time < b.time; });
  return found;
}

inline void write_records(const Timeline& timeline, const Places& places, const std::string& path) {
  Output out(path);
  char moment[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(moment, sizeof moment, "%d/%m/%Y at %H:%M", std::localtime(&now));
  out.write("#Paraver (%s):%lld_ns:%zu(", moment, ns(timeline.end()), places.hosts.size());
  for (std::size_t i = 0; i < places.hosts.size(); ++i) out.write("%s%zu", i ? "," : "", places.processors[i]);
  out.write("):1:%zu(", timeline.ranks.size());
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) out.write("%s1:%zu", r ? "," : "", places.node[r] + 1);
  out.write(")\n");
  for (const Line& line : lines(timeline, places)) out.write("%s\n", line.text.c_str());
  out.close();
}

inline void write_meanings(const Timeline& timeline, const std::string& path) {
  static constexpr std::pair<unsigned, const char*> STATES[] = {{0, "Idle"},
                                                                {running, "Running"},
                                                                {waiting_message, "Waiting a message"},
                                                                {blocking_send, "Blocking Send"},
                                                                {probing, "Test/Probe"},
                                                                {waiting, "Wait/WaitAll"},
                                                                {immediate_send, "Immediate Send"},
                                                                {immediate_receive, "Immediate Receive"},
                                                                {together, "Group Communication"},
                                                                {others, "Others"},
                                                                {send_receive, "Send Receive"}};
  Output out(path);
  out.write("DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\nSTATES\n");
  for (const auto& [state, name] : STATES) out.write("%u    %s\n", state, name);
  std::map<unsigned, const char*> names;
  for (const auto& rank : timeline.ranks)
    for (const auto& call : rank.calls) names[value_of(call)] = name_of(call);
  out.write("\nEVENT_TYPE\n9    %u    MPI call\nVALUES\n0      Outside MPI\n", CALLS);
  for (const auto& [value, name] : names) out.write("%u      %s\n", value, name);
  out.close();
}

inline void write_names(const Timeline& timeline, const Places& places, const std::string& path) {
  Output out(path);
  const std::size_t ranks = timeline.ranks.size();
  std::vector<std::string> processors(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    processors[places.processor[r] - 1] = std::to_string(places.processor[r]) + "." + places.hosts[places.node[r]];
  out.write("LEVEL CPU SIZE %zu\n", ranks);
  for (const std::string& name : processors) out.write("%s\n", name.c_str());
  out.write("\nLEVEL NODE SIZE %zu\n", places.hosts.size());
  for (const std::string& name : places.hosts) out.write("%s\n", name.c_str());
  out.write("\nLEVEL THREAD SIZE %zu\n", ranks);
  for (std::size_t r = 0; r < ranks; ++r) out.write("THREAD 1.%zu.1\n", r + 1);
  out.close();
}

// Paraver: trace.prv, trace.pcf and trace.row in that folder.
inline void write_paraver(const Timeline& timeline, const std::string& folder) {
  const Places places(timeline);
  write_records(timeline, places, folder + "/trace.prv");
  write_meanings(timeline, folder + "/trace.pcf");
  write_names(timeline, places, folder + "/trace.row");
}

}  // namespace steelyard::whatif
