// The processes of a parallel program (MPI): ranks, places, synchronisation, and waiting that disturbs no other rank.
#pragma once
#define OMPI_SKIP_MPICXX  // the C++ bindings were removed from MPI 3
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "buffers.h"
#include "disturbance.h"
#include "params.h"
#include "team.h"

namespace steelyard {

// The rank of this process from the launcher, before MPI starts; -1 if it is unknown.
int rank_by_launcher();

std::string host_name();

std::vector<int> allowed_processors();

// Pins this process before MPI starts, so that MPI's own memory lies near it: $STEELYARD_CPUS are the processors of a
// host's ranks 0, 1 …; with more ranks than processors they take turns.
void pin_by_launcher();

// Waits for MPI requests and gives the core away after a while: there may be more ranks than cores, and not every MPI
// yields.
inline void complete(int count, MPI_Request* requests) {
  int done = 0;
  spin_until([&] {
    MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    return done != 0;
  });
}

// The sums over all ranks of a communicator, or what `how` makes of their values; every rank calls it.
inline void reduce(const void* mine, void* all, std::size_t count, MPI_Comm comm, MPI_Op how = MPI_SUM,
                   MPI_Datatype type = MPI_DOUBLE) {
  MPI_Request request;
  MPI_Iallreduce(mine, all, static_cast<int>(count), type, how, comm, &request);
  complete(1, &request);
}

// A set of ranks that synchronise: all ranks of the program, or the ranks that take part in a case.
class Group {
 public:
  explicit Group(MPI_Comm comm);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm comm() const { return comm_; }

  // A dissemination barrier of our own (D. Hensgen, R. Finkel, U. Manber 1988): in round k each rank tells the one 2^k
  // further. All leave within about one message's time of each other, whatever barrier the MPI has.
  void barrier() const;
  // `value` of this group's rank 0 to all.
  template <class T>
  void tell(T& value) const {
    MPI_Request request;
    MPI_Ibcast(&value, sizeof value, MPI_BYTE, 0, comm_, &request);
    complete(1, &request);
  }
  double greatest(double value) const;
  // The `values` of every rank at rank 0, one row for each rank; empty elsewhere. All ranks give equally many.
  std::vector<double> gather(const std::vector<double>& values) const;

 private:
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

class Ranks {
 public:
  static constexpr int name_length = 96;
  struct Place {
    char host[name_length], machine[name_length];  // machine: several hosts (namespaces, containers) may share one
    int local, cpu, processors;  // index on its host; the processor it is pinned to or −1; those it might use at all
    int active;                  // whether it takes part in the case
    double memory;               // bytes that its host has
  };

  // `processors` are those that the process might use before it was pinned.
  Ranks(std::vector<int> processors, int threads);

  // Who takes part in a case; every rank must call it. Hosts that share a machine each counted its processors from the
  // first, and all their ranks would sit on the same ones: there those that take part are spread over the processors.
  void muster(bool active);

  int rank() const { return world_.rank(); }
  int size() const { return world_.size(); }
  MPI_Comm comm() const { return world_.comm(); }
  const Group& world() const { return world_; }
  Team& team() { return *team_; }
  // Processors that this process could use before it was pinned: further threads of a kernel may run there.
  const std::vector<int>& processors() const { return processors_; }
  const std::vector<Place>& places() const { return places_; }
  const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  bool same_host(int a, int b) const;
  // How many ranks share this rank's host, itself among them.
  std::size_t sharing_host() const;
  bool same_machine(int a, int b) const;

  // Processors that those who take part use on this rank's machine; empty when one of them is not pinned.
  std::set<int> processors_here() const;
  // More ranks that take part than processors on one of the machines, or two of them pinned to one processor.
  bool oversubscribed() const;
  // Several hosts on one machine: network namespaces or containers, whose ranks share what a host would have alone.
  bool colocated() const;

  // Until all ranks have come here, asleep between looks: ranks that take no part must not take part in the load.
  // The looks come ever more rarely, up to `longest` microseconds apart: so that little is lost against the wait
  // itself.
  void rest(double longest = 200) const;
  // The ranks for which `active` is true; every rank must call it.
  std::unique_ptr<Group> among(bool active) const;

 private:
  // All threads of the process, MPI's own among them; -1: wherever it might be.
  void pin(int cpu) const;

  Group world_;
  std::unique_ptr<Team> team_;
  std::vector<int> processors_;
  std::vector<Place> places_;
};

}  // namespace steelyard
