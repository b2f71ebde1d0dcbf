// The engine: loads one trace, then answers questions about it, a line each.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <mutex>
#include <thread>

#include "collectives.cpp"
#include "dataflow.cpp"
#include "early.cpp"
#include "events.cpp"
#include "goal.cpp"
#include "json.h"
#include "network.cpp"
#include "params.h"
#include "perturbation.cpp"
#include "readers.cpp"
#include "recorded_noise.cpp"
#include "schedule.cpp"
#include "text.cpp"
#include "ti.cpp"
#include "traced.cpp"
#include "traced_collectives.cpp"
#include "traced_needs.cpp"
#include "traced_programs.cpp"

namespace steelyard::whatif {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The points of a sweep: values that differ are lists with ';' between them, and all lists have one length.
class Points {
 public:
  explicit Points(Params& params) : params_(params) {}

  // As many numbers as `otherwise` has, with ',' between them, of a point.
  std::vector<double> numbers(const std::string& name, std::size_t point, const std::vector<double>& otherwise) {
    const std::vector<double> found = all(name, point);
    if (!found.empty() && found.size() != otherwise.size())
      throw CaseError("parameter " + name + " needs " + std::to_string(otherwise.size()) + " numbers");
    return found.empty() ? otherwise : found;
  }
  // Any number of them; none where the parameter is not given.
  std::vector<double> all(const std::string& name, std::size_t point) {
    const std::string text = params_.word(name, "");
    if (text.empty()) return {};
    const auto lists = split(text, ';');
    if (lists.size() > 1 && lists.size() != count_)
      throw CaseError("parameter " + name + " has " + std::to_string(lists.size()) + " points, others have " +
                      std::to_string(count_));
    std::vector<double> found;
    for (const std::string& word : split(lists[lists.size() > 1 ? point : 0], ',')) {
      double value = 0;
      auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (failed != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
        throw CaseError("parameter " + name + ": '" + word + "' is no number");
      found.push_back(value);
    }
    return found;
  }
  std::size_t count() {
    for (const char* name : {"across", "within", "uplinks", "core", "loss", "noise", "affected"})
      count_ = std::max(count_, split(params_.word(name, ""), ';').size());
    return count_;
  }

 private:
  static std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(at, begin), text.size());
      found.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return found;
  }
  Params& params_;
  std::size_t count_ = 1;
};

Time whole(double ps) { return static_cast<Time>(std::llround(ps)); }

constexpr double MOST = 1e17;  // ps, of a parameter: 28 hours

// Six numbers each: from which size on, L, o, g, O, G.
Links links(const std::string& name, const std::vector<double>& n) {
  Links found;
  for (std::size_t i = 0; i + 6 <= n.size(); i += 6)
    found.push_back({whole(n[i]), whole(n[i + 1]), whole(n[i + 2]), whole(n[i + 3]), n[i + 4], n[i + 5]});
  bool rising = !found.empty() && found.front().from == 0 && n.size() % 6 == 0;
  for (std::size_t i = 1; i < found.size(); ++i) rising &= found[i - 1].from < found[i].from;
  if (!rising || *std::min_element(n.begin(), n.end()) < 0 || *std::max_element(n.begin(), n.end()) > MOST)
    throw CaseError("parameter " + name +
                    " needs six numbers for each protocol, by rising size from 0, from 0 to 10^17");
  return found;
}

