// The operations for receive=stream, with their dependencies. The replay decides by their times in which order a
// processor carries them out.
#pragma once
#include <string>

#include "schedule.h"

namespace steelyard::whatif {

struct Graph {
  struct Node {
    std::int64_t amount = 0;  // ps or B
    std::uint32_t rank = 0;
    std::uint32_t channel = 0;  // channel of a send or receive: its messages are received in the order of their arrival
    std::uint32_t needs = 0;    // count of ends and begins that it waits for
    std::uint32_t processor = 0, interface = 0;
    // In the order in which operations go on that can go on at the same moment.
    enum : std::uint8_t { send, receive, compute } kind = compute;
  };
  struct Ends {
    std::uint32_t source, target;
  };
  std::uint32_t ranks = 0, processors = 1, interfaces = 1;  // of each rank
  std::vector<Node> nodes;                                  // rank after rank
  std::vector<std::uint32_t> begins;                        // by rank: its first node, and behind its last
  std::vector<std::uint32_t> next;   // nodes that wait for the end of a node, and then those that wait for its begin
  std::vector<std::uint64_t> first;  // by node, twice: where those begin in `next`
  std::vector<Ends> channels;
};

Graph graph_of_goal(const std::string& path);
// Makes the graph of a schedule: each operation waits for the begin of the one before in its stream, and for the end of
// a computation.
Graph graph_of(const Schedule& schedule);

}  // namespace steelyard::whatif
