// NPB CG on threads that share the matrix and the vectors: each has its own rows.
#include "../npb/threads.h"

#include <array>

#include "iteration.h"
#include "matrix.h"

using namespace steelyard;
using namespace steelyard::npb;
using namespace steelyard::npb::cg;

struct CG {
  static constexpr bool whole = true;
  Team& team;
  Problem problem;
  const Class size;
  MemoryPolicy policy;
  std::uint32_t rows;  // rows, with the padding of the last cache line
  Matrix matrix;
  Buffer<double> x, z, p, q, r;
  ThreadSum total;
  PhaseTimes phases;
  Estimate found;
  Proof proof;

  CG(Params& parameters, Team& t)
      : team(t),
        problem(parameters, thread_model().name, letters, Growth::any),
        size(class_of(problem)),
        policy(memory_policy(parameters)),
        rows(required()),
        matrix(size, Part::whole(size.order), Part::whole(size.order), policy, team),
        x(rows, policy, team),
        z(rows, policy, team),
        p(rows, policy, team),
        q(rows, policy, team),
        r(rows, policy, team),
        total(team),
        phases(phase_times(problem)) {}

  void prepare(Worker w, std::size_t) {
    begin(w);
    Side side(*this, w);
    run_outer_iteration(side, size.shift);
    begin(w);
    if (w.index == 0) found = {};
  }
  void run(Worker w, std::size_t) {
    Side side(*this, w);
    if (w.index == 0) phases.begin();
    Estimate last;
    for (std::size_t i = 0; i < size.iterations; ++i) last = run_outer_iteration(side, size.shift);
    if (w.index == 0) found = last;
  }
  Work work() const {
    return work_of(size, static_cast<double>(matrix.count_entries()), static_cast<double>(matrix.count_places()));
  }
  Check check() {
    if (problem.scale > 1 && found.computed) prove();
    return verify(size, found, proof).check();
  }
  void corrupt() {
    matrix.make_wrong();
    team.each([&](Worker w) {
      prepare(w, 1);
      run(w, 1);
    });
  }
  std::string details() const {
    return details_of(problem, verify(size, found, proof), phases)
        .add("residual", found.residual)
        .add("nonzeros", matrix.count_entries())
        .str();
  }

 private:
  struct Side {
    CG& cg;
    Worker worker;
    OwnRows own;
    Side(CG& c, Worker w) : cg(c), worker(w) {
      auto [first, last] = w.part(c.rows);
      own = {&c.x[first], &c.z[first], &c.p[first], &c.q[first], &c.r[first], last - first};
    }
    double multiply_direction() {
      double dot = cg.matrix.multiply(worker, cg.p.data(), cg.q.data(), cg.p.data());
      end_phase(products);
      return dot;
    }
    void multiply_solution() {
      share_vector();
      cg.matrix.multiply(worker, cg.z.data(), cg.q.data(), cg.z.data());
      end_phase(products);
    }
    template <std::size_t n>
    std::array<double, n> sum(std::array<double, n> mine) {
      return cg.total(worker, mine);
    }
    void share_vector() {
      cg.team.barrier().wait();
      end_phase(exchanges);
    }
    void end_phase(Phase phase) {
      if (worker.index == 0) cg.phases.end_phase(phase);
    }
  };

  void prove() {
    team.each([&](Worker w) {
      Side side(*this, w);
      Proof mine = make_proof(side, size, [&] { begin(w); });
      if (w.index == 0) proof = mine;
    });
  }
  std::uint32_t required() const {
    problem.require(bytes_needed(size, Part::whole(size.order), Part::whole(size.order)));
    return Part::whole(size.order).size();
  }
  void begin(Worker w) {
    auto [first, last] = w.part(rows);
    for (std::size_t i = first; i < last; ++i) x[i] = i < size.order ? 1 : 0;
  }
};

int main() { return serve({kernel<CG>("cg")}); }
