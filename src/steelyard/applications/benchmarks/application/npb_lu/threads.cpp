// NPB LU on threads: each thread has a block of the grid, and flags in memory show its neighbours its progress.
#include "../npb/threads.h"

#include <array>
#include <atomic>
#include <memory>

#include "kernel.h"
#include "solver.h"
#include "work.h"

using namespace steelyard;
using namespace steelyard::npb;
using namespace steelyard::npb::lu;

namespace {

// Messages from one thread to one other, in a ring.
class Mailbox {
 public:
  explicit Mailbox(std::size_t length) : length_(length), slots_(ring * length) {}

  double* reserve() {
    spin_until([&] { return sent_own_ - taken_.load(std::memory_order_acquire) < ring; });
    return slot(sent_own_);
  }
  void send() { sent_.store(++sent_own_, std::memory_order_release); }
  const double* receive() {
    spin_until([&] { return sent_.load(std::memory_order_acquire) > taken_own_; });
    return slot(taken_own_);
  }
  void release() { taken_.store(++taken_own_, std::memory_order_release); }

 private:
  // A thread may be so many planes ahead of its neighbour. With few, threads that share a core would switch too often.
  static constexpr std::size_t ring = 32;
  double* slot(std::size_t message) { return slots_.data() + message % ring * length_; }

  const std::size_t length_;
  std::vector<double> slots_;
  alignas(128) std::atomic<std::size_t> sent_{0};
  std::size_t sent_own_ = 0;  // the sender's
  alignas(128) std::atomic<std::size_t> taken_{0};
  std::size_t taken_own_ = 0;  // the receiver's
};

class ThreadLinks {
 public:
  ThreadLinks(const Layout& at, Fives* u, Worker worker, ThreadSum& sum) : at_(at), u_(u), worker_(worker), sum_(sum) {
    for (Side side : {west, east, south, north}) inbox_[side] = std::make_unique<Mailbox>(message_size(at, side));
  }
  void connect(Side side, ThreadLinks& neighbour) { neighbours_[side] = &neighbour; }

  void expect(Side, std::size_t) {}
  const double* receive(Side from) { return inbox_[from]->receive(); }
  void release(Side from) { inbox_[from]->release(); }
  double* reserve(Side to) { return outbox(to).reserve(); }
  void send(Side to, std::size_t) { outbox(to).send(); }

  void publish_border() { shared_.store(++shared_own_, std::memory_order_release); }
  // Copies the neighbours' points at the border. A neighbour changes them only in its next sweep, which needs this
  // thread.
  void fetch_border(int k) {
    for (Side side : {west, east, south, north}) {
      ThreadLinks* other = neighbours_[side];
      if (!other) continue;
      spin_until([&] { return other->shared_.load(std::memory_order_acquire) >= shared_own_; });
      if (side == west || side == east)
        for (int j = 1; j <= at_.ny; ++j)
          for (int o = 0; o < 2; ++o)
            side == west ? copy(*other, -o, j, other->at_.nx - o, j, k) : copy(*other, at_.nx + 1 + o, j, 1 + o, j, k);
      else
        for (int i = 1; i <= at_.nx; ++i)
          for (int o = 0; o < 2; ++o)
            side == south ? copy(*other, i, -o, i, other->at_.ny - o, k) : copy(*other, i, at_.ny + 1 + o, i, 1 + o, k);
    }
  }
  State sum(const State& mine) { return sum_(worker_, mine); }

 private:
  Mailbox& outbox(Side to) {
    constexpr Side opposite[] = {east, west, north, south};
    return *neighbours_[to]->inbox_[opposite[to]];
  }
  void copy(const ThreadLinks& other, int i, int j, int other_i, int other_j, int k) {
    auto [to, lane] = at_.point(i, j, k);
    auto [from, other_lane] = other.at_.point(other_i, other_j, k);
    for (int m = 0; m < 5; ++m) u_[to].c[m][lane] = other.u_[from].c[m][other_lane];
  }

  const Layout at_;
  Fives* u_;
  const Worker worker_;
  ThreadSum& sum_;
  std::array<std::unique_ptr<Mailbox>, 4> inbox_;
  std::array<ThreadLinks*, 4> neighbours_{};
  alignas(128) std::atomic<std::size_t> shared_{0};
  std::size_t shared_own_ = 0;
};

struct LU {
  static constexpr bool whole = true;
  Problem problem;
  const Class size;
  MemoryPolicy policy;
  Team& team;
  Decomposition decomposition;
  Solution solution;
  ThreadSum sum;
  struct Block {
    Layout layout;
    Arrays arrays;
    ThreadLinks links;
    Solver<ThreadLinks> solver;
    Block(LU& lu, std::size_t index)
        : layout(lu.decomposition, lu.size.n, static_cast<int>(index)),
          arrays(layout, lu.policy, lu.team, index),
          links(layout, arrays.u.data(), {index, lu.team.size()}, lu.sum),
          solver(lu.size, layout, arrays, links, lu.problem.phases && index == 0) {}
  };
  std::vector<std::unique_ptr<Block>> blocks;
  RunResults outcome;

