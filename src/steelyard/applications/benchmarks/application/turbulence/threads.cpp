// Turbulence on threads that share all columns and all planes.
#include "simulation.h"

using namespace steelyard;
using namespace steelyard::turbulence;

// A single process finds its planes where its columns stored them.
struct NoLink {
  void to_planes(Flow&) {}
  void to_columns(Flow&) {}
  template <class Values>
  void sum(const Values&) {}
};

struct Turbulence {
  static constexpr bool whole = true;
  Request request;
  NoLink link;
  Simulation<NoLink> simulation;

  Turbulence(Params& p, Team& team) : request(require_memory(p, team)), simulation(request, 1, 0, team, link) {}
  void prepare(Worker w, std::size_t) { simulation.prepare(w); }
  void run(Worker w, std::size_t) { simulation.run(w); }
  Work work() const { return simulation.work(); }
  Check check() { return simulation.check(); }
  void corrupt() { simulation.corrupt(); }
  std::string details() const { return simulation.details(); }

 private:
  static Request require_memory(Params& p, Team& team) {
    Request request(p, thread_model().name);
    request.require(1, 0, 1, team.size());
    return request;
  }
};

int main() { return serve({kernel<Turbulence>("flow")}); }
