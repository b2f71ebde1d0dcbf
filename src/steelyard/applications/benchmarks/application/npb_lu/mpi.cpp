// NPB LU on MPI ranks: each rank has a block of the grid. A neighbour gets a small message for each plane and sweep,
// and the borders once per step.
#include <array>
#include <memory>

#include "rank_kernel.h"
#include "solver.h"
#include "work.h"

using namespace steelyard;
using namespace steelyard::npb;
using namespace steelyard::npb::lu;

namespace {

enum Tag { sweep_tag = 1, border_tag = 2 };

// The messages of the sweeps in one direction between two ranks; a few are on their way at the same time.
class Channel {
 public:
  Channel(MPI_Comm comm, int peer, std::size_t length)
      : comm_(comm), peer_(peer), length_(static_cast<int>(length)), slots_(ring * length) {
    requests_.fill(MPI_REQUEST_NULL);
  }
  ~Channel() { complete(static_cast<int>(ring), requests_.data()); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  double* reserve() {
    complete(1, &requests_[at_ % ring]);
    return slot(at_);
  }
  void send(std::size_t length) {
    MPI_Isend(slot(at_), static_cast<int>(length), MPI_DOUBLE, peer_, sweep_tag, comm_, &requests_[at_ % ring]);
    ++at_;
  }
  void expect(std::size_t messages) {
    end_ = at_ + messages;
    for (posted_ = at_; posted_ < std::min(end_, at_ + ring);) post();
  }
  const double* receive() {
    complete(1, &requests_[at_ % ring]);
    return slot(at_);
  }
  void release() {
    ++at_;
    if (posted_ < end_) post();
  }

 private:
  static constexpr std::size_t ring = 16;
  double* slot(std::size_t message) { return slots_.data() + message % ring * static_cast<std::size_t>(length_); }
  void post() {
    MPI_Irecv(slot(posted_), length_, MPI_DOUBLE, peer_, sweep_tag, comm_, &requests_[posted_ % ring]);
    ++posted_;
  }

  MPI_Comm comm_;
  int peer_, length_;
  std::vector<double> slots_;
  std::array<MPI_Request, ring> requests_;
  std::size_t at_ = 0, posted_ = 0, end_ = 0;
};

// The messages between a neighbour and this rank: shares in sweeps and, once per step, two layers of points.
struct Neighbour {
  int rank;
  Channel in, out;
  std::vector<double> border_in, border_out;
  Neighbour(MPI_Comm comm, int peer, std::size_t message, std::size_t border)
      : rank(peer), in(comm, peer, message), out(comm, peer, message), border_in(border), border_out(border) {}
};

class RankLinks {
 public:
  RankLinks(MPI_Comm comm, const Layout& at, int columns, Fives* u) : comm_(comm), at_(at), u_(u) {
    int own = at.row * columns + at.column;
    if (at.west) connect(west, own - 1);
    if (at.east) connect(east, own + 1);
    if (at.south) connect(south, own - columns);
    if (at.north) connect(north, own + columns);
    requests_.fill(MPI_REQUEST_NULL);
  }
  RankLinks(const RankLinks&) = delete;
  RankLinks& operator=(const RankLinks&) = delete;

  void expect(Side from, std::size_t messages) { neighbours_[from]->in.expect(messages); }
  const double* receive(Side from) { return neighbours_[from]->in.receive(); }
  void release(Side from) { neighbours_[from]->in.release(); }
  double* reserve(Side to) { return neighbours_[to]->out.reserve(); }
  void send(Side to, std::size_t length) { neighbours_[to]->out.send(length); }

  void publish_border() {
    for (Side side : {west, east, south, north}) {
      if (!neighbours_[side]) continue;
      Neighbour& n = *neighbours_[side];
      MPI_Irecv(n.border_in.data(), static_cast<int>(n.border_in.size()), MPI_DOUBLE, n.rank, border_tag, comm_,
                &requests_[2 * side]);
      for (int k = 1; k <= at_.nz; ++k) copy_layers(side, true, k);
      MPI_Isend(n.border_out.data(), static_cast<int>(n.border_out.size()), MPI_DOUBLE, n.rank, border_tag, comm_,
                &requests_[2 * side + 1]);
    }
  }
  void fetch_border(int k) {
    if (k == 1) complete(static_cast<int>(requests_.size()), requests_.data());
    for (Side side : {west, east, south, north})
      if (neighbours_[side]) copy_layers(side, false, k);
  }
  State sum(const State& mine) {
    State out = mine;
    reduce(mine.data(), out.data(), 5, comm_);
    return out;
  }

