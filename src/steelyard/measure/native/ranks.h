// The processes of a parallel program (MPI): ranks, places, synchronisation, and waiting that disturbs no other rank.
#pragma once
#define OMPI_SKIP_MPICXX  // the C++ bindings were removed from MPI 3
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "buffers.h"
#include "disturbance.h"
#include "params.h"
#include "team.h"

namespace steelyard {

// Returns the rank of this process from the launcher's variables, before MPI starts; -1 if it is unknown.
int rank_by_launcher();

std::string host_name();

std::vector<int> allowed_processors();

// Pins this process before MPI starts, so that MPI's own memory lies near it. $STEELYARD_CPUS has the processors for
// the ranks 0, 1 … of a host. If there are more ranks than processors, they take turns.
void pin_by_launcher();

// Waits for MPI requests, and yields the core after a while: there may be more ranks than cores, and not every MPI
// yields.
inline void complete(int count, MPI_Request* requests) {
  int done = 0;
  spin_until([&] {
    MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    return done != 0;
  });
}

// Combines values over all ranks of a communicator by `how` (default: the sum). Every rank calls it.
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

  // A dissemination barrier of our own (D. Hensgen, R. Finkel, U. Manber 1988): in round k each rank sends to the rank
  // 2^k further. All ranks leave within about one message time, whatever barrier the MPI has.
  void barrier() const;
  // Sends `value` of this group's rank 0 to all ranks.
  template <class T>
  void tell(T& value) const {
    MPI_Request request;
    MPI_Ibcast(&value, sizeof value, MPI_BYTE, 0, comm_, &request);
    complete(1, &request);
  }
  double greatest(double value) const;
  // Collects the `values` of every rank at rank 0, one row per rank; empty at other ranks. All rows have equal lengths.
  std::vector<double> gather(const std::vector<double>& values) const;

 private:
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

class Ranks {
 public:
  struct Place {
    std::string_view host, machine;       // machine: several hosts (namespaces, containers) may share one
    int first_of_host, first_of_machine;  // the first rank there
    int local, cpu, processors;           // index on the host; its pinned processor or −1; number of allowed processors
    int active;                           // whether it takes part in the case
    double memory;                        // bytes of its host
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
  // Returns the processors that were allowed before this process was pinned: further threads may run there.
  const std::vector<int>& processors() const { return processors_; }
  const std::vector<Place>& places() const { return places_; }
  const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  bool same_host(int a, int b) const { return place(a).first_of_host == place(b).first_of_host; }
  // Returns the number of ranks on this rank's host, including itself.
  std::size_t sharing_host() const;
  bool same_machine(int a, int b) const { return place(a).first_of_machine == place(b).first_of_machine; }
  // Returns the ranks of each machine in ascending order.
  const std::vector<std::vector<int>>& machines() const { return machines_; }
  // Returns the ranks of this rank's machine.
  const std::vector<int>& on_this_machine() const;

  // Returns the processors of the participating ranks on this rank's machine; empty if one of them is not pinned.
  std::set<int> processors_here() const;
  // Returns whether a machine has more participating ranks than processors, or two of them on one processor.
  bool oversubscribed() const;
  // Returns whether several hosts are one machine: network namespaces or containers, whose ranks share its hardware.
  bool colocated() const { return colocated_; }

  // Waits until all ranks arrive, asleep between looks, because ranks that take no part must not add load. The looks
  // become rarer, up to `longest` microseconds apart, so that the delay stays small compared with the time of the
  // wait.
  void rest(double longest = 200) const;
  // The ranks for which `active` is true; every rank must call it.
  std::unique_ptr<Group> among(bool active) const;

 private:
  // All threads of the process, MPI's own among them; -1: wherever it might be.
  void pin(int cpu) const;

  Group world_;
  std::unique_ptr<Team> team_;
  std::vector<int> processors_;
  std::set<std::string> names_;  // of hosts and machines: each once, since there may be many ranks
  std::vector<Place> places_;
  std::vector<std::vector<int>> machines_;
  bool colocated_ = false;
};

}  // namespace steelyard
