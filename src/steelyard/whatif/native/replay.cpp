// The engine: loads one trace, then answers questions about it, a line each.
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <mutex>
#include <thread>

#include "events.h"
#include "excerpt.h"
#include "json.h"
#include "kept.h"
#include "params.h"
#include "rank_files.h"
#include "readers.h"
#include "reading.h"
#include "scenarios.h"
#include "streaming.h"
#include "traced_activity.h"

namespace steelyard::whatif {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool disturbed(const Scenario& s) {
  return s.core != 1 || !s.speeds.empty() || s.loss.probability > 0 || s.noise.any();
}

// Many scenarios at once: how many at a time, a vector of the processor decides.
constexpr int LANES = 8;

class Engine {
 public:
  // `goal`: the file of a trace in GOAL, whose operations need not be carried out in the order of the schedule.
  // `traced`: the folder of a whole trace of ours.
  Engine(Schedule schedule, Measured measured, std::string goal, std::string traced)
      : schedule_(std::move(schedule)),
        measured_(std::move(measured)),
        goal_(std::move(goal)),
        traced_(std::move(traced)) {
    for (const std::int64_t size : schedule_.sizes) largest_ = std::max(largest_, size);
  }

  json::Object about(double seconds) const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return json::Object()
        .add("ranks", schedule_.ranks)
        .add("events", schedule_.events())
        .add("messages", schedule_.source.size())
        .add("bytes", schedule_.bytes)
        .add("unreceived", schedule_.unreceived)
        .add("seconds", seconds)
        .add("memory", usage.ru_maxrss * 1024);
  }

  json::Object answer(Params& params) {
    Structure structure;
    structure.eager = static_cast<std::int64_t>(params.count("eager", 65535));
    structure.tree = {static_cast<std::uint32_t>(params.count("nodes_per_switch", 0)),
                      static_cast<std::uint32_t>(params.count("switches_per_group", 0))};
    structure.ranks_per_node = static_cast<std::uint32_t>(std::max<std::size_t>(params.count("ranks_per_node", 1), 1));
    structure.ranks_per_cache = static_cast<std::uint32_t>(params.count("ranks_per_cache", 0));
    structure.ranks_per_socket = static_cast<std::uint32_t>(params.count("ranks_per_socket", 0));
    const std::string mode = params.choice("mode", "dataflow", {"dataflow", "event"});
    const bool streams = params.choice("receive", "whole", {"whole", "stream"}) == "stream";
    const std::size_t repeats = params.count("repeats", 1),
                      threads = std::max<std::size_t>(params.count("threads", 1), 1);
    const std::uint64_t seed = params.count("seed", 1);
    const bool traced = params.choice("path", "no", {"no", "yes"}) == "yes";
    const bool phased = params.choice("phases", "no", {"no", "yes"}) == "yes";
    const bool accounts = params.choice("accounts", "no", {"no", "yes"}) == "yes";
    const std::size_t steps = params.count("timelines", 0);
    const auto wait = static_cast<Time>(params.count("traced", 0));
    if (steps > 4096) throw CaseError("timelines can have at most 4096 steps");
    if (wait && (traced_.empty() || !steps)) throw CaseError("only whole traces of ours have a timeline");
    Points points(params);
    std::vector<Scenario> scenarios;
    for (std::size_t point = 0, count = points.count(); point < count; ++point)
      for (std::size_t repeat = 0; repeat < repeats; ++repeat)
        scenarios.push_back(scenario(points, point, mixed(seed + repeat * 0x9e3779b97f4a7c15u)));
    record(params.word("recording", ""), scenarios);
    if (auto unread = params.unread(); !unread.empty())
      throw CaseError("parameter '" + unread.front() + "' is not known");
    if (scenarios.empty()) throw CaseError("repeats must be at least 1");

    if (streams && (traced || steps > 0)) throw CaseError("receive=stream has neither a critical path nor timelines");
    if (!streams) prepare_for(structure);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Account> found;
    const std::vector<Time> times = streams
                                        ? streamed(scenarios, structure, threads, accounts ? &found : nullptr)
                                        : replayed(scenarios, mode == "event", threads, accounts ? &found : nullptr);
    json::Object out;
    out.add("time", json::list(times))
        .add("events", schedule_.events())
        .add("seconds", seconds_since(begin))
        .add("seed", seed);
    if (accounts) add(out, found, streams);
    if (traced) out.add("path", path(scenarios.front()).str());
    if (steps) add_timelines(out, scenarios, times, steps);
    if (wait) out.add("traced", traced_activity(traced_, schedule_, lines(), steps, wait).str());
    if (phased) out.add("phases", said(phases(schedule_, measured_, ROWS)));
    return out;
  }

