// What a kernel of many ranks is, and the program around it: rank 0 reads the cases and writes the records.
//
//     struct PingPong {
//       PingPong(Params& p, Ranks& ranks);   // every rank reads the parameters, allocates, fills
//       void run(std::size_t operations);    // on every rank that takes part, from a common start; the only thing
//       timed Work work() const;                   // what one operation of all ranks together does: bytes, messages …
//       Check check();                       // on every rank; must fail on one of them when run did not run
//     };
//     int main(int argc, char** argv) { return steelyard::serve_ranks(argc, argv,
//     {steelyard::rank_kernel<PingPong>("pingpong")}); }
//
// Where a kernel has them: `bool active() const` (whether this rank takes part; the others sleep),
// `prepare(operations)` (before each sample, untimed), `std::string details() const` (JSON, at rank 0: what it saw
// besides its time), and `static constexpr const char* start` ("barrier" or "clock": how its samples begin unless the
// case says otherwise).
#pragma once
#include <atomic>
#include <cstdio>
#include <thread>

#include "kernel.h"
#include "rank_sampling.h"

namespace steelyard {

template <class K>
concept RankKernel =
    std::constructible_from<K, Params&, Ranks&> && requires(K kernel, const K& constant, std::size_t operations) {
      kernel.run(operations);
      { constant.work() } -> std::same_as<Work>;
      { kernel.check() } -> std::same_as<Check>;
    };

struct NamedRankKernel {
  std::string name;
  std::function<std::string(Params&, Ranks&, CommonClock&)> measure;  // at rank 0 the record's members, without braces
};

// Tells, on the error channel, which rank does not get on: when a case takes too long each rank that still lives says
// where it waits, so that the one that says nothing is known by its silence.
class Watchdog {
 public:
  Watchdog() {
    say("here");
    // How a rank ends is told by itself, as far as it can: launchers name the wrong one, or none.
    prepare(crash_words_, "crashed"), prepare(abort_words_, "aborted"), prepare(end_words_, "ended");
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(fault, [](int s) { last_words(crash_words_, s); });
    std::signal(SIGABRT, [](int s) { last_words(abort_words_, s); });  // MPI gives up, usually because a peer is gone
    std::signal(SIGTERM, [](int s) { last_words(end_words_, s); });
  }
  ~Watchdog() {
    limit_ = 0;
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void watch(double seconds) {
    began_ = monotonic_nanoseconds();
    limit_ = seconds;
    if (!thread_.joinable() && seconds > 0) thread_ = std::thread([this] { look(); });
  }
  void rest() { limit_ = 0; }

 private:
  static std::string report(const char* what) {
    return json::Object()
        .add("steelyard", json::text(what))
        .add("rank", json::number(rank_by_launcher()))
        .add("host", json::text(host_name()))
        .add("process", json::number(static_cast<long>(getpid())))
        .str();
  }
  static void say(const char* what) {
    std::fprintf(stderr, "%s\n", report(what).c_str());
    std::fflush(stderr);
  }
  // Within a signal nothing may be made anew: the words are ready beforehand.
  static void prepare(char* words, const char* what) {
    std::snprintf(words, word_length, "%s\n", report(what).c_str());
  }
  static void last_words(const char* words, int signal) {
    [[maybe_unused]] ssize_t told = write(STDERR_FILENO, words, std::strlen(words));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  void look() {
    while (!ending_) {
      usleep(50'000);
      double limit = limit_;
      if (limit > 0 && 1e-9 * static_cast<double>(monotonic_nanoseconds() - began_) > limit) {
        limit_ = 0;
        say("overdue");
      }
    }
  }
  static constexpr std::size_t word_length = 512;
  static inline char crash_words_[word_length], abort_words_[word_length], end_words_[word_length];
  std::atomic<double> limit_{0};
  std::atomic<std::uint64_t> began_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// All ranks' checks: passed where all are; otherwise the first wrong one's words, with its rank and host.
inline Check all_checks(const Check& mine, const Ranks& ranks) {
  constexpr std::size_t length = 300;
  std::vector<char> words(length, 0);
  std::string said = mine.detail.substr(0, length - 2);
  words[0] = mine.passed ? 1 : 0;
  std::copy(said.begin(), said.end(), words.begin() + 1);
  std::vector<char> all(length * static_cast<std::size_t>(ranks.size()));
  MPI_Gather(words.data(), static_cast<int>(length), MPI_CHAR, all.data(), static_cast<int>(length), MPI_CHAR, 0,
             ranks.comm());
  if (ranks.rank() != 0) return mine;
  for (int r = 0; r < ranks.size(); ++r) {
    const char* of = &all[static_cast<std::size_t>(r) * length];
    if (!of[0]) return {false, "rank " + std::to_string(r) + " on " + ranks.place(r).host + ": " + (of + 1)};
  }
  return mine;
}

// Whether all ranks got so far; the first failure's words for all, so that none goes on alone.
inline void agree(const std::string& failure, const Ranks& ranks) {
  Check all = all_checks({failure.empty(), failure}, ranks);
  char words[512] = {};
  if (!all.passed) std::strncpy(words, all.detail.c_str(), sizeof words - 1);
  MPI_Bcast(words, sizeof words, MPI_CHAR, 0, ranks.comm());
  if (words[0]) throw CaseError(words);
}

inline std::string ranks_json(const Ranks& ranks, const RankMeasurement& m, const std::vector<double>& clocks) {
  std::vector<std::string> hosts;
  std::vector<int> cpus;
  for (const auto& p : ranks.places()) hosts.push_back(p.host), cpus.push_back(p.cpu);
  std::string seconds;
  for (const auto& row : m.seconds) seconds.append(seconds.empty() ? "[" : ",").append(json::list(row));
  std::vector<double> offsets, uncertain, residuals;
  for (std::size_t i = 0; i + 2 < clocks.size(); i += 3)
    offsets.push_back(clocks[i]), uncertain.push_back(clocks[i + 1]), residuals.push_back(clocks[i + 2]);
  return json::Object()
      .add("hosts", json::list(hosts))
      .add("cpus", json::list(cpus))
      .add("seconds", seconds.append("]"))
      .add("waited", json::list(m.waited))
      .add("late", json::number(m.late))
      .add("colocated", json::boolean(ranks.colocated()))
      .add("clock", json::Object()
                        .add("offset", json::list(offsets))
                        .add("uncertainty", json::list(uncertain))
                        .add("residual", json::list(residuals))
                        .str())
      .str();
}

template <RankKernel K>
NamedRankKernel rank_kernel(std::string name) {
  return {std::move(name), [](Params& params, Ranks& ranks, CommonClock& clock) {
            Phases phases;
            clock.synchronise(ranks);
            phases.next("clock");
            std::string failure;
            std::unique_ptr<K> state;
            std::optional<Sampling> sampling;
            std::optional<Plant> plant;
            std::optional<Start> start;
            const char* usual = "barrier";
            if constexpr (requires { K::start; }) usual = K::start;
            try {
              sampling.emplace(params), plant.emplace(params), start.emplace(params, usual);
              state = std::make_unique<K>(params, ranks);
              for (const char* known : {"pinning", "placement", "toolchain", "mpi", "transport", "ranks", "nodes",
                                        "ranks_per_node", "cpus", "limit", "threads"})
                params.word(known, "");
              if constexpr (!requires { state->corrupt(); })
                if (plant->kind == "wrong") failure = nothing_to_spoil;
              if (auto unread = params.unread(); !unread.empty())
                failure = "parameter '" + unread.front() + "' is not one that this kernel reads";
            } catch (const std::bad_alloc&) {
              failure = "not enough memory for this case";
            } catch (const std::exception& e) {
              failure = e.what();
            }
            agree(failure, ranks);
            phases.next("setup");
            bool active = true;
            if constexpr (requires { state->active(); }) active = state->active();
            ranks.muster(active);
            RankMeasurement m = RankSampler<K>(*state, ranks, clock, *sampling, *plant, *start, active).measure();
            phases.next("sampling");
            ranks.world().barrier();
            if constexpr (requires { state->corrupt(); })
              if (plant->kind == "wrong") state->corrupt();
            Check check = all_checks(state->check(), ranks);
            std::vector<double> clocks = ranks.world().gather({clock.offset(), clock.uncertainty(), clock.residual()});
            phases.next("check");
            std::string details;
            if constexpr (requires { state->details(); }) details = state->details();
            if (ranks.rank() != 0) return std::string();
            std::vector<double> seconds;
            for (const Sample& s : m.whole.samples)
              seconds.push_back(s.seconds / static_cast<double>(m.whole.operations));
            json::Object work;
            for (const auto& [what, amount] : state->work()) work.add(what, json::number(amount));
            std::vector<int> cpus;
            for (const auto& p : ranks.places())
              if (p.cpu >= 0) cpus.push_back(p.cpu);
            std::string surroundings = surroundings_json(m.whole, cpus, phases.str());
            surroundings.pop_back();
            surroundings +=
                ",\"ranks\":" + ranks_json(ranks, m, clocks) + (details.empty() ? "" : ",\"details\":" + details) + "}";
            std::string out = json::Object()
                                  .add("samples", json::list(seconds))
                                  .add("operations", json::number(m.whole.operations))
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

// The case of rank 0's line on all ranks; at rank 0 the answer.
class RankServer {
 public:
  RankServer(std::vector<NamedRankKernel> kernels, std::vector<int> processors, Watchdog& watchdog)
      : kernels_(std::move(kernels)), ranks_(std::move(processors), 1), watchdog_(watchdog) {}

  // Rank 0 gives the line; "" ends all.
  bool serve(std::string line) {
    ranks_.rest(5000);  // the others wait for the next case asleep
    int length = static_cast<int>(line.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, ranks_.comm());
    if (length == 0) return false;
    line.resize(static_cast<std::size_t>(length));
    MPI_Bcast(line.data(), length, MPI_CHAR, 0, ranks_.comm());
    std::string answer = this->answer(line);
    watchdog_.rest();
    if (ranks_.rank() == 0) std::cout << answer << std::endl;
    return static_cast<bool>(std::cout);
  }
  int rank() const { return ranks_.rank(); }

 private:
  std::string answer(const std::string& line) {
    std::string name = "0", kernel, body;
    json::Object out;
    try {
      Params params(line);
      name = params.word("case", "0");
      kernel = params.word("kernel", kernels_.front().name);
      watchdog_.watch(params.number("limit", 0));
      if (std::size_t wanted = params.count("ranks", static_cast<std::size_t>(ranks_.size()));
          wanted != static_cast<std::size_t>(ranks_.size()))
        throw CaseError("ranks='" + std::to_string(wanted) + "' were asked for, but the launcher started " +
                        std::to_string(ranks_.size()) +
                        (ranks_.size() == 1 ? ": its mpiexec does not belong to the MPI library of the program" : ""));
      body = find(kernel).measure(params, ranks_, clock_);
      out.add("declared", json::object(params.read()));
    } catch (const std::bad_alloc&) {
      body = "\"error\":" + json::text("not enough memory for this case");
    } catch (const std::exception& e) {
      body = "\"error\":" + json::text(e.what());
    }
    std::string head = out.add("case", json::text(name)).add("kernel", json::text(kernel)).str();
    return head.substr(0, head.size() - 1) + "," + body + "}";
  }
  const NamedRankKernel& find(const std::string& name) const {
    std::string known;
    for (const auto& k : kernels_) {
      if (k.name == name) return k;
      known += (known.empty() ? "" : ", ") + k.name;
    }
    throw CaseError("kernel '" + name + "' is not in this program, which has: " + known);
  }

  std::vector<NamedRankKernel> kernels_;
  Ranks ranks_;
  CommonClock clock_;
  Watchdog& watchdog_;
};

inline int serve_ranks(int argc, char** argv, std::vector<NamedRankKernel> kernels) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on measuring when the launcher has been killed
  std::ios::sync_with_stdio(false);
  Watchdog watchdog;
  std::vector<int> might = allowed_processors();  // before any pinning
  pin_by_launcher();
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  {
    RankServer server(std::move(kernels), might, watchdog);
    std::string line;
    while (true) {
      bool more = true;
      if (server.rank() == 0) {
        do more = static_cast<bool>(std::getline(std::cin, line));
        while (more && line.find_first_not_of(" \t\r") == std::string::npos);
        more = more && line != "end";  // not every launcher passes on the end of the input
      }
      if (!server.serve(more ? line : "") || !more) break;
    }
  }
  MPI_Finalize();
  return 0;
}

}  // namespace steelyard
