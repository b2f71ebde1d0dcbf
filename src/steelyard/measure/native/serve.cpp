// The program around kernels of threads: reads cases, keeps the team from case to case, writes records.
#include <sys/prctl.h>
#include <time.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>

#include "buffers.h"
#include "record.h"

namespace steelyard {
namespace {

json::Object measure_case(const NamedKernel& named, Params& params, Team& team) {
  Sampling sampling(params, named.sample_seconds);
  Plant plant(params);
  Bounds bounds(params);
  thread_model().require(params);
  Phases phases;
  std::unique_ptr<ThreadKernel> kernel = named.make(params, team);
  phases.next("setup");
  params.pass_over({"pinning", "placement", "toolchain"});
  if (auto unread = params.unread(); !unread.empty())
    throw CaseError(join({"parameter '", unread.front(), "' is unknown to this kernel: remove it"}));
  if (Mappings::get().only_small()) bounds.forget_memory();
  Measurement m = measure(*kernel, team, sampling, plant, bounds);
  phases.next("sampling");
  if (plant.kind == "wrong") kernel->corrupt();
  Check check = kernel->check();
  phases.next("check");
  json::Object around = surroundings(m, team.cpus(), phases, kernel->details());
  if (std::string runtime = team.runtime(); !runtime.empty()) around.add("openmp", runtime);
  return record(*kernel, m, check, around);
}

// The pace of each processor in turn, all alone, and of the memory, for so many seconds: whether a machine is quiet.
json::Object look_at_pace(double seconds, Team& team) {
  constexpr timespec between = {0, 5'000'000};
  const double begin = seconds_of(CLOCK_MONOTONIC_RAW);
  std::vector<double> at;
  std::vector<int> cpus;
  std::vector<Pace> readings;
  for (std::size_t turn = 0; at.empty() || at.back() < seconds; ++turn) {
    std::size_t whose = turn % team.size();
    team.one(whose, [&] {
      readings.push_back(core_pace());
      add_memory_pace(readings.back());
    });
    at.push_back(seconds_of(CLOCK_MONOTONIC_RAW) - begin);
    cpus.push_back(team.cpus().empty() ? -1 : team.cpus()[whose % team.cpus().size()]);
    nanosleep(&between, nullptr);
  }
  return json::Object().add("at", json::list(at)).add("cpu", json::list(cpus)).add(pace_columns(readings));
}

// The team and the kernels of one program, from case to case.
class Server {
 public:
  explicit Server(std::vector<NamedKernel> kernels) : kernels_(std::move(kernels)) {}

  std::string answer(const std::string& line) {
    std::string name = "0", kernel;
    json::Object body = record_or_reason([&] {
      Params params(line);
      name = params.own_word("case", "0");
      kernel = params.own_word("kernel", kernels_.front().name);
      Team& team = assemble(params.count("threads", 1), cpus(params.own_word("cpus", "")));
      if (double seconds = params.own_number("look", 0); seconds > 0)
        return json::Object().add("look", look_at_pace(seconds, team).str());
      json::Object found = measure_case(find_kernel(kernels_, kernel), params, team);
      return found.add("declared", json::object(params.read()));
    });
    if (team_) team_->rest();
    return answer_line(name, kernel, body);
  }

 private:
  static std::vector<int> cpus(const std::string& list) {
    std::vector<int> found = numbers(list);
    for (int cpu : found)
      if (cpu < 0) throw CaseError(join({"parameter cpus='", list, "' must be a list of processor numbers, as 0,1,2"}));
    return found;
  }
  Team& assemble(std::size_t size, std::vector<int> cpus) {
    if (!team_ || team_->size() != size || team_->cpus() != cpus) {
      team_.reset();
      team_ = std::make_unique<Team>(size, std::move(cpus));
    }
    return *team_;
  }

  std::vector<NamedKernel> kernels_;
  std::unique_ptr<Team> team_;
};

}  // namespace

[[gnu::cold]] int serve(std::vector<NamedKernel> kernels) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on measuring when the tool has been killed
  std::ios::sync_with_stdio(false);
  Server server(std::move(kernels));
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::cout << server.answer(line) << std::endl;
    if (!std::cout) return 1;
  }
  return 0;
}

}  // namespace steelyard
