// What a kernel is, and the program around it: cases in on standard input, one JSON record out for each.
//
//     struct Triad {
//       Triad(Params& p, Team& team);                // reads its parameters, allocates, fills
//       void run(Worker w, std::size_t operations);  // on every thread; the only thing that is timed
//       Work work() const;                           // what one operation does: bytes, flops, …
//       Check check();                               // must fail when run did not run
//     };
//     int main() { return steelyard::serve({steelyard::kernel<Triad>("triad")}); }
//
// The fifth member is its state. Where a kernel has them: `prepare(Worker, operations)` runs before each sample,
// untimed, `std::string details() const` is JSON that the record keeps: what the kernel saw besides its time, and
// `corrupt()` makes one value of the result wrong (plant=wrong), which its check must find.
#pragma once
#include <sys/prctl.h>

#include <concepts>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "buffers.h"
#include "clock.h"
#include "json.h"
#include "params.h"
#include "sampling.h"
#include "team.h"

namespace steelyard {

using Work = std::vector<std::pair<std::string, double>>;

struct Check {
  bool passed;
  std::string detail;
};

template <class K>
concept Kernel = std::constructible_from<K, Params&, Team&> &&
                 requires(K kernel, const K& constant, Worker worker, std::size_t operations) {
                   kernel.run(worker, operations);
                   { constant.work() } -> std::same_as<Work>;
                   { kernel.check() } -> std::same_as<Check>;
                 };

// Keeps the compiler from seeing through a repetition: memory may have changed.
inline void clobber() { asm volatile("" ::: "memory"); }
// Keeps a result alive without storing it.
template <class T>
void keep(const T& value) {
  asm volatile("" ::"g"(value) : "memory");
}

struct NamedKernel {
  std::string name;
  std::function<std::string(Params&, Team&)> measure;  // the record's members as JSON, without the braces
};

inline std::string samples_json(const Measurement& m) {
  std::vector<double> at, seconds, waited, clock, issued;
  std::vector<long> switches, faults;
  for (const Sample& s : m.samples) {
    at.push_back(s.at), seconds.push_back(s.seconds), waited.push_back(s.waited), clock.push_back(s.core_clock),
        issued.push_back(s.issued);
    switches.push_back(s.switches), faults.push_back(s.faults);
  }
  return json::Object()
      .add("at", json::list(at))
      .add("seconds", json::list(seconds))
      .add("waited", json::list(waited))
      .add("switches", json::list(switches))
      .add("faults", json::list(faults))
      .add("core_clock", json::list(clock))
      .add("issued", json::list(issued))
      .str();
}

// What was counted, for one operation.
inline std::string counters_json(const Measurement& m) {
  double sampled = 0;
  for (const Sample& s : m.samples) sampled += s.seconds;
  auto operations = static_cast<double>(m.operations * m.samples.size());
  return counters_json(m.counters, operations, m.elapsed > 0 ? std::min(1.0, sampled / m.elapsed) : unknown);
}

// How long each part of a case took, in seconds: what a run costs besides its samples must be seen.
class Phases {
 public:
  void next(const char* name) {
    double now = seconds_of(CLOCK_MONOTONIC_RAW);
    out_.add(name, json::number(now - last_));
    last_ = now;
  }
  std::string str() const { return out_.str(); }

