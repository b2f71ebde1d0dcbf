// Exchanges the values at the nodes around each part between neighbouring ranks.
#pragma once
#include <vector>

#include "part.h"
#include "ranks.h"

namespace steelyard::finite_elements {

class Halo {
 public:
  Halo(const Part& part, MPI_Comm comm) : comm_(comm) {
    for (int d = 0; d < directions; ++d)
      if (d != here && part.has_neighbour(d)) neighbours_.push_back(has_neighbour(part, d));
    requests_.resize(2 * neighbours_.size());
  }
  // Received values go directly to their places. Values to send are first copied together.
  void exchange(double* vector) {
    MPI_Request* request = requests_.data();
    for (Neighbour& n : neighbours_) MPI_Irecv(vector + n.begin, n.count, MPI_DOUBLE, n.rank, n.tag, comm_, request++);
    for (Neighbour& n : neighbours_) {
      for (std::size_t i = 0; i < n.nodes.size(); ++i) n.buffer[i] = vector[n.nodes[i]];
      MPI_Isend(n.buffer.data(), static_cast<int>(n.nodes.size()), MPI_DOUBLE, n.rank, directions - 1 - n.tag, comm_,
                request++);
    }
    complete(static_cast<int>(requests_.size()), requests_.data());
  }

 private:
  struct Neighbour {
    int rank, tag;  // tag: the direction as seen from the receiver
    std::size_t begin;
    int count;
    std::vector<std::size_t> nodes;  // own nodes that the neighbour needs
    std::vector<double> buffer;
  };
  static Neighbour has_neighbour(const Part& part, int direction) {
    Triple step = steps_of(direction), at{}, from{}, to{};
    for (std::size_t d = 0; d < 3; ++d) {
      at[d] = part.place[d] + step[d];
      from[d] = step[d] > 0 ? part.size[d] - 1 : 0, to[d] = step[d] < 0 ? 1 : part.size[d];
    }
    int rank = at[0] + part.parts[0] * (at[1] + part.parts[1] * at[2]);
    Neighbour out{
        rank, direction, part.offset[static_cast<std::size_t>(direction)], static_cast<int>(part.count(direction)),
        {},   {}};
    for (int z = from[2]; z < to[2]; ++z)
      for (int y = from[1]; y < to[1]; ++y)
        for (int x = from[0]; x < to[0]; ++x) out.nodes.push_back(part.line(y, z)[x]);
    out.buffer.resize(out.nodes.size());
    return out;
  }

  MPI_Comm comm_;
  std::vector<Neighbour> neighbours_;
  std::vector<MPI_Request> requests_;
};

}  // namespace steelyard::finite_elements
