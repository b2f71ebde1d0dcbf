// The sampler of a team: calibration, samples with what disturbed each, plants.
#include "sampling.h"

#include <sys/mman.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "clock.h"
#include "stopping.h"

namespace steelyard {

Sampling::Sampling(Params& p)
    : width(p.number("width", 0.02)),
      seconds(p.number("seconds", 1.0)),
      least(p.count("least", 5)),
      most(p.count("most", 2000)),
      // 0.2 ms: so that what is read between two samples (a few µs) costs little of the whole time.
      sample_seconds(p.number("sample_seconds", 2e-4)) {
  if (!(width > 0) || !(seconds > 0) || least < 1 || most < least)
    throw CaseError("the sampling needs width > 0, seconds > 0 and 1 <= least <= most");
}

Plant::Plant(Params& p) {
  kind = p.word("plant", "none");
  if (std::size_t colon = kind.find(':'); colon != std::string::npos) {
    std::string number = kind.substr(colon + 1);
    kind.resize(colon);
    if (std::size_t second = number.find(':'); kind == "slow" && second != std::string::npos) {
      rank = std::atoi(number.c_str());
      number = number.substr(second + 1);
    }
    if (std::from_chars(number.data(), number.data() + number.size(), amount).ec != std::errc{})
      throw CaseError("plant='" + kind + ":" + number + "' needs a number");
  }
  if (kind != "none" && kind != "skip" && kind != "delay" && kind != "turns" && kind != "work" && kind != "clock" &&
      kind != "faults" && kind != "slow" && kind != "wrong")
    throw CaseError("plant='" + kind +
                    "' is not known; known are none, skip, delay:share, turns:share, work:share, clock:factor, "
                    "faults:pages, slow:rank:share, wrong");
}

namespace {

class Sampler {
 public:
  Sampler(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant)
      : kernel_(kernel), team_(team), sampling_(sampling), plant_(plant), views_(team.size()) {}

  Measurement measure() {
    Measurement m;
    std::set<int> cpus = processors(team_);
    m.oversubscribed = team_.size() > cpus.size();
    calibrate(m);
    taken_ = 0;
    m.clock_before = clocks();
    Counters counters(team_.size());
    Energy energy;
    team_.each([&](Worker w) { counters.open(w.index); });
    MachineReading before(cpus);
    energy.start(), counters.start();
    std::uint64_t begin = Clock::get().ticks();
    std::vector<double> seconds;
    std::size_t next_look = std::max<std::size_t>(sampling_.least, 6);
    while (true) {
      m.samples.push_back(sample(m.operations, begin));
      seconds.push_back(m.samples.back().seconds);
      double elapsed = Clock::get().seconds(Clock::get().ticks() - begin);
      if (seconds.size() >= sampling_.most) break;
      if (elapsed >= sampling_.seconds && seconds.size() >= sampling_.least) break;
      if (elapsed >= 4 * sampling_.seconds) break;  // even `least` must not hold a run up without end
      if (seconds.size() >= next_look && elapsed >= shortest) {
        if (relative_half_width(seconds, sampling_.width) <= sampling_.width) break;
        // statistics/stopping.py says why not at every sample
        next_look = std::max(seconds.size() + 1, seconds.size() * 11 / 10);
      }
    }
    m.counters = counters.stop();
    m.counters.joules = energy.stop();
    if (!std::isnan(m.counters.joules)) m.counters.energy_source = energy.source();
    MachineReading after(cpus);
    m.clock_after = clocks();
    account(m, before, after);
    return m;
  }

 private:
  // seconds, where the case's own limit allows: the kernel's accounts of steal and other load tick in 10 ms, and a
  // processor's clock and its neighbours change over tens of milliseconds; what is sampled for less has seen neither.
  static constexpr double shortest = 0.2;
  static constexpr double longest_interruption = 0.05;                        // seconds: some turns of another process
  static constexpr std::uint64_t long_chain = 100'000, short_chain = 12'800;  // cycles: some 30 µs and 4 µs

  static std::set<int> processors(const Team& team) {
    if (!team.cpus().empty()) return {team.cpus().begin(), team.cpus().end()};
    std::set<int> allowed;
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) allowed.insert(cpu);
    return allowed;
  }

  // Doubles the operations of a sample until the clock's error is below 0.1 % of it and it is not too short to watch.
  void calibrate(Measurement& m) {
    const Clock& clock = Clock::get();
    double wanted = std::max(sampling_.sample_seconds, 1000 * std::max(clock.resolution(), clock.overhead()));
    if (!kernel_.whole()) sample(1, clock.ticks());  // the warm-up: first use of code and data
    // Where nothing runs there is nothing to calibrate by: the check will say so.
    if (plant_.kind == "skip") return;
    while (!kernel_.whole()) {
      double took = std::max(sample(m.operations, clock.ticks()).seconds, 1e-9);
      // An interruption must not pass for a long operation: a length that one could have has to show twice alike.
      for (int again = 0; again < 8 && took >= wanted && took < longest_interruption; ++again) {
        double second = std::max(sample(m.operations, clock.ticks()).seconds, 1e-9), ratio = second / took;
        took = std::min(took, second);
        if (ratio > 0.8 && ratio < 1.25) break;
      }
      if (took >= wanted || m.operations > (std::size_t{1} << 40)) break;
      double factor = std::min(100.0, 1.2 * wanted / took);
      m.operations = std::max(m.operations + 1, static_cast<std::size_t>(static_cast<double>(m.operations) * factor));
    }
    // Extra work comes in whole operations: a sample must hold enough of them for its share to make one.
    if (plant_.kind == "work" && plant_.amount > 0) {
      auto share = static_cast<std::size_t>(std::ceil(1 / plant_.amount));
      m.operations = (m.operations + share - 1) / share * share;
    }
  }