 private:
  // Gives recorded noise to all scenarios.
  void record(const std::string& path, std::vector<Scenario>& scenarios) {
    if (path.empty()) return;
    recording_ = RecordedNoise::read(path);
    for (Scenario& scenario : scenarios) scenario.noise = {0, 0, 0, scenario.noise.together, &recording_};
  }
  void prepare_for(Structure structure) {
    // All limits that no message exceeds are one.
    if (structure.eager >= largest_) structure.eager = std::numeric_limits<std::int64_t>::max();
    if (prepared_ && prepared_->structure == structure) return;
    prepared_.reset();
    prepared_ = std::make_unique<Prepared>(prepare(schedule_, structure));
  }

  std::vector<Time> replayed(const std::vector<Scenario>& scenarios, bool events, std::size_t threads,
                             std::vector<Account>* accounts) {
    bool lossy = false, any = false, reveals = false;
    for (const Scenario& s : scenarios)
      lossy |= s.loss.probability > 0, any |= disturbed(s), reveals |= s.loss.sack && s.loss.probability > 0;
    if (reveals && !events)
      throw CaseError(
          "sack=on needs mode event: only there the replay knows when the next packet of a connection comes");
    if (lossy && connections_.of.empty()) connections_ = connections(schedule_);
    std::vector<Time> times(scenarios.size());
    const std::size_t lanes = events || scenarios.size() == 1 ? 1 : LANES;
    run_in_parallel((scenarios.size() + lanes - 1) / lanes, threads, [&](std::size_t batch) {
      const std::size_t first = batch * lanes;
      if (events) {
        Events engine(*prepared_, &connections_, scenarios[first]);
        times[first] = engine.run()[0];
        if (accounts && first == 0) *accounts = engine.accounts();
      } else if (lanes == 1) {
        any ? flow<1, true>(scenarios, first, times, accounts) : flow<1, false>(scenarios, first, times, accounts);
      } else {
        any ? flow<LANES, true>(scenarios, first, times, nullptr)
            : flow<LANES, false>(scenarios, first, times, nullptr);
      }
    });
    return times;
  }

  // The rules of LogGOPSim.
  std::vector<Time> streamed(const std::vector<Scenario>& scenarios, const Structure& structure, std::size_t threads,
                             std::vector<Account>* accounts) {
    for (const Scenario& s : scenarios) {
      if (s.loss.probability > 0 || s.noise.any())
        throw CaseError("receive=stream does not work with lost packets or noise");
      for (const Speed& speed : s.speeds)
        if (speed.of == Speed::region)
          throw CaseError("receive=stream does not support core speeds of regions: name ranks or nodes instead");
    }
    if (!graph_) graph_ = goal_.empty() ? make_graph(schedule_) : make_goal_graph(goal_);
    std::vector<Time> times(scenarios.size());
    run_in_parallel(scenarios.size(), threads, [&](std::size_t number) {
      Streaming engine(*graph_, structure, scenarios[number]);
      times[number] = engine.run();
      if (accounts && number == 0) *accounts = engine.accounts();
    });
    return times;
  }

