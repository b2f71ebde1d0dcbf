// The program around kernels of many ranks: one case at a time on all of them, and who does not get on is reported.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <thread>

#include "rank_sampling.h"
#include "record.h"

namespace steelyard {
namespace {

// Tells, on the error channel, which rank does not get on: when a case takes too long each rank that still lives says
// where it waits, so that the one that says nothing is known by its silence.
class Watchdog {
 public:
  Watchdog() {
    print_report("here");
    // A rank reports its end itself if it can, because launchers name the wrong rank, or none.
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
    if (!thread_.joinable() && seconds > 0) thread_ = std::thread([this] { check_time(); });
  }
  void rest() { limit_ = 0; }

 private:
  static std::string format_report(const char* what) {
    return json::Object()
        .add("steelyard", json::text(what))
        .add("rank", rank_by_launcher())
        .add("host", json::text(host_name()))
        .add("process", static_cast<long>(getpid()))
        .str();
  }
  static void print_report(const char* what) {
    std::fprintf(stderr, "%s\n", format_report(what).c_str());
    std::fflush(stderr);
  }
  // Within a signal nothing may be made anew: the words are ready beforehand.
  static void prepare(char* words, const char* what) {
    std::snprintf(words, word_length, "%s\n", format_report(what).c_str());
  }
  static void last_words(const char* words, int signal) {
    [[maybe_unused]] ssize_t told = write(STDERR_FILENO, words, std::strlen(words));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  void check_time() {
    while (!ending_) {
      usleep(50'000);
      double limit = limit_;
      if (limit > 0 && 1e-9 * static_cast<double>(monotonic_nanoseconds() - began_) > limit) {
        limit_ = 0;
        print_report("overdue");
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
Check combine_checks(const Check& mine, const Ranks& ranks) {
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
    if (!of[0]) return {false, join({"rank ", r, " on ", ranks.place(r).host, ": ", (of + 1)})};
  }
  return mine;
}

// Throws the message of the first failure on all ranks, so that no rank goes on alone.
void fail_together(const std::string& failure, const Ranks& ranks) {
  Check all = combine_checks({failure.empty(), failure}, ranks);
  char words[512] = {};
  if (!all.passed) std::strncpy(words, all.detail.c_str(), sizeof words - 1);
  MPI_Bcast(words, sizeof words, MPI_CHAR, 0, ranks.comm());
  if (words[0]) throw CaseError(words);
}

// Each number with seven digits: many ranks would fill a disk with more.
std::string brief(const std::vector<double>& values) {
  return json::list(values, [](double x) {
    if (!std::isfinite(x)) return json::number(x);
    char buffer[40];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::general, 7).ptr);
  });
}

// The times of a rank; of very many ranks only the least, the middle and the greatest of each.
std::vector<double> shortened(std::vector<double> times, std::size_t ranks) {
  constexpr std::size_t many = 1024;
  if (ranks <= many || times.size() <= 3) return times;
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return {times.front(), times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2, times.back()};
}

[[gnu::cold]] std::string ranks_json(const Ranks& ranks, const RankMeasurement& m, const std::vector<double>& clocks) {
  std::vector<std::string> hosts;
  std::vector<int> cpus;
  std::vector<double> memory;
  for (const auto& p : ranks.places()) hosts.emplace_back(p.host), cpus.push_back(p.cpu), memory.push_back(p.memory);
  std::string seconds;
  for (const auto& row : m.seconds)
    seconds.append(seconds.empty() ? "[" : ",").append(brief(shortened(row, m.seconds.size())));
  std::vector<double> offsets, uncertain, residuals;
  for (std::size_t i = 0; i + 2 < clocks.size(); i += 3)
    offsets.push_back(clocks[i]), uncertain.push_back(clocks[i + 1]), residuals.push_back(clocks[i + 2]);
  return json::Object()
      .add("hosts", json::list(hosts))
      .add("cpus", json::list(cpus))
      .add("memory", json::list(memory))
      .add("seconds", seconds.append("]"))
      .add("waited", brief(m.waited))
      .add("throttled", brief(m.throttled))
      .add(pace_columns(m.pace))
      .add("late", m.late)
      .add("colocated", json::boolean(ranks.colocated()))
      .add("clock", json::Object()
                        .add("offset", brief(offsets))
                        .add("uncertainty", brief(uncertain))
                        .add("residual", brief(residuals))
                        .str())
      .str();
}

// One case on all ranks: set up, sampled and checked together, so that no rank goes on alone.
class RankCase {
 public:
  RankCase(const NamedRankKernel& named, Params& params, Ranks& ranks, CommonClock& clock)
      : named_(named), params_(params), ranks_(ranks), clock_(clock) {}

  // At rank 0 the record, elsewhere nothing.
  json::Object measure_case() {
    clock_.synchronise(ranks_);
    phases_.next("clock");
    fail_together(set_up(), ranks_);
    phases_.next("setup");
    bool active = kernel_->active();
    ranks_.muster(active);
    RankMeasurement m = measure(*kernel_, ranks_, clock_, *sampling_, *plant_, *bounds_, *start_, active);
    phases_.next("sampling");
    ranks_.world().barrier();
    if (plant_->kind == "wrong") kernel_->corrupt();
    Check check = combine_checks(kernel_->check(), ranks_);
    std::vector<double> clocks = ranks_.world().gather({clock_.offset(), clock_.uncertainty(), clock_.residual()});
    phases_.next("check");
    std::string details = kernel_->details();  // every rank: some gather what they tell
    if (ranks_.rank() != 0) return {};
    std::vector<int> cpus;
    for (const auto& p : ranks_.places())
      if (p.cpu >= 0) cpus.push_back(p.cpu);
    json::Object around = surroundings(m.whole, cpus, phases_, details);
    return record(*kernel_, m.whole, check, around.add("ranks", ranks_json(ranks_, m, clocks)));
  }

 private:
  // Why this rank cannot go on; "" when it can.
  std::string set_up() {
    try {
      sampling_.emplace(params_, usual_sample), plant_.emplace(params_), bounds_.emplace(params_),
          start_.emplace(params_, named_.start);
      kernel_ = named_.make(params_, ranks_);
      params_.pass_over({"case", "kernel", "pinning", "placement", "toolchain", "mpi", "transport", "ranks", "nodes",
                         "ranks_per_node", "cpus", "limit", "threads"});
      if (auto unread = params_.unread(); !unread.empty())
        return join({"parameter '", unread.front(), "' is not one that this kernel reads"});
      return "";
    } catch (const std::bad_alloc&) {
      return "not enough memory for this case";
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  const NamedRankKernel& named_;
  Params& params_;
  Ranks& ranks_;
  CommonClock& clock_;
  Phases phases_;
  std::unique_ptr<RankKernelInterface> kernel_;
  std::optional<Sampling> sampling_;
  std::optional<Plant> plant_;
  std::optional<Bounds> bounds_;
  std::optional<Start> start_;
};

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
    std::string name = "0", kernel;
    json::Object body = record_or_reason([&] {
      Params params(line);
      name = params.own_word("case", "0");
      kernel = params.own_word("kernel", kernels_.front().name);
      watchdog_.watch(params.own_number("limit", 0));
      if (std::size_t wanted = params.count("ranks", static_cast<std::size_t>(ranks_.size()));
          wanted != static_cast<std::size_t>(ranks_.size()))
        throw CaseError(
            join({"ranks='", wanted, "' were requested, but the launcher started ", ranks_.size(),
                  (ranks_.size() == 1 ? ": its mpiexec does not belong to the MPI library of the program" : "")}));
      json::Object found = RankCase(find_kernel(kernels_, kernel), params, ranks_, clock_).measure_case();
      return found.add("declared", json::object(params.read()));
    });
    return answer_line(name, kernel, body);
  }

  std::vector<NamedRankKernel> kernels_;
  Ranks ranks_;
  CommonClock clock_;
  Watchdog& watchdog_;
};

}  // namespace

[[gnu::cold]] int serve_ranks(int argc, char** argv, std::vector<NamedRankKernel> kernels) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on measuring when the launcher has been killed
  std::ios::sync_with_stdio(false);
  Watchdog watchdog;
  std::vector<int> might = allowed_processors();  // before any pinning
  pin_by_launcher();
  int provided;
  // As programs without threads begin: where threads are announced Open MPI 4 takes a quarter longer for 8 bytes. The
  // harness's own ones (the watchdog, a team) never ask anything of MPI.
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
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
