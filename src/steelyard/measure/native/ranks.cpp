// Where ranks are, how they are pinned, and how they meet.
#include "ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "processor_set.h"

namespace steelyard {
namespace {

// The first of these variables that is set, as a number: launchers tell a process its place before MPI does. One of
// another launcher stands before them: its name is in the variable `told`.
int number_from_environment(const char* told, std::initializer_list<const char*> names) {
  if (const char* name = std::getenv(told))
    if (const char* value = std::getenv(name)) return std::atoi(value);
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

// The place of a rank as a message.
struct Message {
  char host[96], machine[96];
  int cpu, processors;
  double memory;
};

MPI_Comm duplicate() {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  return own;
}
int pinned_to() {
  std::vector<int> all = allowed_processors();
  return all.size() == 1 ? all[0] : -1;
}

}  // namespace

int rank_by_launcher() {
  return number_from_environment("STEELYARD_RANK_IN", {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::vector<int> allowed_processors() { return ProcessorSet::of_thread().list(); }

void pin_by_launcher() {
  const char* list = std::getenv("STEELYARD_CPUS");
  int local = number_from_environment(
      "STEELYARD_LOCAL_RANK_IN", {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"});
  if (!list || !*list || local < 0) return;
  std::vector<int> cpus;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) cpus.push_back(std::atoi(word.c_str()));
  int cpu = cpus[static_cast<std::size_t>(local) % cpus.size()];
  ProcessorSet set;
  set.add(cpu);
  set.pin();  // where it is not allowed the record tells the processors really used
}

Group::Group(MPI_Comm comm) : comm_(comm) {
  if (comm_ == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}
Group::~Group() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void Group::barrier() const {
  for (int distance = 1; distance < size_; distance *= 2) {
    MPI_Request both[2];
    MPI_Irecv(nullptr, 0, MPI_BYTE, (rank_ - distance % size_ + size_) % size_, 1, comm_, &both[0]);
    MPI_Isend(nullptr, 0, MPI_BYTE, (rank_ + distance) % size_, 1, comm_, &both[1]);
    complete(2, both);
  }
}

double Group::greatest(double value) const {
  double most = value;
  reduce(&value, &most, 1, comm_, MPI_MAX);
  return most;
}

std::vector<double> Group::gather(const std::vector<double>& values) const {
  std::vector<double> all(rank_ == 0 ? values.size() * static_cast<std::size_t>(size_) : 0);
  MPI_Request request;
  int count = static_cast<int>(values.size());
  MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm_, &request);
  complete(1, &request);
  return all;
}

Ranks::Ranks(std::vector<int> processors, int threads)
    : world_(duplicate()),
      team_(std::make_unique<Team>(static_cast<std::size_t>(threads), std::vector<int>{})),
      processors_(std::move(processors)) {
  Message mine{};
  std::strncpy(mine.host, host_name().c_str(), sizeof mine.host - 1);
  std::strncpy(mine.machine, first_line("/proc/sys/kernel/random/boot_id").c_str(), sizeof mine.machine - 1);
  mine.processors = static_cast<int>(processors_.size());
  mine.cpu = pinned_to();
  mine.memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  std::vector<Message> all(static_cast<std::size_t>(size()));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, world_.comm());
  std::map<std::string_view, std::vector<int>> hosts;
  std::map<std::string_view, std::size_t> machines;
  for (const Message& m : all) {
    const int rank = static_cast<int>(places_.size());
    std::string_view host = *names_.insert(m.host).first, machine = *names_.insert(m.machine).first;
    std::vector<int>& here = hosts[host];
    here.push_back(rank);
    auto [at, added] = machines.try_emplace(machine, machines_.size());
    if (added) machines_.emplace_back();
    std::vector<int>& beside = machines_[at->second];
    colocated_ = colocated_ || (!beside.empty() && place(beside.front()).host != host);
    beside.push_back(rank);
    places_.push_back({host, machine, here.front(), beside.front(), static_cast<int>(here.size()) - 1, m.cpu,
                       m.processors, 0, m.memory});
  }
}

const std::vector<int>& Ranks::on_this_machine() const {
  return *std::find_if(machines_.begin(), machines_.end(),
                       [&](const std::vector<int>& ranks) { return ranks.front() == place(rank()).first_of_machine; });
}

void Ranks::muster(bool active) {
  std::vector<int> parts(places_.size());
  int mine = active;
  MPI_Allgather(&mine, 1, MPI_INT, parts.data(), 1, MPI_INT, world_.comm());
  std::map<int, std::size_t> next;  // by machine
  for (std::size_t r = 0; r < places_.size(); ++r) {
    places_[r].active = parts[r];
    if (!colocated()) continue;
    places_[r].cpu = parts[r] ? processors_[next[places_[r].first_of_machine]++ % processors_.size()] : -1;
  }
  if (colocated()) pin(place(rank()).cpu);
}

std::size_t Ranks::sharing_host() const {
  std::size_t here = 0;
  for (int other = 0; other < size(); ++other) here += same_host(other, rank());
  return here;
}

std::set<int> Ranks::processors_here() const {
  std::set<int> used;
  for (int r : on_this_machine()) {
    if (!place(r).active) continue;
    if (place(r).cpu < 0) return {};
    used.insert(place(r).cpu);
  }
  return used;
}

bool Ranks::oversubscribed() const {
  return std::any_of(machines_.begin(), machines_.end(), [&](const std::vector<int>& here) {
    int active = 0, processors = 0;
    std::set<int> pinned;
    for (int r : here) {
      const Place& p = place(r);
      if (!p.active) continue;
      ++active, processors = p.processors;
      if (p.cpu >= 0) pinned.insert(p.cpu);
    }
    return active > processors || (!pinned.empty() && static_cast<int>(pinned.size()) < active);
  });
}

void Ranks::rest(double longest) const {
  MPI_Request request;
  MPI_Ibarrier(world_.comm(), &request);
  const double began = seconds_of(CLOCK_MONOTONIC);
  // Looks of many ranks on few processors would use these up.
  const auto beside = static_cast<double>(on_this_machine().size());
  longest = std::max(longest, std::min(5e4, 200 * beside / place(rank()).processors));
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    double waited = 1e6 * (seconds_of(CLOCK_MONOTONIC) - began);
    usleep(static_cast<useconds_t>(std::clamp(waited / 8, 10.0, longest)));
  }
}

std::unique_ptr<Group> Ranks::among(bool active) const {
  MPI_Comm part;
  MPI_Comm_split(world_.comm(), active ? 0 : MPI_UNDEFINED, rank(), &part);
  return std::make_unique<Group>(part);
}

void Ranks::pin(int cpu) const {
  ProcessorSet set;
  for (int allowed : processors_)
    if (cpu < 0 || allowed == cpu) set.add(allowed);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    set.pin(std::atoi(task.path().filename().c_str()));
}

}  // namespace steelyard
