// A loop as a kernel: one operation is one call of the loop, which makes one pass over its vectors.
#pragma once
#include <limits>
#include <vector>

#include "kernel.h"
#include "loops.h"

namespace steelyard::loops {

// Prevents inlining: with short vectors, the cost of the call is part of the cost.
template <class L, bool Vectors>
[[gnu::noinline]] STEELYARD_NO_MEMCPY double called(const Operands& o) {
  return L::template pass<Vectors>(o);
}

// Selects a loop by its name, so that one kernel serves all loops, and the harness is compiled once and not 31 times.
struct Loop {
  const char* name;
  std::size_t inputs, outputs, usual_stride;
  double flops, loads, stores, a, b;
  bool in_place, strided, indexed, reduction;
  double (*vectors)(const Operands&);
  double (*scalar)(const Operands&);
  std::size_t (*place)(const Operands&, std::size_t i);
  Long (*expected)(const Operands&, std::size_t output, std::size_t i, std::size_t passes);
};
template <class L>
Loop loop(const char* name) {
  return {
      name,       L::inputs,   L::outputs, L::usual_stride, L::flops,     L::loads,        L::stores,        L::a,
      L::b,       L::in_place, L::strided, L::indexed,      L::reduction, called<L, true>, called<L, false>, L::place,
      L::expected};
}
const std::vector<Loop>& all_loops();

struct Pass {
  const Loop& loop;
  MemoryPolicy policy;
  Operands o{};
  std::size_t length, passes = 0;  // length of the buffers; passes made so far
  std::vector<Buffer<double>> read, written;
  std::vector<Buffer<std::uint32_t>> index;  // one index vector, or none
  double (*pass)(const Operands&);
  double result = std::numeric_limits<double>::quiet_NaN();

  Pass(Params& p, Team& team) : loop(find_loop(p.word("kernel", all_loops().front().name))), policy(p) {
    if (team.size() != 1) throw CaseError("these loops measure one core: use threads=1");
    o.n = p.count("elements", 1000);
    o.stride = loop.strided ? p.count("stride", loop.usual_stride) : 1;
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    if (o.n == 0 || o.stride == 0 || o.n > most || o.stride > most / o.n)
      throw CaseError(
          join({"elements=", o.n, ", stride=", o.stride, ": both must be at least 1, and their product below 2^32"}));
    pass = p.choice("vectors", "yes", {"yes", "no"}) == "yes" ? loop.vectors : loop.scalar;
    o.a = loop.a, o.b = loop.b;
    length = (o.n - 1) * o.stride + 1 + 2 * margin;
    for (std::size_t which = 0; which < loop.inputs; ++which) {
      read.emplace_back(length, policy, team);
      restore_contents(read.back(), which);
      o.x[which] = read.back().data() + margin;
    }
    for (std::size_t output = 0; output < loop.outputs; ++output) {
      written.emplace_back(length, policy, team);
      for (std::size_t i = 0; i < length; ++i) written.back()[i] = initial(output, i);
      (output == 0 ? o.y : o.z) = written.back().data() + margin;
    }
    if (loop.indexed) permute(team);
  }
  void run(Worker, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      result = pass(o);
      clobber();
    }
    passes += operations;
  }
  Work work() const {
    double n = static_cast<double>(o.n), indices = loop.indexed ? 4 : 0;
    // A line that is written is read first, unless the loop reads it itself; of a line a stride may use one word only.
    double allocated = loop.in_place ? 0 : loop.stores, wide = static_cast<double>(std::min<std::size_t>(o.stride, 8));
    double stored = loop.usual_stride == 1 ? wide : 1;  // the strided copy's stride is that of what it reads
    double words = loop.loads * wide + (loop.stores + allocated) * stored;
    Work done{{"bytes", (8 * (loop.loads + loop.stores) + indices) * n},
              {"bytes_moved", (8 * words + indices) * n},
              {"results", n}};
    if (loop.flops > 0) done.emplace_back("flops", loop.flops * n);
    return done;
  }
  // Evaluates the result again in extended precision: the first and the last 64 elements, or the whole sum.
  Check check() {
    if (passes == 0) return {false, "no pass was made"};
    double allowed = 1e-13 * (1 + loop.flops);
    if (loop.in_place) allowed += static_cast<double>(passes) * 0x1p-53;  // each pass adds a rounding error
    double worst = loop.reduction ? error(result, loop.expected(o, 0, 0, passes)) : 0;
    std::size_t part = std::min<std::size_t>(o.n, 64);
    for (std::size_t output = 0; output < loop.outputs; ++output)
      for (std::size_t k = 0; k < 2 * part; ++k) {
        std::size_t i = k < part ? k : o.n - 2 * part + k;
        double found = written[output][margin + loop.place(o, i)];
        worst = std::max(worst, error(found, loop.expected(o, output, i, passes)));
      }
    if (!is_input_unchanged()) return {false, "something was written before or after the vector"};
    return {worst <= allowed, join({"worst relative error ", worst, ", allowed ", allowed})};
  }
  // Changes the last element or the sum by a thousandth, which exceeds the tolerance for any number of passes.
  void corrupt() {
    double& wrong = loop.reduction ? result : written.back()[margin + loop.place(o, o.n - 1)];
    wrong = 1.001 * wrong + 0.001;
  }

 private:
  static const Loop& find_loop(const std::string& name) {
    for (const Loop& loop : all_loops())
      if (loop.name == name) return loop;
    throw CaseError(join({"there is no loop '", name, "'"}));
  }
  // Returns NaN if the loop only writes, so that a missing element is found.
  double initial(std::size_t output, std::size_t place) const {
    return loop.in_place ? value(loop.inputs + output, place) : std::numeric_limits<double>::quiet_NaN();
  }
  static void restore_contents(Buffer<double>& vector, std::size_t which) {
    std::string content = join({which, " of the loops"});
    if (!vector.still_holds(content))
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = value(which, i);
    vector.promise(content);
  }
  // Returns every index once, in a random order with a fixed seed (Fisher and Yates).
  void permute(Team& team) {
    Buffer<std::uint32_t>& order = index.emplace_back(o.n, policy, team);
    o.index = order.data();
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < o.n && !order.still_holds("permutation"); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // D. E. Knuth's multiplier for 2^64
      std::size_t at = (state >> 33) % (i + 1);
      order[i] = order[at];
      order[at] = static_cast<std::uint32_t>(i);
    }
    order.promise("permutation");
  }
  static double error(double found, Long expected) {
    double away = static_cast<double>(std::abs(found - expected) / std::max<Long>(1, std::abs(expected)));
    return std::isfinite(away) ? away : std::numeric_limits<double>::infinity();
  }
  bool is_input_unchanged() const {
    for (std::size_t output = 0; output < loop.outputs; ++output)
      for (std::size_t k = 0; k < margin; ++k)
        for (std::size_t place : {k, length - 1 - k}) {
          double now = written[output][place], then = initial(output, place);
          if (now != then && !(std::isnan(now) && std::isnan(then))) return false;
        }
    return true;
  }
};

}  // namespace steelyard::loops