Scenario scenario(Points& points, std::size_t point, std::uint64_t seed) {
  Scenario found;
  found.across = links("across", points.all("across", point));
  const auto inside = points.all("within", point);
  found.within = inside.empty() ? found.across : links("within", inside);
  const auto up = points.numbers("uplinks", point, {0, 0, 0, 0});
  for (std::size_t level = 0; level < LEVELS; ++level) found.uplinks[level] = {up[2 * level], whole(up[2 * level + 1])};
  found.core = points.numbers("core", point, {1})[0];
  const auto loss = points.numbers("loss", point, {0, 2e11, 1448, 1, 1, 0, 0});
  found.loss = {loss[0],        whole(loss[1]), static_cast<std::int64_t>(loss[2]), loss[3] != 0, loss[4] != 0,
                whole(loss[5]), loss[6] != 0};
  const auto noise = points.numbers("noise", point, {0, 0, 0, 0});
  found.noise = {whole(noise[0]), whole(noise[1]), noise[2], noise[3] != 0};
  found.affected = points.numbers("affected", point, {1})[0];
  found.seed = seed;
  if (!(found.core > 0)) throw CaseError("the speed of the cores must be above 0");
  if (!(found.loss.probability >= 0 && found.loss.probability < 0.5))
    throw CaseError("a probability of loss lies between 0 and 0.5: from there on doubled waits have no mean");
  if (found.noise.duration < 0 ||
      (found.noise.probability == 0 && found.noise.duration > 0 && found.noise.duration >= found.noise.period))
    throw CaseError("an interruption must be shorter than its period");
  return found;
}

bool disturbed(const Scenario& s) { return s.core != 1 || s.loss.probability > 0 || s.noise.any(); }

// Many scenarios at once: how many at a time, a vector of the processor decides.
constexpr int LANES = 8;

class Engine {
 public:
  explicit Engine(Schedule schedule) : schedule_(std::move(schedule)) {}

