// The sampler of a team: calibration, samples with what disturbed each, plants.
#include "sampling.h"

#include <sys/mman.h>
#include <time.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "clock.h"
#include "processor_set.h"
#include "stopping.h"

namespace steelyard {

Sampling::Sampling(Params& p, double usual_length)
    : width(p.own_number("width", 0.02)),
      seconds(p.own_number("seconds", 1.0)),
      least(p.own_count("least", 5)),
      most(p.own_count("most", 2000)),
      sample_seconds(p.own_number("sample_seconds", usual_length)) {
  if (!(width > 0) || !(seconds > 0) || least < 1 || most < least)
    throw CaseError("the sampling needs width > 0, seconds > 0 and 1 <= least <= most");
}

bool Sampling::spent(const Vigil& vigil, std::size_t taken, double elapsed, bool patient) const {
  if (vigil.count() >= most || taken >= 4 * most) return true;
  if (elapsed >= 4 * seconds) return true;  // even `least` must not hold a run up without end
  return elapsed >= seconds && (patient ? vigil.count() : taken) >= least;
}

double Sampling::wanted_seconds() const {
  const Clock& clock = Clock::get();
  return std::max(sample_seconds, 1000 * std::max(clock.resolution(), clock.overhead()));
}

[[gnu::cold]] Plant::Plant(Params& p) {
  kind = p.word("plant", "none");
  if (std::size_t colon = kind.find(':'); colon != std::string::npos) {
    std::string number = kind.substr(colon + 1);
    kind.resize(colon);
    if (std::size_t second = number.find(':'); kind == "slow" && second != std::string::npos) {
      rank = std::atoi(number.c_str());
      number = number.substr(second + 1);
    }
    if (std::from_chars(number.data(), number.data() + number.size(), amount).ec != std::errc{})
      throw CaseError(join({"plant='", kind, ":", number, "' needs a number"}));
  }
  if (kind != "none" && kind != "skip" && kind != "delay" && kind != "turns" && kind != "work" && kind != "clock" &&
      kind != "faults" && kind != "slow" && kind != "wrong" && kind != "shared" && kind != "visits" &&
      kind != "memory" && kind != "unread")
    throw CaseError(
        join({"plant='", kind,
              "' is unknown: expected none, skip, delay:share, turns:share, work:share, clock:factor, "
              "faults:pages, slow:rank:share, shared:factor, visits:factor, memory:factor, wrong, unread"}));
}

std::size_t Plant::enough(std::size_t operations) const {
  if (kind != "work" || !(amount > 0)) return operations;
  auto share = static_cast<std::size_t>(std::ceil(1 / amount));
  return (operations + share - 1) / share * share;
}

namespace {

// Counters over all samples; they stop while the sampler waits.
class Meters {
 public:
  explicit Meters(Team& team) : counters_(team.size()) {
    team.each([&](Worker w) { counters_.open(w.index); });
  }
  void start() { energy_.start(), counters_.start(); }
  void pause() { counters_.pause(), energy_.pause(); }
  void resume() { energy_.start(), counters_.resume(); }
  Counts stop() {
    Counts found = counters_.stop();
    found.joules = energy_.stop();
    if (!std::isnan(found.joules)) found.energy_source = energy_.source();
    return found;
  }

 private:
  Counters counters_;
  Energy energy_;
};

class Sampler {
 public:
  Sampler(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant, const Bounds& bounds)
      : kernel_(kernel),
        team_(team),
        sampling_(sampling),
        plant_(plant),
        bounds_(bounds),
        vigil_(bounds),
        lengths_(sampling.wanted_seconds()),
        views_(team.size()) {}

  Measurement measure() {
    Measurement m;
    std::set<int> cpus = processors(team_);
    m.oversubscribed = team_.size() > cpus.size();
    find_nodes();
    calibrate(m);
    while (!measure_quietly(m, cpus)) begin_again(m);
    return m;
  }

 private:
  // Shortest sampling of a case in seconds, unless its own limit is lower. The kernel counts steal and other load in
  // steps of 10 ms, and clocks change over tens of milliseconds, so a shorter sampling would see neither.
  static constexpr double shortest = 0.2;
  static constexpr timespec between_looks = {0, 2'000'000};  // while waiting

