// NPB CG on many ranks with any kind of communication: a `Link` swaps parts of the arenas of two ranks.
#pragma once
#include <sched.h>

#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "../../../../measure/benchmarks/network/windows.h"
#include "grid.h"
#include "iteration.h"
#include "matrix.h"

namespace steelyard::npb::cg {

// Where everything that ranks exchange lies, in doubles from the begin of an arena that is laid out alike in all ranks.
struct Arena {
  static constexpr std::size_t line = 8, turns = 2;  // doubles of a line; sums take turns
  std::size_t vector, inbox, sums, size;             // vector: the gathered vector; inbox: received numbers for sums
  std::size_t piece, stages;                         // piece: elements; stages: those of a sum

  Arena(const Grid& grid, std::uint32_t order)
      : piece(grid.columns(order).length()), stages(static_cast<std::size_t>(std::countr_zero(grid.ranks))) {
    vector = 0;
    inbox = vector + grid.high * piece;
    sums = inbox + grid.wide * piece;
    size = sums + (2 * turns * stages + 1) * line;
  }
  // Return the offsets of the data that a stage of a sum sends and receives.
  std::size_t outgoing(std::size_t turn, std::size_t stage) const { return sums + 2 * (turn * stages + stage) * line; }
  std::size_t incoming(std::size_t turn, std::size_t stage) const { return outgoing(turn, stage) + line; }
};

// Waits for a link. With more ranks than processors, each look that finds nothing yields the processor.
class BackoffWait {
 public:
  explicit BackoffWait(const Ranks& ranks) {
    int here = 0;
    for (int other = 0; other < ranks.size(); ++other) here += ranks.same_machine(other, ranks.rank());
    crowded_ = here > ranks.place(ranks.rank()).processors;
  }
  template <class Ready>
  void wait_until(Ready ready) const {
    if (!crowded_) return spin_until(ready);
    while (!ready()) sched_yield();
  }

 private:
  bool crowded_;
};

// A Link has: Link(Ranks&, const MemoryPolicy&, std::size_t doubles, std::size_t stages); `double* data()`, the arena;
// `swap(stage, partner, from, to, in, count)`, which sends count doubles at `from` to the partner's arena at offset
// `to` and returns when as many from the partner have come, at `in` of one's own. A stage has always the same partner.
// The partner may be ahead. Its data does not overwrite any that was not read: a sum over all ranks lies between two
// uses of an offset.
template <class Link>
struct RankCG {
  static constexpr bool whole = true;
  Ranks& ranks;
  Problem problem;
  const Class size;
  MemoryPolicy policy;
  Grid grid;
  Arena arena;
  std::unique_ptr<Link> link;
  std::optional<Matrix> matrix;
  std::optional<Buffer<double>> x, z, q, r;
  Worker alone{0, 1};
  std::size_t turn = 0;
  PhaseTimes phases;
  Estimate found;
  Proof proof;
  double entries = 0, places = 0;  // sums over all ranks

  RankCG(Params& p, Ranks& all)
      : ranks(all),
        problem(p, Link::model, letters, Growth::any),
        size(class_of(problem)),
        policy(memory_policy(p)),
        grid(all.size(), all.rank()),
        arena(grid, size.order),
        phases(phase_times(problem)) {
    all_or_none(ranks, [&] { require_memory(); });
    link = std::make_unique<Link>(ranks, policy, arena.size, 2 * arena.stages);
    std::fill_n(link->data(), arena.size, 0.0);
    ranks.world().barrier();
    all_or_none(ranks, [&] { build(); });
    entries = total(static_cast<double>(matrix->count_entries()));
    places = total(static_cast<double>(matrix->count_places()));
  }

  void prepare(std::size_t) {
    begin();
    run_outer_iteration(*this, size.shift);
    begin();
    found = {};
  }
  void run(std::size_t) {
    phases.begin();
    Estimate last;
    for (std::size_t i = 0; i < size.iterations; ++i) last = run_outer_iteration(*this, size.shift);
    found = last;
  }
  Work work() const { return work_of(size, entries, places); }
  Check check() {
    if (problem.scale > 1 && found.computed) proof = make_proof(*this, size, [&] { begin(); });
    return verify(size, found, proof).check();
  }
  void corrupt() {
    if (ranks.rank() == 0) matrix->make_wrong();
    prepare(1);
    run(1);
  }
  std::string details() const {
    return details_of(problem, verify(size, found, proof), phases)
        .add("residual", found.residual)
        .add("nonzeros", entries)
        .add("grid", json::text(join({grid.high, " x ", grid.wide})))
        .str();
  }