  json::Object about(double seconds) const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return json::Object()
        .add("ranks", json::number(schedule_.ranks))
        .add("events", json::number(schedule_.events()))
        .add("messages", json::number(schedule_.source.size()))
        .add("bytes", json::number(schedule_.bytes))
        .add("unreceived", json::number(schedule_.unreceived))
        .add("seconds", json::number(seconds))
        .add("memory", json::number(usage.ru_maxrss * 1024));
  }

  json::Object answer(Params& params) {
    Structure structure;
    structure.eager = static_cast<std::int64_t>(params.count("eager", 65535));
    structure.tree = {static_cast<std::uint32_t>(params.count("nodes_per_switch", 0)),
                      static_cast<std::uint32_t>(params.count("switches_per_group", 0))};
    structure.ranks_per_node = static_cast<std::uint32_t>(std::max<std::size_t>(params.count("ranks_per_node", 1), 1));
    const std::string mode = params.choice("mode", "dataflow", {"dataflow", "event"});
    const std::size_t repeats = params.count("repeats", 1),
                      threads = std::max<std::size_t>(params.count("threads", 1), 1);
    const std::uint64_t seed = params.count("seed", 1);
    const bool traced = params.choice("path", "no", {"no", "yes"}) == "yes";
    const bool accounts = params.choice("accounts", "no", {"no", "yes"}) == "yes";
    Points points(params);
    std::vector<Scenario> scenarios;
    for (std::size_t point = 0, count = points.count(); point < count; ++point)
      for (std::size_t repeat = 0; repeat < repeats; ++repeat)
        scenarios.push_back(scenario(points, point, mixed(seed + repeat * 0x9e3779b97f4a7c15u)));
    record(params.word("recording", ""), scenarios);
    if (auto unread = params.unread(); !unread.empty())
      throw CaseError("parameter '" + unread.front() + "' is not known");
    if (scenarios.empty()) throw CaseError("repeats must be 1 at least");

    prepare_for(structure);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Account> found;
    const std::vector<Time> times = replayed(scenarios, mode == "event", threads, accounts ? &found : nullptr);
    json::Object out;
    out.add("time", json::list(times))
        .add("events", json::number(schedule_.events()))
        .add("seconds", json::number(seconds_since(begin)))
        .add("seed", json::number(seed));
    if (accounts) add(out, found);
    if (traced) out.add("path", path(scenarios.front()).str());
    return out;
  }

 private:
  // Gives recorded noise to all scenarios.
  void record(const std::string& path, std::vector<Scenario>& scenarios) {
    if (path.empty()) return;
    recording_ = RecordedNoise::read(path);
    for (Scenario& scenario : scenarios) scenario.noise = {0, 0, 0, scenario.noise.together, &recording_};
  }
  void prepare_for(const Structure& structure) {
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
      throw CaseError("sack=on asks when the next packet of a connection comes, which only the mode event knows");
    if (lossy && connections_.of.empty()) connections_ = connections(schedule_);
    std::vector<Time> times(scenarios.size());
    const std::size_t lanes = events || scenarios.size() == 1 ? 1 : LANES,
                      batches = (scenarios.size() + lanes - 1) / lanes;
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex guard;
    auto work = [&] {
      for (std::size_t batch; (batch = next++) < batches;) {
        try {
          const std::size_t first = batch * lanes;
          if (events) {
            Events engine(*prepared_, &connections_, scenarios[first]);
            times[first] = engine.run();
            if (accounts && first == 0) *accounts = engine.accounts();
          } else if (lanes == 1) {
            any ? flow<1, true>(scenarios, first, times, accounts) : flow<1, false>(scenarios, first, times, accounts);
          } else {
            any ? flow<LANES, true>(scenarios, first, times, nullptr)
                : flow<LANES, false>(scenarios, first, times, nullptr);
          }
        } catch (...) {
          std::lock_guard hold(guard);
          failed = std::current_exception();
          next = batches;
        }
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(threads, batches); ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    if (failed) std::rethrow_exception(failed);
    return times;
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
    Dataflow<1, false> engine(*prepared_, nullptr, &scenario);
    engine.record();
    engine.run();
    const Path found = engine.path();
    return json::Object()
        .add("computing", json::number(found.computing))
        .add("talking", json::number(found.talking))
        .add("network", json::number(found.network))
        .add("messages", json::number(found.messages))
        .add("ranks", json::list(found.ranks));
  }

  // Of each rank; of one with several streams that of the first.
  void add(json::Object& out, const std::vector<Account>& accounts) const {
    std::vector<Time> computing, talking, waiting, end;
    for (std::size_t stream = 0; stream < accounts.size(); ++stream) {
      if (stream > 0 && schedule_.rank_of[stream] == schedule_.rank_of[stream - 1]) continue;
      computing.push_back(accounts[stream].computing);
      talking.push_back(accounts[stream].talking);
      waiting.push_back(accounts[stream].waiting);
      end.push_back(accounts[stream].end);
    }
    out.add("computing", json::list(computing)).add("talking", json::list(talking));
    out.add("waiting", json::list(waiting)).add("end", json::list(end));
  }

  Schedule schedule_;
  std::unique_ptr<Prepared> prepared_;
  Connections connections_;
  RecordedNoise recording_;
};

// A folder is a trace of ours.
Schedule load(const std::string& path, double speed, Traced& traced) {
  if (is_traced(path)) return read_traced(path, traced).finish();
  const std::string text = contents(path);
  return read(path, text, speed).finish();
}

template <class Act>
std::string answered(Act act) {
  try {
    return act().str();
  } catch (const CaseError& error) {
    return json::Object().add("error", json::text(error.what())).str();
  } catch (const Refused& error) {
    return json::Object().add("error", json::text(error.what())).str();
  } catch (const std::bad_alloc&) {
    return json::Object().add("error", json::text("the memory of this machine is too small for this trace")).str();
  }
}

// The first line, whatever it says, is answered with what was read.
int serve(const std::string& path, double speed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on when the tool has been killed
  std::unique_ptr<Engine> engine;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answered([&] {
      if (!engine) {
        const auto begin = std::chrono::steady_clock::now();
        Traced traced;
        engine = std::make_unique<Engine>(load(path, speed, traced));
        json::Object about = engine->about(seconds_since(begin));
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
  if (count != 3) {
    std::cerr << "usage: replay TRACE FLOPS\n";
    return 2;
  }
  return steelyard::whatif::serve(words[1], std::stod(words[2]));
}
