// Long vectors through the memory: Copy, Scale, Add, Triad, and the rotation of all four that STREAM validates.
#include "vectors.h"

using namespace steelyard;

// c = a, b = s·c, c = a + b, a = b + s·c. Each rotation multiplies a by s·(2 + s); two scalars with reciprocal factors
// take turns, so that no number of rotations overflows (STREAM's 3 does after 262), and yet every one shows in the
// result.
struct Rotation {
  Vectors v;
  std::vector<std::size_t> rotations;  // one count a worker
  struct Pass {
    double copy, triad;  // seconds
  };
  std::vector<std::vector<Pass>> passes;  // of each worker, rotation by rotation
  static double scalar(std::size_t turn) { return turn % 2 == 0 ? 0.42 : std::sqrt(1 + 1 / (0.42 * 2.42)) - 1; }

  Rotation(Params& p, Team& team) : v(p, team), rotations(team.size(), 0), passes(team.size()) {
    v.a.fill(team, 2, false);
    v.b.fill(team, 2, false);
    v.c.fill(team, 0, false);
  }
  void run(Worker w, std::size_t operations) {
    double *a = v.a.data(), *b = v.b.data(), *c = v.c.data();
    for (std::size_t i = 0; i < operations; ++i) {
      double s = scalar(rotations[w.index]++), begin = seconds_of(CLOCK_MONOTONIC_RAW);
      v.apply<Copy>(w, c, a, a, s);
      double copied = seconds_of(CLOCK_MONOTONIC_RAW) - begin;
      v.apply<Scale>(w, b, c, c, s);
      v.apply<Add>(w, c, a, b, s);
      begin = seconds_of(CLOCK_MONOTONIC_RAW);
      v.apply<Triad>(w, a, b, c, s);
      clobber();
      passes[w.index].push_back({copied, seconds_of(CLOCK_MONOTONIC_RAW) - begin});
    }
  }
  Work work() const { return v.work(Copy::bytes + Scale::bytes + Add::bytes + Triad::bytes, 4, 4); }
  // Of each rotation the slowest worker's Copy and Triad.
  std::string details() const {
    std::vector<double> copy(rotations[0], 0), triad(rotations[0], 0);
    for (const auto& of_one : passes)
      for (std::size_t i = 0; i < of_one.size() && i < copy.size(); ++i)
        copy[i] = std::max(copy[i], of_one[i].copy), triad[i] = std::max(triad[i], of_one[i].triad);
    return json::Object().add("copy", json::list(copy)).add("triad", json::list(triad)).str();
  }
  Check check() {
    double a = 2, b = 2, c = 0;
    for (std::size_t turn = 0; turn < rotations[0]; ++turn) {
      double s = scalar(turn);
      c = a, b = s * c, c = a + b, a = b + s * c;
    }
    if (c == 0) return {false, "no rotation ran"};
    return Vectors::validate(std::max({Vectors::error(v.a, a), Vectors::error(v.b, b), Vectors::error(v.c, c)}));
  }
};

int main() {
  return serve({kernel<Sweep<Triad>>("triad"), kernel<Sweep<Copy>>("copy"), kernel<Sweep<Scale>>("scale"),
                kernel<Sweep<Add>>("add"), kernel<Rotation>("rotation")});
}