  LU(Params& p, Team& t)
      : problem(p, thread_model().name, known_classes, Growth::any),
        size(class_of(problem)),
        policy(p),
        team(t),
        decomposition(Decomposition::require(size.n, team.size(), "threads")),
        solution(size.n),
        sum(team) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < team.size(); ++b)
      bytes += Arrays::bytes(Layout(decomposition, size.n, static_cast<int>(b)));
    problem.require(bytes);
    for (std::size_t b = 0; b < team.size(); ++b) blocks.push_back(std::make_unique<Block>(*this, b));
    for (std::size_t b = 0; b < team.size(); ++b) connect_neighbours(b);
    team.each([&](Worker w) { solver(w).fill_memory(solution); });
  }
  void connect_neighbours(std::size_t b) {
    Block& own = *blocks[b];
    auto columns = static_cast<std::size_t>(decomposition.columns);
    if (own.layout.west) own.links.connect(west, blocks[b - 1]->links);
    if (own.layout.east) own.links.connect(east, blocks[b + 1]->links);
    if (own.layout.south) own.links.connect(south, blocks[b - columns]->links);
    if (own.layout.north) own.links.connect(north, blocks[b + columns]->links);
  }
  Solver<ThreadLinks>& solver(Worker w) { return blocks[w.index]->solver; }

  // Carries out NPB's untimed start: one step, then all values again, and the first residual.
  void prepare(Worker w, std::size_t) {
    solver(w).set_initial_state(solution);
    solver(w).compute_first_residual();
    team.barrier().wait();
    solver(w).run_steps(1);
    team.barrier().wait();
    solver(w).set_initial_state(solution);
    solver(w).compute_first_residual();
  }
  void run(Worker w, std::size_t) {
    solver(w).run_steps(size.steps);
    State norms = solver(w).compute_norms();
    if (w.index == 0) outcome.residual = norms, outcome.computed = true, outcome.proved = false;
  }
  Work work() const { return work_of(size); }

  // Computes the proof of the result. Afterwards the state is one time step further.
  void prove() {
    std::vector<State> residuals(team.size());
    std::vector<std::array<double, 2>> defects(team.size());
    team.each([&](Worker w) {
      residuals[w.index] = solver(w).squared_residuals(solution);
      team.barrier().wait();
      defects[w.index] = solver(w).squared_defects(solution);
    });
    State sums{};
    double left = 0, given = 0;
    for (std::size_t b = 0; b < team.size(); ++b) {
      for (std::size_t m = 0; m < 5; ++m) sums[m] += residuals[b][m];
      left += defects[b][0], given += defects[b][1];
    }
    outcome.by_points = blocks[0]->solver.take_root_means(sums);
    outcome.left = std::sqrt(left / given), outcome.proved = true;
  }
  Verification verification() {
    State squares{};
    outcome.surface = 0;
    for (auto& block : blocks) {
      State mine = block->solver.squared_errors(solution);
      for (std::size_t m = 0; m < 5; ++m) squares[m] += mine[m];
      outcome.surface += block->solver.integrate_pressure();
    }
    outcome.error = blocks[0]->solver.take_root_means(squares);
    if (!size.published && outcome.computed && !outcome.proved) prove();
    return verified = verification_of(size, outcome);
  }
  Check check() { return verification().check(); }
  // Makes the forcing wrong at one point.
  void corrupt() {
    auto spoil = [&](double factor) {
      for (auto& block : blocks) block->solver.spoil_forcing(size.n / 2, size.n / 2, size.n / 2, factor);
    };
    spoil(1.01);
    team.each([&](Worker w) {
      prepare(w, 1);
      team.barrier().wait();
      run(w, 1);
    });
    spoil(1 / 1.01);
  }
  std::string details() const {
    return details_of(problem, verified, blocks[0]->solver.phases()).add("blocks", blocks_json(decomposition)).str();
  }
  Verification verified{0, {}};
};

}  // namespace

int main() { return serve({kernel<LU>("lu")}); }
