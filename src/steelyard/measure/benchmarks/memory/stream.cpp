// Long vectors through the memory: Copy, Scale, Add, Triad, and the rotation of all four that STREAM validates.
#include <array>
#include <cstdint>

#include "vectors.h"

using namespace steelyard;

// c = a, b = s·c, c = a + b, a = b + s·c. Each rotation multiplies a by s·(2 + s); two scalars with reciprocal factors
// take turns, so that no number of rotations overflows (STREAM's 3 does after 262), and yet every one shows in the
// result.
struct Rotation {
  // Clock ticks of Copy and Triad in the last rotations. An evaluation takes the fastest Copy of 25 rotations.
  static constexpr std::size_t last = 25;
  struct alignas(64) Worked {
    std::size_t rotations = 0;
    std::array<std::uint64_t, last> copy{}, triad{};
  };
  Vectors v;
  std::vector<Worked> workers;
  static double scalar(std::size_t turn) { return turn % 2 == 0 ? 0.42 : std::sqrt(1 + 1 / (0.42 * 2.42)) - 1; }

  Rotation(Params& p, Team& team) : v(p, team), workers(team.size()) {
    v.a.fill(team, 2, false);
    v.b.fill(team, 2, false);
    v.c.fill(team, 0, false);
  }
  void run(Worker w, std::size_t operations) {
    double *a = v.a.data(), *b = v.b.data(), *c = v.c.data();
    Worked& mine = workers[w.index];
    const Clock& clock = Clock::get();
    for (std::size_t i = 0; i < operations; ++i) {
      std::size_t turn = mine.rotations++;
      double s = scalar(turn);
      std::uint64_t begin = clock.ticks();
      v.apply<Copy>(w, c, a, a, s);
      mine.copy[turn % last] = clock.ticks() - begin;
      v.apply<Scale>(w, b, c, c, s);
      v.apply<Add>(w, c, a, b, s);
      begin = clock.ticks();
      v.apply<Triad>(w, a, b, c, s);
      clobber();
      mine.triad[turn % last] = clock.ticks() - begin;
    }
  }
  Work work() const { return v.work(Copy::bytes + Scale::bytes + Add::bytes + Triad::bytes, 4, 4); }
  // Seconds of the slowest worker in each of the last rotations.
  std::string details() const {
    std::vector<double> copy(std::min(last, workers[0].rotations)), triad(copy.size());
    for (const Worked& worked : workers)
      for (std::size_t i = 0; i < copy.size(); ++i) {
        copy[i] = std::max(copy[i], Clock::get().seconds(worked.copy[i]));
        triad[i] = std::max(triad[i], Clock::get().seconds(worked.triad[i]));
      }
    return json::Object().add("copy", json::list(copy)).add("triad", json::list(triad)).str();
  }
  Check check() {
    double a = 2, b = 2, c = 0;
    for (std::size_t turn = 0; turn < workers[0].rotations; ++turn) {
      double s = scalar(turn);
      c = a, b = s * c, c = a + b, a = b + s * c;
    }
    if (c == 0) return {false, "no rotation ran"};
    return Vectors::validate(std::max({Vectors::error(v.a, a), Vectors::error(v.b, b), Vectors::error(v.c, c)}));
  }
  void corrupt() { v.corrupt(); }
};

int main() {
  return serve({kernel<Sweep<Triad>>("triad"), kernel<Sweep<Copy>>("copy"), kernel<Sweep<Scale>>("scale"),
                kernel<Sweep<Add>>("add"), kernel<Rotation>("rotation")});
}