  // Returns whether the samples are as long as wanted.
  bool measure_quietly(Measurement& m, const std::set<int>& cpus) {
    taken_ = 0;
    m.clock_before = clocks();
    Meters meters(team_);
    const std::vector<double> began = thread_times();
    MachineReading before(cpus);
    m.began = seconds_of(CLOCK_REALTIME);
    m.monotonic = seconds_of(CLOCK_MONOTONIC);
    std::uint64_t begin = Clock::get().ticks();
    meters.start();
    if (!take_sample(m, meters, begin)) return false;
    m.counters = meters.stop();
    m.ended = seconds_of(CLOCK_REALTIME);
    std::vector<double> own = thread_times();
    MachineReading after(cpus);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] -= began[i];
    m.pace_after = read_worst_pace();
    m.clock_after = clocks();
    add_system_times(m, before, after);
    m.most_other = greatest_other(before, after, team_.cpus(), own);
    return true;
  }
  // Seconds of a processor that each thread has used.
  std::vector<double> thread_times() {
    std::vector<double> times(team_.size());
    team_.each([&](Worker w) { times[w.index] = seconds_of(CLOCK_THREAD_CPUTIME_ID); });
    return times;
  }
  void begin_again(Measurement& m) {
    Measurement next;
    next.operations = plant_.enough(lengths_.enough(m.operations));
    next.oversubscribed = m.oversubscribed;
    m = std::move(next);
    vigil_ = Vigil(bounds_);
    lengths_ = Lengths(sampling_.wanted_seconds());
  }

  // Samples while they are undisturbed; else a wait, as long as patience lasts. False where they are too short.
  bool take_sample(Measurement& m, Meters& meters, std::uint64_t begin) {
    const Clock& clock = Clock::get();
    unread_ = 0;
    m.pace_before = read_worst_pace();
    vigil_.read(m.pace_before);
    wait(m, meters);
    warm_up(m.operations);
    std::size_t next_look = std::max<std::size_t>(sampling_.least, 6);
    while (true) {
      Sample s = sample(m.operations, begin);
      vigil_.sampled(s.seconds);
      bool cold = clock.seconds(clock.ticks() - memory_read_) > memory_every;
      if (cold) s.pace.join(read_worst_pace());
      vigil_.read(s.pace);
      m.samples.push_back(s);
      if (too_short(s.seconds)) return false;
      if (enough(m, clock.seconds(clock.ticks() - begin) - m.waited, next_look)) return true;
      cold = wait(m, meters) || cold;
      if (cold) warm_up(m.operations);
    }
  }
  bool too_short(double seconds) {
    if (kernel_.whole() || plant_.kind == "skip") return false;
    lengths_.add(seconds);
    return lengths_.too_short();
  }

  bool enough(const Measurement& m, double elapsed, std::size_t& next_look) const {
    if (sampling_.spent(vigil_, m.samples.size(), elapsed, m.waited < bounds_.patience)) return true;
    if (vigil_.count() < next_look || elapsed < shortest) return false;
    // statistics/samples/stopping.py says why not at every sample
    next_look = std::max(vigil_.count() + 1, vigil_.count() * 11 / 10);
    return relative_half_width(vigil_.undisturbed(), sampling_.width) <= sampling_.width;
  }

  // Until the machine is quiet, as long as patience lasts; asleep between looks. Whether there was anything to wait
  // for.
  bool wait(Measurement& m, Meters& meters) {
    if (vigil_.quiet() || m.waited >= bounds_.patience) return false;
    const double began = seconds_of(CLOCK_MONOTONIC_RAW), before = m.waited;
    meters.pause();
    Look last{m.samples.size(), {}}, latest = last;
    do {
      nanosleep(&between_looks, nullptr);
      last = latest;
      latest.pace = read_worst_pace();
      vigil_.read(latest.pace);
      m.waited = before + seconds_of(CLOCK_MONOTONIC_RAW) - began;
    } while (!vigil_.quiet() && m.waited < bounds_.patience);
    meters.resume();
    m.looks.insert(m.looks.end(), {last, latest});
    return true;
  }

