// NPB LU: the SSOR iteration on one block, by one thread or rank (RNR-94-007, section 3.3; NAS-95-020).
//
// A step's residual is computed within the next step's forward sweep, strip by strip, and its update within the
// backward sweep: the state, the forcing and the residual pass through the caches twice a step. The sweeps are
// pipelined over planes: a block begins a plane when its neighbours towards the sweep's start have done theirs.
#pragma once
#include "arrays.h"
#include "classes.h"
#include "proof.h"
#include "residual.h"
#include "sweeps.h"

namespace steelyard::npb::lu {

// `Links` connects a block with its neighbours: messages of a sweep (expect, receive, release; reserve, send), the
// neighbours' points of a plane (publish_border, fetch_border), and sums over all blocks (sum).
template <class Links>
class Solver {
 public:
  Solver(const Class& problem, const Layout& layout, Arrays& arrays, Links& links, bool phases)
      : problem_(problem),
        at_(layout),
        memory_(arrays),
        links_(links),
        coefficients_(layout),
        masks_(layout),
        scalars_(layout.n, problem.time_step),
        window_{at_, arrays.window.data()},
        carried_{arrays.row.data() + lanes, arrays.vertical.data(), arrays.edge.data(), arrays.entry.data(),
                 arrays.beside.data()},
        phases_(phases, {"residual", "forward sweep", "backward sweep", "exchanges"}) {}

  const PhaseTimes& phases() const { return phases_; }
  const Layout& layout() const { return at_; }
  Arrays& arrays() { return memory_; }

  // Sets everything that is not computed. Padding that is read but does not matter must hold ordinary numbers, too.
  void fill_memory(const Solution& solution) {
    for (Buffer<Fives>* b : {&memory_.u, &memory_.window}) std::fill_n(b->data(), b->size(), fluid_at_rest());
    for (Buffer<Fives>* b : {&memory_.v, &memory_.forcing, &memory_.vertical, &memory_.row, &memory_.line,
                             &memory_.entry, &memory_.edge, &memory_.beside})
      std::fill_n(b->data(), b->size(), Fives{});
    fill([&](int i, int j, int k) { return solution.at(i, j, k); });
    compute_residual(false, memory_.forcing.data());
  }
  // Sets the state before the first step.
  void set_initial_state(const Solution& solution) {
    const int end = at_.n - 1;
    fill([&](int i, int j, int k) {
      bool boundary = i == 0 || i == end || j == 0 || j == end || k == 0 || k == end;
      return boundary ? solution.at(i, j, k) : solution.initial_state(i, j, k);
    });
  }
  void compute_first_residual() { compute_residual(false, memory_.v.data()); }

  // Carries out `count` steps, and computes the residual after the last one.
  void run_steps(int count) {
    phases_.begin();
    for (int step = 0; step < count; ++step) {
      sweep_forward(step > 0);
      sweep_backward();
      links_.publish_border();
      phases_.end_phase(3);
    }
    compute_residual(true, memory_.v.data());
  }
  // Returns the root mean squares of the residual.
  State compute_norms() {
    Fives sum{};
    for (int k = 1; k <= at_.nz; ++k)
      for (int b = 0; b < at_.strips; ++b)
        for (int s = 1; s <= at_.last_vector(); ++s) {
          Fives x = mask_lanes(memory_.v[index(k, b, s)], masks_.at(s, b));
          for (int m = 0; m < 5; ++m) sum.c[m] += x.c[m] * x.c[m];
        }
    State squares{};
    for (std::size_t m = 0; m < 5; ++m)
      for (int l = 0; l < lanes; ++l) squares[m] += sum.c[m][l];
    return take_root_means(links_.sum(squares));
  }
  // Returns the sums of the squared errors in this block, which are then added over the blocks.
  State squared_errors(const Solution& solution) const {
    State out{};
    at_.visit_inner_points([&](int i, int j, int k) {
      State u = state(i, j, k), exact = solution.at(at_.first_x + i - 1, at_.first_y + j - 1, k);
      for (std::size_t m = 0; m < 5; ++m) out[m] += (exact[m] - u[m]) * (exact[m] - u[m]);
    });
    return out;
  }
  // Returns the sums of the squared residuals in this block, computed point by point from the definition.
  State squared_residuals(const Solution& solution) const {
    const int x = at_.first_x - 1, y = at_.first_y - 1;
    auto now = [&](int i, int j, int k) { return state(i - x, j - y, k); };
    State out{};
    at_.visit_inner_points([&](int i, int j, int k) {
      State u = apply_operator(at_.n, {x + i, y + j, k}, now), forcing = compute_forcing(solution, x + i, y + j, k);
      for (std::size_t m = 0; m < 5; ++m) out[m] += (u[m] - forcing[m]) * (u[m] - forcing[m]);
    });
    return out;
  }
  // Carries out one more step. Returns, for the middle plane of this block, the sums of squares of the defect of the
  // step's equations and of their right side.
  std::array<double, 2> squared_defects(const Solution& solution) {
    auto now = [&](int i, int j, int k) { return state(i, j, k); };
    StepProof proof(at_, problem_.time_step, now);
    PhaseTimes kept = phases_;
    run_steps(1);
    phases_ = kept;
    return proof.sum_squares(now, [&](int i, int j, int k) { return compute_forcing(solution, i, j, k); });
  }
  State take_root_means(State squares) const {
    double points = std::pow(at_.n - 2.0, 3);
    for (double& x : squares) x = std::sqrt(x / points);
    return squares;
  }
  // Returns this block's part of the integral of the pressure over the faces of i = 1..n-2, j = 1..n-3, k = 2..n-2.
  double integrate_pressure() const {
    double sum = 0;
    at_.visit_inner_points([&](int i, int j, int k) {
      double x = trapezoid_weight(at_.first_x + i - 1, 1, at_.n - 2),
             y = trapezoid_weight(at_.first_y + j - 1, 1, at_.n - 3), z = trapezoid_weight(k, 2, at_.n - 2);
      if (x == 1 && y == 1 && z == 1) return;
      double weight = (x == 0.5 ? y * z : 0) + (y == 0.5 ? x * z : 0) + (z == 0.5 ? x * y : 0);
      State u = state(i, j, k);
      sum += weight * c2 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
    });
    return sum / ((at_.n - 1.0) * (at_.n - 1.0));
  }
  // Multiplies the forcing of one point of the grid (counted from 0), if it lies in this block.
  void spoil_forcing(int i, int j, int k, double factor) {
    i -= at_.first_x - 1, j -= at_.first_y - 1;
    if (i < 1 || i > at_.nx || j < 1 || j > at_.ny) return;
    auto [vector, lane] = at_.point(i, j, k);
    memory_.forcing[static_cast<std::size_t>(vector)].c[4][lane] *= factor;
  }

