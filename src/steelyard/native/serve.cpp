// The program around kernels of threads: reads cases, keeps the team from case to case, writes records.
#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <new>

#include "record.h"

namespace steelyard {
namespace {

json::Object measured(const NamedKernel& named, Params& params, Team& team) {
  Sampling sampling(params);
  Plant plant(params);
  Phases phases;
  std::unique_ptr<ThreadKernel> kernel = named.make(params, team);
  phases.next("setup");
  for (const char* known : {"pinning", "placement", "toolchain"}) params.word(known, "");  // meant for the reader
  if (auto unread = params.unread(); !unread.empty())
    throw CaseError("parameter '" + unread.front() + "' is not one that this kernel reads");
  Measurement m = measure(*kernel, team, sampling, plant);
  phases.next("sampling");
  if (plant.kind == "wrong") {
    if (!kernel->has_corrupt()) throw CaseError(nothing_to_spoil);
    kernel->corrupt();
  }
  Check check = kernel->check();
  phases.next("check");
  return record(*kernel, m, check, surroundings(m, team.cpus(), phases, kernel->details()));
}

// The team and the kernels of one program, from case to case.
class Server {
 public:
  explicit Server(std::vector<NamedKernel> kernels) : kernels_(std::move(kernels)) {}

  std::string answer(const std::string& line) {
    std::string name = "0", kernel;
    json::Object body = record_or_reason([&] {
      Params params(line);
      name = params.word("case", "0");
      kernel = params.word("kernel", kernels_.front().name);
      Team& team = assemble(params.count("threads", 1), cpus(params.word("cpus", "")));
      json::Object found = measured(find_kernel(kernels_, kernel), params, team);
      return found.add("declared", json::object(params.read()));
    });
    return answer_line(name, kernel, body);
  }

 private:
  static std::vector<int> cpus(const std::string& list) {
    std::vector<int> found = numbers(list);
    for (int cpu : found)
      if (cpu < 0) throw CaseError("parameter cpus='" + list + "' must be a list of processor numbers");
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

int serve(std::vector<NamedKernel> kernels) {
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
