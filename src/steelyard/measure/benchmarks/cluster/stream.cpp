// The triad of STREAM on all ranks at once: each its own vectors, all from a common start.
#include "../memory/vectors.h"
#include "rank_kernel.h"

using namespace steelyard;

struct AllTriad {
  Vectors v;
  std::size_t ranks, done = 0;

  AllTriad(Params& p, Ranks& all) : v(p, all.team()), ranks(static_cast<std::size_t>(all.size())) {
    v.a.fill(all.team(), 0, false);
    v.b.fill(all.team(), 2, true);
    v.c.fill(all.team(), 5, true);
  }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      v.apply<Triad>(Worker{0, 1}, v.a.data(), v.b.data(), v.c.data(), v.scalar);
      clobber();
    }
    done += operations;
  }
  // Work of all ranks together.
  Work work() const {
    Work of_all = v.work(Triad::bytes, Triad::flops, 1);
    for (auto& [what, amount] : of_all) amount *= static_cast<double>(ranks);
    return of_all;
  }
  Check check() {
    if (done == 0) return {false, "nothing was computed"};
    return Vectors::validate(Vectors::error(v.a, Triad::apply(2.0, 5.0, v.scalar)));
  }
  void corrupt() { v.corrupt(); }
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<AllTriad>("triad")}); }
