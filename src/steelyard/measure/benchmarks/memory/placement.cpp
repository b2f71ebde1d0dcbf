// Bandwidth and latency of the memory of one node from the processors of another, and latency while others load the
// memory.
#include <atomic>

#include "chase.h"
#include "vectors.h"

using namespace steelyard;

// The first worker walks along its ring; the others run Triad over vectors of their own, with pauses, until it is done.
struct Loaded {
  static constexpr std::size_t steps = 4096;    // loads in one operation of the walk: about 0.4 ms
  static constexpr std::size_t chunk = 32 * 8;  // the other threads still finish these 32 lines: less than 1 µs
  struct alignas(128) Injector {
    std::size_t at = 0, done = 0;    // in elements
    std::vector<std::size_t> swept;  // elements in each run
  };
  std::size_t elements;  // length of each vector of each worker
  double pause;          // seconds after each chunk
  CacheLineRings rings;
  std::vector<Buffer<double>> a, b, c;
  std::vector<Injector> injectors;
  alignas(128) std::atomic<std::size_t> walks{0};
  std::vector<std::size_t> walked;  // operations in each run

  Loaded(Params& p, Team& team)
      : elements(p.count("elements", 1 << 20) / chunk * chunk),
        pause(p.number("pause", 0)),
        rings(p, team, 1),
        injectors(team.size()) {
    if (team.size() < 2)
      throw CaseError(
          "the kernel 'loaded' needs at least threads=2: one measures the latency, the others load the memory");
    if (elements == 0) throw CaseError(join({"parameter elements must be at least ", chunk}));
    MemoryPolicy policy(p);
    for (auto* vectors : {&a, &b, &c}) *vectors = Buffer<double>::one_each(elements, policy, team, team.size());
    team.each([&](Worker w) {
      if (w.index == 0) return;  // the walker adds no load, so its vectors are never touched
      std::fill_n(a[w.index].data(), elements, 0.0);
      for (auto [vector, value] : {std::pair{&b, 2.0}, std::pair{&c, 5.0}})
        if (!(*vector)[w.index].still_holds(json::number(value)))
          std::fill_n((*vector)[w.index].data(), elements, value);
    });
    for (std::size_t i = 1; i < team.size(); ++i) b[i].promise(json::number(2.0)), c[i].promise(json::number(5.0));
  }
  void run(Worker w, std::size_t operations) {
    if (w.index == 0) {
      rings.walk(0, operations * steps);
      walked.push_back(operations);
      walks.fetch_add(1, std::memory_order_release);
    } else {
      inject_load(w.index);
    }
  }
  void inject_load(std::size_t index) {
    Injector& mine = injectors[index];
    const std::size_t before = mine.done, walk = mine.swept.size();
    auto walking = [&] { return walks.load(std::memory_order_acquire) <= walk; };
    do {
      sweep<Triad>(a[index].data(), b[index].data(), c[index].data(), Vectors::scalar, mine.at, mine.at + chunk);
      mine.at = mine.at + chunk == elements ? 0 : mine.at + chunk;
      mine.done += chunk;
      if (pause > 0)
        for (auto start = Clock::get().ticks();
             walking() && Clock::get().seconds(Clock::get().ticks() - start) < pause;)
          relax();
    } while (walking());
    mine.swept.push_back(mine.done - before);
  }
  // The median over the runs, as for the times: the other threads also went on during interrupted runs.
  double injected() const {
    std::vector<double> each;
    for (std::size_t run = 0; run < walked.size(); ++run) {
      double elements_swept = 0;
      for (std::size_t i = 1; i < injectors.size(); ++i) elements_swept += static_cast<double>(injectors[i].swept[run]);
      if (walked[run] > 0) each.push_back(Triad::bytes * elements_swept / static_cast<double>(walked[run]));
    }
    std::sort(each.begin(), each.end());
    return each.empty() ? 0 : each[each.size() / 2];
  }
  Work work() const { return {{"accesses", steps}, {"bytes", steps * sizeof(Line)}, {"injected_bytes", injected()}}; }
  Check check() {
    for (std::size_t i = 1; i < injectors.size(); ++i) {
      std::size_t swept = std::min(injectors[i].done, elements);
      if (swept == 0) return {false, join({"thread ", i, " loaded nothing"})};
      for (std::size_t k = 0; k < swept; ++k)
        if (a[i][k] != Triad::apply(2.0, 5.0, Vectors::scalar))
          return {false, join({"thread ", i, " did not sweep element ", k})};
    }
    return rings.check();
  }
  void corrupt() { a.back()[chunk / 3] += 1; }  // in the first chunk, which every run uses
};

int main() { return serve({kernel<Sweep<Triad>>("triad"), kernel<PointerChase>("chase"), kernel<Loaded>("loaded")}); }