  // The caches and the clock as the case itself leaves them, after a look at the memory or a sleep.
  void warm_up(std::size_t operations) {
    if (kernel_.whole() || plant_.kind == "skip" || length_ > cold_matters) return;
    std::size_t taken = taken_;
    sample(operations, Clock::get().ticks());
    taken_ = taken;
  }

  // Returns the pace of the slowest core and of the slowest memory node. One thread of each node reads its memory. If
  // there are very many cores, each call reads some of them in turn.
  Pace read_worst_pace() {
    memory_read_ = Clock::get().ticks();
    Pace slowest;
    for (std::size_t i = 0; i < std::min(team_.size(), looked_at); ++i) slowest.join(read_next_rank());
    for (std::size_t i = 0; i < team_.size(); ++i) {
      if (!views_[i].first_of_node) continue;
      Pace pace;
      team_.one(i, [&] { add_memory_pace(pace); });
      slowest.join(plant_memory_pace(pace));
    }
    return slowest;
  }
  // One thread at a time, while the others wait: two that share a core would take each other for a neighbour.
  Pace read_next_rank() {
    Pace pace;
    team_.one(turn_++ % team_.size(), [&] { pace = core_pace(); });
    return plant_core_pace(pace);
  }

  static std::set<int> processors(const Team& team) {
    if (!team.cpus().empty()) return {team.cpus().begin(), team.cpus().end()};
    std::vector<int> allowed = ProcessorSet::of_thread().list();
    return {allowed.begin(), allowed.end()};
  }

  void calibrate(Measurement& m) {
    auto took = [&](std::size_t operations) { return sample(operations, Clock::get().ticks()).seconds; };
    // Where nothing runs there is nothing to calibrate by: the check will say so.
    if (plant_.kind == "skip") return;
    if (!kernel_.whole()) m.operations = calibrated(sampling_.wanted_seconds(), took);
    m.operations = plant_.enough(m.operations);
  }

  struct alignas(128) View {
    std::uint64_t start, end;
    ThreadWatch::Reading before, after;
    double owed = 0;  // operations of plant=work that did not make a whole one yet
    bool first_of_node = false;
  };

  // A team that is not pinned may be anywhere: its first thread reads the memory for all.
  void find_nodes() {
    const std::vector<int>& cpus = team_.cpus();
    std::set<int> known;
    for (std::size_t i = 0; i < views_.size(); ++i)
      views_[i].first_of_node = known.insert(cpus.empty() ? 0 : memory_node(cpus[i % cpus.size()])).second;
  }

  Sample sample(std::size_t operations, std::uint64_t begin) {
    const Clock& clock = Clock::get();
    bool watch_core = clock.seconds(clock.ticks() - core_read_) > core_every;
    if (watch_core) core_read_ = clock.ticks();
    team_.each([&](Worker w) {
      View& view = views_[w.index];
      kernel_.prepare(w, operations);
      view.before = watch_.read();
      team_.barrier().wait();
      view.start = Clock::get().ticks();
      run(w, operations);
      view.end = Clock::get().ticks();
      view.after = watch_.read();
    });
    Sample s{0, 0, 0, 0, 0, {}};
    std::uint64_t first = views_[0].start, last = views_[0].end;
    for (const View& v : views_) {
      first = std::min(first, v.start);
      last = std::max(last, v.end);
      s.waited = std::isnan(v.after.waited) ? unknown : std::max(s.waited, v.after.waited - v.before.waited);
      s.switches += v.after.switches - v.before.switches;
      s.faults += v.after.faults - v.before.faults;
    }
    if (watch_core) s.pace = read_next_rank();
    s.at = Clock::get().seconds(first - begin);
    length_ = s.seconds = Clock::get().seconds(last - first) / (is_slowed() ? plant_.amount : 1.0);
    ++taken_;
    return s;
  }

  // Runs this number of operations beyond the prepared ones.
  void run_operations(Worker w, std::size_t operations) {
    if (!kernel_.whole()) return kernel_.run(w, operations);
    for (std::size_t i = 0; i < operations; ++i) {
      kernel_.prepare(w, 1);
      team_.barrier().wait();
      kernel_.run(w, 1);
    }
  }