  // The functions that the outer iteration needs from a side.
  OwnRows own{};
  double multiply_direction() {
    double dot = matrix->multiply(alone, vector(), q->data(), own.p);
    end_phase(products);
    if (grid.wide == 1) return dot;
    add_up();
    dot = own.direction_dot_product();
    end_phase(updates);
    return dot;
  }
  void multiply_solution() {
    std::copy_n(own.z, own.size, own.p);
    share_vector();
    matrix->multiply(alone, vector(), q->data(), own.p);
    end_phase(products);
    add_up();
  }
  template <std::size_t n>
  std::array<double, n> sum(std::array<double, n> mine) {
    turn = (turn + 1) % Arena::turns;
    for (std::size_t stage = 0; stage < arena.stages; ++stage) {
      double* out = link->data() + arena.outgoing(turn, stage);
      std::copy(mine.begin(), mine.end(), out);
      std::size_t in = arena.incoming(turn, stage);
      link->exchange(arena.stages + stage, ranks.rank() ^ (1 << stage), out, in, in, n);
      for (std::size_t i = 0; i < n; ++i) mine[i] += link->data()[in + i];
    }
    return mine;
  }
  // Sends the pieces of the direction to all ranks of the column; each stage sends twice as many.
  void share_vector() {
    std::size_t stage = 0;
    for (std::size_t held = 1; held < grid.high; held *= 2, ++stage) {
      std::size_t first = grid.row() / held * held, count = held * arena.piece;
      std::size_t mine = arena.vector + first * arena.piece, his = arena.vector + (first ^ held) * arena.piece;
      link->exchange(stage, ranks.rank() ^ static_cast<int>(held), link->data() + mine, mine, his, count);
    }
    end_phase(exchanges);
  }
  void end_phase(Phase phase) { phases.end_phase(phase); }

 private:
  double* vector() const { return link->data() + arena.vector; }

  // Adds up over the row of the grid; each stage has half as many pieces, and the last one is this rank's own.
  void add_up() {
    auto stage = static_cast<std::size_t>(std::countr_zero(grid.high));
    std::size_t first = 0, inbox = arena.inbox;
    for (std::size_t half = grid.wide / 2; half > 0; half /= 2, ++stage) {
      std::size_t upper = grid.column() & half, count = half * arena.piece;
      double* kept = q->data() + (first + upper) * arena.piece;
      const double* given = q->data() + (first + half - upper) * arena.piece;
      link->exchange(stage, ranks.rank() ^ static_cast<int>(half * grid.high), given, inbox, inbox, count);
      const double* come = link->data() + inbox;
      for (std::size_t i = 0; i < count; ++i) kept[i] += come[i];
      first += upper;
      inbox += count;
    }
    end_phase(exchanges);
  }
  void begin() {
    std::uint32_t at = grid.rank * static_cast<std::uint32_t>(arena.piece);
    for (std::size_t i = 0; i < arena.piece; ++i) (*x)[i] = at + i < size.order ? 1 : 0;
  }
  void require_memory() const {
    std::size_t here = 0;
    for (int other = 0; other < ranks.size(); ++other) here += ranks.same_machine(other, ranks.rank());
    problem.require(here * bytes_needed(size, grid.rows(size.order), grid.columns(size.order)));
  }
  void build() {
    matrix.emplace(size, grid.rows(size.order), grid.columns(size.order), policy, ranks.team());
    for (auto* piece : {&x, &z, &r}) piece->emplace(arena.piece, policy, ranks.team());
    q.emplace(grid.wide * arena.piece, policy, ranks.team());
    own = {x->data(), z->data(),  vector() + grid.row() * arena.piece, q->data() + grid.column() * arena.piece,
           r->data(), arena.piece};
  }
  double total(double mine) { return sum(std::array{mine})[0]; }
};

}  // namespace steelyard::npb::cg