 private:
  json::Object out_;
  double last_ = seconds_of(CLOCK_MONOTONIC_RAW);
};

inline std::string surroundings_json(const Measurement& m, const std::vector<int>& cpus, const std::string& phases) {
  const Clock& clock = Clock::get();
  return json::Object()
      .add("clock", json::Object()
                        .add("source", json::text(clock.source()))
                        .add("frequency", json::number(clock.frequency()))
                        .add("resolution", json::number(clock.resolution()))
                        .add("overhead", json::number(clock.overhead()))
                        .str())
      .add("core_clock",
           json::Object().add("before", json::list(m.clock_before)).add("after", json::list(m.clock_after)).str())
      .add("samples", samples_json(m))
      .add("processor_seconds", json::Object()
                                    .add("elapsed", json::number(m.elapsed))
                                    .add("steal", json::number(m.steal))
                                    .add("other", json::number(m.other))
                                    .add("interrupts", json::number(m.interrupt_time))
                                    .str())
      .add("machine_other", json::number(m.machine_other))
      .add("interrupts", json::number(m.interrupts))
      .add("throttled", json::number(m.throttled))
      .add("oversubscribed", json::boolean(m.oversubscribed))
      .add("cpus", json::list(cpus))
      .add("counters", counters_json(m))
      .add("pages", Mappings::get().report())
      .add("phases", phases)
      .str();
}

template <Kernel K>
NamedKernel kernel(std::string name) {
  return {std::move(name), [](Params& params, Team& team) {
            Sampling sampling(params);
            Plant plant(params);
            Phases phases;
            K state(params, team);
            phases.next("setup");
            for (const char* known : {"pinning", "placement", "toolchain"})
              params.word(known, "");  // said to us, meant for the reader
            if (auto unread = params.unread(); !unread.empty())
              throw CaseError("parameter '" + unread.front() + "' is not one that this kernel reads");
            Measurement m = Sampler<K>(state, team, sampling, plant).measure();
            phases.next("sampling");
            if (plant.kind == "wrong") {
              if constexpr (requires { state.corrupt(); })
                state.corrupt();
              else
                throw CaseError(nothing_to_spoil);
            }
            Check check = state.check();
            phases.next("check");
            std::vector<double> seconds;
            for (const Sample& s : m.samples) seconds.push_back(s.seconds / static_cast<double>(m.operations));
            json::Object work;
            for (const auto& [what, amount] : state.work()) work.add(what, json::number(amount));
            std::string surroundings = surroundings_json(m, team.cpus(), phases.str());
            if constexpr (requires { state.details(); })
              surroundings.replace(surroundings.size() - 1, 1, ",\"details\":" + state.details() + "}");
            std::string out = json::Object()
                                  .add("samples", json::list(seconds))
                                  .add("operations", json::number(m.operations))
                                  .add("work", work.str())
                                  .add("check", json::Object()
                                                    .add("passed", json::boolean(check.passed))
                                                    .add("detail", json::text(check.detail))
                                                    .str())
                                  .add("surroundings", surroundings)
                                  .str();
            return out.substr(1, out.size() - 2);
          }};
}

// The team and the kernels of one program, from case to case.
class Server {
 public:
  explicit Server(std::vector<NamedKernel> kernels) : kernels_(std::move(kernels)) {}

  std::string answer(const std::string& line) {
    std::string name = "0", kernel, body;
    json::Object out;
    try {
      Params params(line);
      name = params.word("case", "0");
      kernel = params.word("kernel", kernels_.front().name);
      Team& team = assemble(params.count("threads", 1), cpus(params.word("cpus", "")));
      body = find(kernel).measure(params, team);
      out.add("declared", json::object(params.read()));
    } catch (const std::bad_alloc&) {
      body = "\"error\":" + json::text("not enough memory for this case");
    } catch (const std::exception& e) {
      body = "\"error\":" + json::text(e.what());
    }
    std::string head = out.add("case", json::text(name)).add("kernel", json::text(kernel)).str();
    return head.substr(0, head.size() - 1) + "," + body + "}";
  }

 private:
  const NamedKernel& find(const std::string& name) const {
    std::string known;
    for (const auto& k : kernels_) {
      if (k.name == name) return k;
      known += (known.empty() ? "" : ", ") + k.name;
    }
    throw CaseError("kernel '" + name + "' is not in this program, which has: " + known);
  }
  static std::vector<int> cpus(const std::string& list) {
    std::vector<int> out;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
      int cpu = -1;
      std::from_chars(word.data(), word.data() + word.size(), cpu);
      if (cpu < 0) throw CaseError("parameter cpus='" + list + "' must be a list of processor numbers");
      out.push_back(cpu);
    }
    return out;
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

inline int serve(std::vector<NamedKernel> kernels) {
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