  // The kernel, or the kernel with what was planted.
  void run(Worker w, std::size_t operations) {
    if (plant_.kind == "none" || plant_.kind == "wrong") return kernel_.run(w, operations);
    if (plant_.kind == "skip") return;
    std::uint64_t start = Clock::get().ticks();
    kernel_.run(w, kernel_.whole() ? 1 : operations);
    if (kernel_.whole()) run_operations(w, operations - 1);
    if (plant_.kind == "work") run_operations(w, count_planted_operations(w, operations));
    if (plant_.kind == "delay" || (plant_.kind == "turns" && taken_ % 2 == 1)) {
      auto length = static_cast<std::uint64_t>(static_cast<double>(Clock::get().ticks() - start) * (1 + plant_.amount));
      while (Clock::get().ticks() - start < length) relax();
    }
    if (plant_.kind == "faults") cause_page_faults(static_cast<std::size_t>(plant_.amount));
  }
  // Whole operations only: the share that does not make one is carried over to the next sample.
  std::size_t count_planted_operations(Worker w, std::size_t operations) {
    double& owed = views_[w.index].owed;
    owed += plant_.amount * static_cast<double>(operations);
    auto whole = static_cast<std::size_t>(owed);
    owed -= static_cast<double>(whole);
    return whole;
  }
  static void cause_page_faults(std::size_t pages) {
    std::size_t bytes = pages * 4096;
    void* fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return;
    for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(fresh)[at] = 1;
    munmap(fresh, bytes);
  }
  // Returns whether the planted disturbance slows the kernel and the probes now. A lower clock stays from the middle of
  // the samples on; other load comes and goes.
  bool is_slowed() const {
    const std::string& kind = plant_.kind;
    if (kind == "clock") return taken_ >= sampling_.most / 2;
    if (kind == "visits") return static_cast<long>(seconds_of(CLOCK_MONOTONIC_RAW) / 0.03) % 2 == 1;
    return kind == "shared" || kind == "memory";
  }
  Pace plant_core_pace(Pace pace) {
    if (plant_.kind == "unread" && unread_++ % 2 == 1) pace.issued = unknown;
    if (!is_slowed()) return pace;
    if (plant_.kind == "clock") pace.core_clock *= plant_.amount;
    if (plant_.kind == "shared" || plant_.kind == "visits") pace.issued *= plant_.amount;
    return pace;
  }
  Pace plant_memory_pace(Pace pace) const {
    if (plant_.kind == "memory") pace.stream *= plant_.amount, pace.chase /= plant_.amount;
    return pace;
  }

  std::vector<double> clocks() {
    std::vector<double> hertz(team_.size());
    team_.each([&](Worker w) {
      Pace pace;
      pace.core_clock = core_clock(long_chain, 3);
      hertz[w.index] = plant_core_pace(pace).core_clock;
    });
    return hertz;
  }

  static void add_system_times(Measurement& m, const MachineReading& before, const MachineReading& after) {
    double own = after.own - before.own;
    m.elapsed = after.at - before.at;
    m.steal = after.steal - before.steal;
    m.other = std::max(0.0, after.busy - before.busy - own);
    m.machine_other = std::max(0.0, after.busy_all - before.busy_all - own) / m.elapsed;
    m.interrupt_time = after.interrupt_time - before.interrupt_time;
    m.interrupts = after.interrupts - before.interrupts;
    m.throttled = after.throttled - before.throttled;
    m.processors = static_cast<double>(after.steals.size());
    m.most_steal = greatest_difference(before.steals, after.steals);
    m.most_interrupts = greatest_difference(before.interrupt_times, after.interrupt_times);
    m.machine_processors = after.processors;
  }

  ThreadKernel& kernel_;
  Team& team_;
  const Sampling& sampling_;
  const Plant& plant_;
  const Bounds& bounds_;
  Vigil vigil_;
  Lengths lengths_;
  ThreadWatch watch_;
  std::vector<View> views_;
  std::size_t taken_ = 0, turn_ = 0, unread_ = 0;  // turn_: whose core is looked at next
  double length_ = 0;                              // of the last sample, in seconds
  std::uint64_t core_read_ = 0, memory_read_ = 0;  // when their pace was last read
};

}  // namespace

Measurement measure(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant,
                    const Bounds& bounds) {
  return Sampler(kernel, team, sampling, plant, bounds).measure();
}

}  // namespace steelyard
