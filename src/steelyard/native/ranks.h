// The processes of a parallel program (MPI): who and where they are, how they meet, and how they wait without harm.
#pragma once
#define OMPI_SKIP_MPICXX  // the C++ bindings were removed from MPI 3
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "buffers.h"
#include "disturbance.h"
#include "params.h"
#include "team.h"

namespace steelyard {

// The first of these variables that is set, as a number: launchers tell a process its place before MPI does.
inline int number_from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}
inline int rank_by_launcher() { return number_from_environment({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}); }

inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

inline std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) all.push_back(cpu);
  return all;
}

// Pins this process before MPI starts, so that MPI's own memory lies near it: $STEELYARD_CPUS are the processors of a
// host's ranks 0, 1 …; with more ranks than processors they take turns.
inline void pin_by_launcher() {
  const char* list = std::getenv("STEELYARD_CPUS");
  int local =
      number_from_environment({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"});
  if (!list || !*list || local < 0) return;
  std::vector<int> cpus;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) cpus.push_back(std::atoi(word.c_str()));
  int cpu = cpus[static_cast<std::size_t>(local) % cpus.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);  // where it is not allowed the record tells the processors really used
}

// Waits for MPI requests and gives the core away after a while: there may be more ranks than cores, and not every MPI
// yields.
inline void complete(int count, MPI_Request* requests) {
  int done = 0;
  spin_until([&] {
    MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    return done != 0;
  });
}

// A set of ranks that meet: all of the program, or those that take part in a case.
class Group {
 public:
  explicit Group(MPI_Comm comm) : comm_(comm) {
    if (comm_ == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~Group() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm comm() const { return comm_; }

  // A dissemination barrier of our own (D. Hensgen, R. Finkel, U. Manber 1988): in round k each rank tells the one 2^k
  // further. All leave within about one message's time of each other, whatever barrier the MPI has.
  void barrier() const {
    for (int distance = 1; distance < size_; distance *= 2) {
      MPI_Request both[2];
      MPI_Irecv(nullptr, 0, MPI_BYTE, (rank_ - distance % size_ + size_) % size_, 1, comm_, &both[0]);
      MPI_Isend(nullptr, 0, MPI_BYTE, (rank_ + distance) % size_, 1, comm_, &both[1]);
      complete(2, both);
    }
  }
  // `value` of this group's rank 0 to all.
  template <class T>
  void tell(T& value) const {
    MPI_Request request;
    MPI_Ibcast(&value, sizeof value, MPI_BYTE, 0, comm_, &request);
    complete(1, &request);
  }
  double greatest(double value) const {
    double most = value;
    MPI_Request request;
    MPI_Iallreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, comm_, &request);
    complete(1, &request);
    return most;
  }
  // Every rank's `values` at rank 0, one row a rank; empty elsewhere. All give equally many.
  std::vector<double> gather(const std::vector<double>& values) const {
    std::vector<double> all(rank_ == 0 ? values.size() * static_cast<std::size_t>(size_) : 0);
    MPI_Request request;
    int count = static_cast<int>(values.size());
    MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm_, &request);
    complete(1, &request);
    return all;
  }

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
  };

  // `processors` are those that the process might use before it was pinned.
  Ranks(std::vector<int> processors, int threads)
      : world_(duplicate()),
        team_(std::make_unique<Team>(static_cast<std::size_t>(threads), std::vector<int>{})),
        processors_(std::move(processors)) {
    Place mine{};
    std::strncpy(mine.host, host_name().c_str(), name_length - 1);
    std::strncpy(mine.machine, first_line("/proc/sys/kernel/random/boot_id").c_str(), name_length - 1);
    mine.processors = static_cast<int>(processors_.size());
    mine.cpu = pinned_to();
    places_.resize(static_cast<std::size_t>(size()));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, places_.data(), sizeof mine, MPI_BYTE, world_.comm());
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (std::size_t before = 0; before < i; ++before)
        places_[i].local += std::strcmp(places_[i].host, places_[before].host) == 0;
  }

  // Who takes part in a case; every rank must call it. Hosts that share a machine each counted its processors from the
  // first, and all their ranks would sit on the same ones: there those that take part are spread over the processors.
  void muster(bool active) {
    std::vector<int> parts(places_.size());
    int mine = active;
    MPI_Allgather(&mine, 1, MPI_INT, parts.data(), 1, MPI_INT, world_.comm());
    std::map<std::string, std::size_t> next;
    for (std::size_t r = 0; r < places_.size(); ++r) {
      places_[r].active = parts[r];
      if (!colocated()) continue;
      places_[r].cpu = parts[r] ? processors_[next[places_[r].machine]++ % processors_.size()] : -1;
    }
    if (colocated()) pin(place(rank()).cpu);
  }

  int rank() const { return world_.rank(); }
  int size() const { return world_.size(); }
  MPI_Comm comm() const { return world_.comm(); }
  const Group& world() const { return world_; }
  Team& team() { return *team_; }
  const std::vector<Place>& places() const { return places_; }
  const Place& place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  bool same_host(int a, int b) const { return std::strcmp(place(a).host, place(b).host) == 0; }
  bool same_machine(int a, int b) const { return std::strcmp(place(a).machine, place(b).machine) == 0; }

  // Processors that those who take part use on this rank's machine; empty when one of them is not pinned.
  std::set<int> processors_here() const {
    std::set<int> used;
    for (int r = 0; r < size(); ++r) {
      if (!same_machine(r, rank()) || !place(r).active) continue;
      if (place(r).cpu < 0) return {};
      used.insert(place(r).cpu);
    }
    return used;
  }
  // More ranks that take part than processors on one of the machines, or two of them pinned to one processor.
  bool oversubscribed() const {
    std::map<std::string, int> ranks, processors;
    std::map<std::string, std::set<int>> pinned;
    for (const Place& p : places_) {
      if (!p.active) continue;
      ++ranks[p.machine];
      processors[p.machine] = p.processors;
      if (p.cpu >= 0) pinned[p.machine].insert(p.cpu);
    }
    return std::any_of(ranks.begin(), ranks.end(), [&](const auto& entry) {
      auto& own = pinned[entry.first];
      return entry.second > processors[entry.first] || (!own.empty() && static_cast<int>(own.size()) < entry.second);
    });
  }
  // Several hosts on one machine: network namespaces or containers, whose ranks share what a host would have alone.
  bool colocated() const {
    std::map<std::string, std::set<std::string>> hosts;
    for (const Place& p : places_) hosts[p.machine].insert(p.host);
    return std::any_of(hosts.begin(), hosts.end(), [](const auto& entry) { return entry.second.size() > 1; });
  }

  // Until all ranks have come here, asleep between looks: ranks that take no part must not take part in the load.
  // The looks come ever more rarely, up to `longest` microseconds apart: so that little is lost against the wait
  // itself.
  void rest(double longest = 200) const {
    MPI_Request request;
    MPI_Ibarrier(world_.comm(), &request);
    double began = seconds_of(CLOCK_MONOTONIC);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      double waited = 1e6 * (seconds_of(CLOCK_MONOTONIC) - began);
      usleep(static_cast<useconds_t>(std::clamp(waited / 8, 10.0, longest)));
    }
  }
  // Those ranks for which `active` holds; every rank must call it.
  std::unique_ptr<Group> among(bool active) const {
    MPI_Comm part;
    MPI_Comm_split(world_.comm(), active ? 0 : MPI_UNDEFINED, rank(), &part);
    return std::make_unique<Group>(part);
  }

 private:
  static MPI_Comm duplicate() {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    return own;
  }
  // All threads of the process, MPI's own among them; −1: wherever it might be.
  void pin(int cpu) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int allowed : processors_)
      if (cpu < 0 || allowed == cpu) CPU_SET(static_cast<std::size_t>(allowed), &set);
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof set, &set);
  }
  static int pinned_to() {
    std::vector<int> all = allowed_processors();
    return all.size() == 1 ? all[0] : -1;
  }

  Group world_;
  std::unique_ptr<Team> team_;
  std::vector<int> processors_;
  std::vector<Place> places_;
};

}  // namespace steelyard
