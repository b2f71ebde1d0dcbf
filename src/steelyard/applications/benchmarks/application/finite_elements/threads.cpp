// Finite elements by threads that share one mesh: each has its own lines of nodes.
#include "../npb/threads.h"

#include "model.h"

using namespace steelyard;
using namespace steelyard::finite_elements;

class ThreadLink {
 public:
  explicit ThreadLink(Team& team) : team_(team), total_(team) {}
  template <class Call>
  void each(const Call& call) {
    team_.each(call);
  }
  void meet(Worker) { team_.barrier().wait(); }
  void exchange(Worker w, double*) { meet(w); }
  template <std::size_t n>
  std::array<double, n> sum(Worker w, std::array<double, n> mine) {
    return total_(w, mine);
  }
  void combine_proofs(Proof&) {}

 private:
  Team& team_;
  npb::ThreadSum total_;
};

template <Stage stage>
struct FiniteElements {
  static constexpr bool whole = true;
  Request request;
  ThreadLink link;
  Model<ThreadLink, stage> model;

  FiniteElements(Params& p, Team& team)
      : request(p, thread_model().name), link(team), model(request, require_memory(), team, link) {}
  void prepare(Worker w, std::size_t) { model.prepare(w); }
  void run(Worker w, std::size_t) { model.run(w); }
  Work work() const { return model.work(); }
  Check check() { return model.check(); }
  void corrupt() { model.corrupt(); }
  std::string details() const { return model.details(); }

 private:
  Part require_memory() const {
    Part part(request.elements, {1, 1, 1}, {0, 0, 0});
    request.require(part, 1);
    return part;
  }
};

int main() {
  return serve({kernel<FiniteElements<Stage::program>>("program"), kernel<FiniteElements<Stage::assembly>>("assembly"),
                kernel<FiniteElements<Stage::solver>>("solver")});
}
