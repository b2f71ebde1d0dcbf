// Molecular dynamics on threads: the box is one block, and all threads share its particles.
#include "dynamics.h"

using namespace steelyard;
using namespace steelyard::md;

// A single process is its own neighbour in every direction.
struct NoLink {
  std::array<std::size_t, 2> counts(int, std::array<std::size_t, 2> out) { return {out[1], out[0]}; }
  void exchange_mail(int, Mail&) {}
  void sum(double*, std::size_t) {}
  double greatest(double value) { return value; }
};

struct MolecularDynamics {
  static constexpr bool whole = true;
  Problem problem;
  MemoryPolicy policy;
  NoLink link;
  Dynamics<NoLink> dynamics;

  MolecularDynamics(Params& p, Team& team)
      : problem(p, thread_model().name), policy(p), dynamics(problem, policy, link, team, 1, 0, 1) {}
  void prepare(Worker w, std::size_t) { dynamics.prepare(w); }
  void run(Worker w, std::size_t) { dynamics.run(w); }
  Work work() const { return dynamics.work(); }
  Check check() { return dynamics.check(); }
  void corrupt() { dynamics.corrupt(); }
  std::string details() const { return dynamics.details(); }
};

int main() { return serve({kernel<MolecularDynamics>("dynamics")}); }