 private:
  State compute_forcing(const Solution& solution, int i, int j, int k) const {
    return apply_operator(at_.n, {i, j, k}, [&](int a, int b, int c) { return solution.at(a, b, c); });
  }
  static Fives fluid_at_rest() { return {{pack_of(1), Pack{}, Pack{}, Pack{}, pack_of(1)}}; }
  std::size_t index(int k, int b, int s) const { return static_cast<std::size_t>(at_.at(k, b, s)); }
  // Returns the weight of the trapezoid rule in one direction: 0 outside, a half at the ends.
  static double trapezoid_weight(int i, int first, int last) {
    return i < first || i > last ? 0 : i == first || i == last ? 0.5 : 1;
  }

  State state(int i, int j, int k) const {
    auto [vector, lane] = at_.point(i, j, k);
    State out;
    for (std::size_t m = 0; m < 5; ++m) out[m] = memory_.u[static_cast<std::size_t>(vector)].c[m][lane];
    return out;
  }
  // Fills all lanes; a lane outside the grid gets the value of the nearest grid point.
  template <class Value>
  void fill(Value value) {
    auto inside = [&](int i) { return std::clamp(i, 0, at_.n - 1); };
    for (int k = 0; k < at_.n; ++k)
      for (int b = -1; b <= at_.strips; ++b)
        for (int s = -1; s < at_.vectors - 1; ++s)
          for (int l = 0; l < lanes; ++l) {
            State x = value(inside(at_.first_x + s - l - 1), inside(at_.first_y + b * lanes + l), k);
            for (std::size_t m = 0; m < 5; ++m) memory_.u[index(k, b, s)].c[m][l] = x[m];
          }
  }

  void compute_residual(bool fetch, Fives* out) {
    for (int k = 1; k <= at_.nz; ++k) {
      if (fetch) links_.fetch_border(k);
      phases_.end_phase(3);
      for (int b = 0; b < at_.strips; ++b) compute_strip_residual(k, b, 0, out + at_.at(k, b, 0));
      phases_.end_phase(0);
    }
  }
  // Must be called for the strips from `first` on in their order, because the window keeps the last three.
  void compute_strip_residual(int k, int b, int first, Fives* out) {
    const Fives* u = memory_.u.data();
    for (int strip = b == first ? b - 1 : b + 1; strip <= b + 1; ++strip) window_.fill(k, strip, u);
    compute_residual_strip(at_, coefficients_, window_, k, b, u, memory_.forcing.data() + at_.at(k, b, 0), out);
  }