 private:
  void connect(Side side, int rank) {
    neighbours_[side] = std::make_unique<Neighbour>(comm_, rank, message_size(at_, side), 10ul * length(side) * at_.nz);
  }
  std::size_t length(Side side) const {
    return static_cast<std::size_t>(side == west || side == east ? at_.ny : at_.nx);
  }
  // Copies two layers of plane k: this block's outermost layers into the message, or the neighbour's layers from it.
  void copy_layers(Side side, bool out, int k) {
    Neighbour& n = *neighbours_[side];
    double* message = (out ? n.border_out : n.border_in).data() + 10 * length(side) * static_cast<std::size_t>(k - 1);
    const bool along_y = side == west || side == east;
    const int points = along_y ? at_.nx : at_.ny;
    for (int layer = 0; layer < 2; ++layer) {
      // Both sides count from the lower to the upper layer.
      int place = side == west || side == south ? (out ? 1 : -1) + layer : (out ? points - 1 : points + 1) + layer;
      for (int other = 1; other <= static_cast<int>(length(side)); ++other) {
        auto [vector, lane] = along_y ? at_.point(place, other, k) : at_.point(other, place, k);
        for (int m = 0; m < 5; ++m, ++message) {
          if (out)
            *message = u_[vector].c[m][lane];
          else
            u_[vector].c[m][lane] = *message;
        }
      }
    }
  }

  MPI_Comm comm_;
  const Layout at_;
  Fives* u_;
  std::array<std::unique_ptr<Neighbour>, 4> neighbours_;
  std::array<MPI_Request, 8> requests_;
};

struct LU {
  static constexpr bool whole = true;
  Problem problem;
  const Class size;
  MemoryPolicy policy;
  Ranks& ranks;
  Decomposition decomposition;
  Layout layout;
  Solution solution;
  Arrays arrays;
  RankLinks links;
  Solver<RankLinks> solver;
  RunResults outcome;
  Verification verified{0, {}};

  LU(Params& p, Ranks& r)
      : problem(p, "mpi", known_classes, Growth::any),
        size(class_of(problem)),
        policy(p),
        ranks(r),
        decomposition(Decomposition::require(size.n, static_cast<std::size_t>(ranks.size()), "ranks")),
        layout(require_memory(ranks.rank())),
        solution(size.n),
        arrays(layout, policy, ranks.team(), 0),
        links(ranks.comm(), layout, decomposition.columns, arrays.u.data()),
        solver(size, layout, arrays, links, problem.phases) {
    solver.fill_memory(solution);
  }
  // Returns the layout of a rank, after the check that this host has room for all its ranks.
  Layout require_memory(int rank) const {
    std::size_t bytes = 0;
    for (int other = 0; other < ranks.size(); ++other)
      if (ranks.same_host(other, rank)) bytes += Arrays::bytes(Layout(decomposition, size.n, other));
    problem.require(bytes);
    return Layout(decomposition, size.n, rank);
  }

  // Carries out NPB's untimed start: one step, then all values again, and the first residual.
  void prepare(std::size_t) {
    solver.set_initial_state(solution);
    solver.compute_first_residual();
    solver.run_steps(1);
    solver.set_initial_state(solution);
    solver.compute_first_residual();
  }
  void run(std::size_t) {
    solver.run_steps(size.steps);
    outcome.residual = solver.compute_norms();
    outcome.computed = true, outcome.proved = false;
  }
  Work work() const { return work_of(size); }

  Check check() {
    outcome.error = solver.take_root_means(links.sum(solver.squared_errors(solution)));
    outcome.surface = links.sum({solver.integrate_pressure()})[0];
    if (!size.published && outcome.computed && !outcome.proved) prove();
    verified = verification_of(size, outcome);
    return verified.check();
  }
  // Computes the proof of the result. Afterwards the state is one time step further.
  void prove() {
    outcome.by_points = solver.take_root_means(links.sum(solver.squared_residuals(solution)));
    auto [left, given] = solver.squared_defects(solution);
    State sums = links.sum({left, given});
    outcome.left = std::sqrt(sums[0] / sums[1]), outcome.proved = true;
  }
  // Makes the forcing wrong at one point.
  void corrupt() {
    const int middle = size.n / 2;
    solver.spoil_forcing(middle, middle, middle, 1.01);
    prepare(1);
    run(1);
    solver.spoil_forcing(middle, middle, middle, 1 / 1.01);
  }
  std::string details() const {
    return details_of(problem, verified, solver.phases()).add("blocks", blocks_json(decomposition)).str();
  }
};

}  // namespace

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<LU>("lu")}); }