  struct alignas(128) View {
    std::uint64_t start, end;
    ThreadWatch::Reading before, after;
    double core_clock, issued;
    double owed = 0;  // operations of plant=work that did not make a whole one yet
  };

  Sample sample(std::size_t operations, std::uint64_t begin) {
    // Two tries each, since the first finds its code in no cache: some 12 µs, 0.6 % of the time if read every 2 ms.
    const Clock& clock = Clock::get();
    bool watch_clock = clock.seconds(clock.ticks() - clock_read_) > 2e-3;
    if (watch_clock) clock_read_ = clock.ticks();
    team_.each([&](Worker w) {
      View& view = views_[w.index];
      kernel_.prepare(w, operations);
      view.before = watch_.read();
      team_.barrier().wait();
      view.start = Clock::get().ticks();
      run(w, operations);
      view.end = Clock::get().ticks();
      view.after = watch_.read();
      view.core_clock = watch_clock ? planted_clock(core_clock(short_chain, 2)) : unknown;
      view.issued = watch_clock ? issue_rate() / view.core_clock : unknown;
    });
    Sample s{Clock::get().seconds(views_[0].start - begin), 0, 0, unknown, unknown, 0, 0};
    std::uint64_t first = views_[0].start, last = views_[0].end;
    for (const View& v : views_) {
      first = std::min(first, v.start);
      last = std::max(last, v.end);
      s.waited = std::isnan(v.after.waited) ? unknown : std::max(s.waited, v.after.waited - v.before.waited);
      s.switches += v.after.switches - v.before.switches;
      s.faults += v.after.faults - v.before.faults;
      if (!(v.core_clock >= s.core_clock)) s.core_clock = v.core_clock;  // also replaces an unknown
      if (!(v.issued >= s.issued)) s.issued = v.issued;
    }
    s.seconds = Clock::get().seconds(last - first) / (plant_.kind == "clock" && dropped() ? plant_.amount : 1.0);
    ++taken_;
    return s;
  }

  // So many operations more than those that were prepared.
  void more(Worker w, std::size_t operations) {
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
    if (kernel_.whole()) more(w, operations - 1);
    if (plant_.kind == "work") more(w, extra(w, operations));
    if (plant_.kind == "delay" || (plant_.kind == "turns" && taken_ % 2 == 1)) {
      auto length = static_cast<std::uint64_t>(static_cast<double>(Clock::get().ticks() - start) * (1 + plant_.amount));
      while (Clock::get().ticks() - start < length) relax();
    }
    if (plant_.kind == "faults") fault(static_cast<std::size_t>(plant_.amount));
  }
  // Whole operations only: the share that does not make one is carried over to the next sample.
  std::size_t extra(Worker w, std::size_t operations) {
    double& owed = views_[w.index].owed;
    owed += plant_.amount * static_cast<double>(operations);
    auto whole = static_cast<std::size_t>(owed);
    owed -= static_cast<double>(whole);
    return whole;
  }
  static void fault(std::size_t pages) {
    std::size_t bytes = pages * 4096;
    void* fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return;
    for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(fresh)[at] = 1;
    munmap(fresh, bytes);
  }
  // A clock that drops is emulated where it shows: kernel and chain alike take longer from the middle of the samples
  // on.
  bool dropped() const { return taken_ >= sampling_.most / 2; }
  double planted_clock(double hertz) const {
    return plant_.kind == "clock" && dropped() ? hertz * plant_.amount : hertz;
  }

  std::vector<double> clocks() {
    std::vector<double> hertz(team_.size());
    team_.each([&](Worker w) { hertz[w.index] = planted_clock(core_clock(long_chain, 3)); });
    return hertz;
  }

  static void account(Measurement& m, const MachineReading& before, const MachineReading& after) {
    double own = after.own - before.own;
    m.elapsed = after.at - before.at;
    m.steal = after.steal - before.steal;
    m.other = std::max(0.0, after.busy - before.busy - own);
    m.machine_other = std::max(0.0, after.busy_all - before.busy_all - own) / m.elapsed;
    m.interrupt_time = after.interrupt_time - before.interrupt_time;
    m.interrupts = after.interrupts - before.interrupts;
    m.throttled = after.throttled - before.throttled;
  }

  ThreadKernel& kernel_;
  Team& team_;
  const Sampling& sampling_;
  const Plant& plant_;
  ThreadWatch watch_;
  std::vector<View> views_;
  std::size_t taken_ = 0;
  std::uint64_t clock_read_ = 0;  // when the core clock was last read
};

}  // namespace

Measurement measure(ThreadKernel& kernel, Team& team, const Sampling& sampling, const Plant& plant) {
  return Sampler(kernel, team, sampling, plant).measure();
}

}  // namespace steelyard