  // `fresh`: the residual is not in memory yet.
  void sweep_forward(bool fresh) {
    begin(west, south, at_.groups);
    for (int group = 0; group < at_.groups; ++group)
      for (int k = 1; k <= at_.nz; ++k) {
        if (fresh && group == 0) links_.fetch_border(k);
        phases_.end_phase(3);
        sweep_plane_forward(fresh, k, at_.first_strip_of_group(group), at_.first_strip_of_group(group + 1));
        if (group + 1 < at_.groups)
          pack_row(north, between(k));
        else
          send_row(north);
        phases_.end_phase(3);
      }
  }
  void sweep_plane_forward(bool fresh, int k, int first, int end) {
    for (int b = first; b < end; ++b) {
      Fives *v = memory_.v.data() + at_.at(k, b, 0), *given = fresh ? memory_.line.data() + 1 : v;
      if (fresh) compute_strip_residual(k, b, first, given);
      phases_.end_phase(0);
      if (b == 0)
        receive_row(south);
      else if (b == first)
        unpack_row(south, between(k));
      receive_strip(west, b, first, end - 1);
      phases_.end_phase(3);
      sweep_strip_forward(at_, scalars_, masks_, carried_, b, problem_.time_step, memory_.u.data() + at_.at(k, b, 0),
                          given, v);
      send_strip(east, b, first, end - 1);
      phases_.end_phase(1);
    }
  }
  void sweep_backward() {
    begin(east, north, 1);
    const int top = at_.strips - 1;
    for (int k = at_.nz; k >= 1; --k) {
      for (int b = top; b >= 0; --b) {
        Fives *u = memory_.u.data() + at_.at(k, b, 0), *v = memory_.v.data() + at_.at(k, b, 0);
        if (b == top) receive_row(north);
        receive_strip(east, b, top, 0);
        phases_.end_phase(3);
        if (b == top)
          sweep_strip_backward<true>(at_, scalars_, masks_, carried_, b, v, u);
        else
          sweep_strip_backward<false>(at_, scalars_, masks_, carried_, b, v, u);
        send_strip(west, b, top, 0);
        phases_.end_phase(2);
      }
      send_row(south);
      phases_.end_phase(3);
    }
  }

  // Prepares a sweep that comes from these sides, with `parts` messages for each plane.
  void begin(Side in_x, Side in_y, int parts) {
    if (has_neighbour(in_x))
      links_.expect(in_x, static_cast<std::size_t>(at_.nz * parts));
    else
      std::fill_n(carried_.entry, lanes, Fives{});
    if (has_neighbour(in_y)) links_.expect(in_y, static_cast<std::size_t>(at_.nz));
    std::fill_n(carried_.vertical, memory_.vertical.size(), Fives{});
  }
  bool has_neighbour(Side side) const {
    return side == west ? at_.west : side == east ? at_.east : side == south ? at_.south : at_.north;
  }
  // Receives the neighbour's shares of the row that is computed first.
  void receive_row(Side side) {
    if (!has_neighbour(side)) return unpack_row(side, nullptr);
    unpack_row(side, links_.receive(side));
    links_.release(side);
  }
  void unpack_row(Side side, const double* from) {
    if (side == north && !from) return;  // what is beside stays zero
    Fives* to = side == south ? carried_.row + lanes : carried_.beside + at_.last_lane() + 1;
    int lane = side == south ? lanes - 1 : at_.last_lane();
    for (int i = 0; i < at_.nx; ++i)
      for (int m = 0; m < 5; ++m) to[i].c[m][lane] = from ? *from++ : 0.0;
  }
  void send_row(Side side) {
    if (!has_neighbour(side)) return;
    pack_row(side, links_.reserve(side));
    links_.send(side, static_cast<std::size_t>(5 * at_.nx));
  }
  void pack_row(Side side, double* to) {
    // The last strip of a group is a whole one; that of a block need not be, and such a block is one group.
    int lane = side == south ? 0 : at_.groups > 1 ? lanes - 1 : at_.last_lane();
    const Fives* from = carried_.row + lane + 1;
    for (int i = 0; i < at_.nx; ++i)
      for (int m = 0; m < 5; ++m) *to++ = from[i].c[m][lane];
  }
  double* between(int k) { return memory_.between.data() + 5 * at_.nx * (k - 1); }

  // Receives the shares of the column, one strip at a time. A message has the strips from `first` to `last`.
  void receive_strip(Side side, int b, int first, int last) {
    if (!has_neighbour(side)) return;
    if (b == first) incoming_ = links_.receive(side);
    const double* from = incoming_ + 5 * lanes * (b - std::min(first, last));
    for (int l = 0; l < lanes; ++l)
      for (int m = 0; m < 5; ++m) carried_.entry[l].c[m][l] = from[5 * l + m];
    if (b == last) links_.release(side);
  }
  void send_strip(Side side, int b, int first, int last) {
    if (!has_neighbour(side)) return;
    if (b == first) outgoing_ = links_.reserve(side);
    double* to = outgoing_ + 5 * lanes * (b - std::min(first, last));
    for (int l = 0; l < lanes; ++l)
      for (int m = 0; m < 5; ++m) to[5 * l + m] = carried_.edge[l].c[m][l];
    if (b == last) links_.send(side, static_cast<std::size_t>(5 * lanes * (std::abs(last - first) + 1)));
  }

  const Class& problem_;
  const Layout at_;
  Arrays& memory_;
  Links& links_;
  const Coefficients coefficients_;
  const Masks masks_;
  const SweepConstants scalars_;
  const PrimitiveWindow window_;
  const CarriedShares carried_;
  PhaseTimes phases_;
  const double* incoming_ = nullptr;
  double* outgoing_ = nullptr;
};

}  // namespace steelyard::npb::lu