  template <class Act>
  static void run_in_parallel(std::size_t count, std::size_t threads, Act act) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex guard;
    auto work = [&] {
      for (std::size_t batch; (batch = next++) < count;) {
        try {
          act(batch);
        } catch (...) {
          std::lock_guard hold(guard);
          failed = std::current_exception();
          next = count;
        }
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    if (failed) std::rethrow_exception(failed);
  }

  template <int W, bool Disturbed>
  void flow(const std::vector<Scenario>& scenarios, std::size_t first, std::vector<Time>& times,
            std::vector<Account>* accounts) {
    std::array<Scenario, W> own;
    for (int w = 0; w < W; ++w) own[w] = scenarios[std::min(first + w, scenarios.size() - 1)];
    Dataflow<W, Disturbed> engine(*prepared_, &connections_, own.data());
    const Times<W> found = engine.run();
    for (int w = 0; w < W && first + w < times.size(); ++w) times[first + w] = found[w];
    if constexpr (W == 1)
      if (accounts) *accounts = engine.accounts();
  }

  // The critical path of an undisturbed replay without contention.
  json::Object path(const Scenario& scenario) {
    Dataflow<1, true> engine(*prepared_, &connections_, &scenario);  // with the speeds of its cores
    engine.record();
    engine.run();
    const Path found = engine.path();
    return json::Object()
        .add("computing", found.computing)
        .add("talking", found.talking)
        .add("network", found.network)
        .add("messages", found.messages)
        .add("visited", std::count(found.visited.begin(), found.visited.end(), true))
        .add("ranks", json::list(found.ranks));
  }

  // The activity of the ranks in each scenario, over the time of the longest one; without contention.
  void add_timelines(json::Object& out, const std::vector<Scenario>& scenarios, const std::vector<Time>& times,
                     std::size_t steps) {
    const std::uint32_t together = lines();
    const Time span = *std::max_element(times.begin(), times.end());
    const auto watched = [&](const Scenario& scenario) {
      Activity activity(schedule_, together, steps, span);
      Dataflow<1, true> engine(*prepared_, &connections_, &scenario);
      engine.watch(&activity);
      engine.run();
      return activity.said();
    };
    out.add("timelines", json::list(scenarios, watched)).add("together", together);
  }

  // Times by rank; a rank with several streams has those of the first.
  void add(json::Object& out, const std::vector<Account>& accounts, bool by_rank) const {
    std::vector<Time> computing, talking, waiting, end;
    for (std::size_t stream = 0; stream < accounts.size(); ++stream) {
      if (!by_rank && stream > 0 && schedule_.rank_of[stream] == schedule_.rank_of[stream - 1]) continue;
      computing.push_back(accounts[stream].computing);
      talking.push_back(accounts[stream].talking);
      waiting.push_back(accounts[stream].waiting);
      end.push_back(accounts[stream].end);
    }
    out.add("computing", json::list(computing)).add("talking", json::list(talking));
    out.add("waiting", json::list(waiting)).add("end", json::list(end));
  }

  // Returns how many neighbouring ranks share a line of a timeline.
  std::uint32_t lines() const { return std::max<std::uint32_t>((schedule_.ranks + LINES - 1) / LINES, 1); }

  static constexpr std::uint32_t ROWS = 64, LINES = 24;  // of the histogram of phases and of a timeline, on a figure

  Schedule schedule_;
  std::int64_t largest_ = 0;  // message, B
  Measured measured_;
  std::unique_ptr<Prepared> prepared_;
  Connections connections_;
  RecordedNoise recording_;
  std::string goal_, traced_;
  std::optional<Graph> graph_;
};

// A trace, the speed of one core of the traced machine (flop/s), and the part of the trace that is replayed.
struct Asked {
  std::string path;
  double speed = 1e9;
  std::string iterations;  // the collective that begins them; empty: regions are those of MPI_Pcontrol
  bool part = false;
  std::uint64_t first = 0, last = 0;
  bool without_waits = false;
  std::string kept;  // file in the cache for the schedule of a trace that is text; empty: none
};

// A folder is a trace of ours.
Schedule load(const Asked& asked, Traced& traced) {
  if (is_traced(asked.path)) {
    std::optional<trace::Collective> iterations;
    if (!asked.iterations.empty()) iterations = find_collective(asked.iterations);
    return read_traced(asked.path, traced, nullptr, iterations, asked.without_waits);
  }
  if (!asked.iterations.empty() || asked.part)
    throw Refused("only traces of steelyard trace have regions, and '" + asked.path + "' is another format");
  if (asked.without_waits)
    throw Refused("only traces of steelyard trace have recorded waits, and '" + asked.path + "' is another format");
  if (asked.kept.empty()) return read_file(asked.path, asked.speed);
  if (auto known = kept(asked.kept, asked.path, asked.speed)) return std::move(*known);
  auto origin = find_origin(asked.path, asked.speed);
  std::optional<Digest::Value> content;
  Schedule schedule = read_file(asked.path, asked.speed, &content);
  // The schedule of a file that changed while it was read is not kept.
  if (!content || !origin || origin != find_origin(asked.path, asked.speed)) return schedule;
  origin->content = *content;
  keep(asked.kept, schedule, *origin);
  return schedule;
}

template <class Act>
std::string answered(Act act) {
  try {
    return act().str();
  } catch (const std::runtime_error& error) {  // CaseError, Refused, and the errors of files
    return json::Object().add("error", json::text(error.what())).str();
  } catch (const std::bad_alloc&) {
    return json::Object().add("error", json::text("the memory of this machine is too small for this trace")).str();
  }
}

// The first line, whatever it says, is answered with what was read.
int serve(const Asked& asked) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on when the tool has been killed
  std::unique_ptr<Engine> engine;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answered([&] {
      if (!engine) {
        const auto begin = std::chrono::steady_clock::now();
        Traced traced;
        Schedule schedule = load(asked, traced);
        Excerpt part{asked.first, asked.last};
        if (asked.part) schedule = excerpt(schedule, part), traced.measured.keep(part.first, part.last);
        const bool goal = !is_traced(asked.path) && is_goal(begin_of(asked.path, LOOK));
        engine =
            std::make_unique<Engine>(std::move(schedule), std::move(traced.measured), goal ? asked.path : std::string(),
                                     is_traced(asked.path) && !asked.part ? asked.path : std::string());
        json::Object about = engine->about(seconds_since(begin));
        if (asked.part) about.add("crossing", part.crossing);
        return traced.calls ? about.add("traced", said(traced)) : about;
      }
      Params params(line);
      return engine->answer(params);
    }) << std::endl;
    if (!engine) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace steelyard::whatif

int main(int count, char** words) {
  // Otherwise glibc raises the limit, and what large arrays leave in its heap is never given back: half as much again.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  steelyard::whatif::Asked asked;
  for (; count > 2 && std::string(words[1]).starts_with("--"); ++words, --count) {
    const std::string option = words[1];
    if (option == "--without-waits") asked.without_waits = true;
    if (option.starts_with("--kept=")) asked.kept = option.substr(std::string("--kept=").size());
  }
  if (count != 3 && count != 4 && count != 6) {
    std::cerr << "usage: replay [--without-waits] [--kept=FILE] TRACE FLOPS [COLLECTIVE|- [FIRST LAST]]\n";
    return 2;
  }
  asked.path = words[1];
  asked.speed = std::stod(words[2]);
  if (count > 3 && std::string(words[3]) != "-") asked.iterations = words[3];
  if (count > 4) asked.part = true, asked.first = std::stoull(words[4]), asked.last = std::stoull(words[5]);
  return steelyard::whatif::serve(asked);
}
