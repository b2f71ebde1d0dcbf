// FT on threads that share memory: they divide the planes of z, and then the planes of y.
#include "kernel.h"
#include "proof.h"

using namespace steelyard;
using namespace steelyard::npb;

struct FT {
  static constexpr bool whole = true;
  Problem problem;
  Team& team;
  const FtClass kind;
  MemoryPolicy policy;
  Cube cube;
  Buffer<double> data;
  std::vector<Buffer<double>> works;
  Checksums sums;
  Verification verified{0, {}};
  PhaseTimes phases;

  FT(Params& p, Team& t)
      : problem(p, thread_model().name, "SWABCD", Growth::doubled),
        team(t),
        kind(ft_class(problem)),
        policy(p),
        cube(kind, 1, 0),
        data(require_memory(), policy, t),
        works(Buffer<double>::one_each(cube.work(), policy, t, t.size())),
        phases(problem.phases, {"tables", "start", "lines", "planes"}) {
    sums.reserve(kind.steps());
  }
  // Carries out NPB's untimed start: computes the transformed initial state.
  void prepare(Worker w, std::size_t) {
    begin(w);
    transform_lines(w, [&](std::size_t y, std::size_t x) { cube.forward_lines(y, x, work(w)); });
    if (w.index == 0) sums.clear();
  }
  void run(Worker w, std::size_t) {
    if (w.index == 0) sums.clear(), phases.begin();
    begin(w);
    for (std::size_t step = 1; step <= kind.steps(); ++step) {
      transform_lines(w, [&](std::size_t y, std::size_t x) {
        if (step == 1) cube.forward_lines(y, x, work(w));
        cube.inverse_lines(y, x, work(w));
      });
      if (w.index == 0) phases.end_phase(2), cube.advance();
      auto [first, last] = w.part(cube.layout.nz, 1);
      for (std::size_t z = first; z < last; ++z) cube.transform_plane(z, work(w));
      team.barrier().wait();
      if (w.index == 0) sums.push_back(cube.sum()), phases.end_phase(3);
    }
  }
  Work work() const { return work_of(cube, kind); }
  Check check() {
    verified = kind.published || sums.empty() ? compare_published(kind, sums) : verify_invariants();
    return verified.check();
  }
  void corrupt() {
    cube.make_wrong();
    team.each([&](Worker w) { run(w, 1); });
  }
  std::string details() const { return details_of(problem, verified, phases).str(); }

 private:
  std::size_t require_memory() const {
    problem.require((cube.layout.doubles + team.size() * cube.work()) * sizeof(double));
    return cube.layout.doubles;
  }
  Verification verify_invariants() {
    FtProof proof(kind, cube);
    std::vector<std::vector<double>> parts(team.size());
    team.each([&](Worker w) {
      auto [z0, z1] = w.part(cube.layout.nz, 1);
      auto [y0, y1] = w.part(cube.layout.ny, 1);
      parts[w.index] = proof.sum_planes(z0, z1, y0, y1);
    });
    for (std::size_t t = 1; t < parts.size(); ++t)
      for (std::size_t i = 0; i < parts[t].size(); ++i) parts[0][i] += parts[t][i];
    return proof.verification(sums, parts[0]);
  }
  double* work(Worker w) const { return works[w.index].data(); }
  // Computes the initial state and transforms it along x and y.
  void begin(Worker w) {
    if (w.index == 0) cube.start(data.data()), phases.end_phase(0);
    team.barrier().wait();
    auto [first, last] = w.part(cube.layout.nz, 1);
    for (std::size_t z = first; z < last; ++z) cube.start_plane(z, work(w));
    team.barrier().wait();
    if (w.index == 0) phases.end_phase(1);
  }
  template <class Do>
  void transform_lines(Worker w, Do what) {
    auto [first, last] = w.part(cube.layout.ny, 1);
    for (std::size_t y = first; y < last; ++y)
      for (std::size_t x = 0; x < cube.layout.blocks(); ++x) what(y, x);
    drain_stores();
    team.barrier().wait();
  }
};

int main() { return serve({kernel<FT>("ft")}); }
