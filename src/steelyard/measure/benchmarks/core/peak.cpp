// The greatest flop/s of the cores: independent chains of arithmetic in registers, with every vector width.
#include <algorithm>
#include <cstring>

#include "kernel.h"
#include "lanes.h"
#include "simd.h"

using namespace steelyard;

// x·a + b converges to 1 but is still far away after an operation, so all mantissas keep changing.
constexpr double multiplier = 0.9990237, summand = 1 - multiplier;
constexpr std::size_t passes = 2048;  // passes of an operation: 5 to 10 µs, so that its begin and end do not matter
// The clock is read while it is still the load's: Sapphire Rapids raises it again within 5 µs of the last wide vector.
constexpr std::size_t load = 16;              // operations before the reading: some 100 µs
constexpr std::uint64_t clock_cycles = 2048;  // of the chain: 0.7 µs, ± 0.5 %

struct FusedChain {
  static constexpr double flops = 2;
  template <std::size_t k, class T, class V>
  static void step(V& x, const V& a, const V& b) {
    fuse<T>(x, a, b);
  }
  template <class T>
  static T scalar(std::size_t, T x, T a, T b) {
    return fused_scalar(x, a, b);
  }
};
// Even chains multiply and odd chains add, so that no two operations can be fused.
struct SeparateChain {
  static constexpr double flops = 1;
  template <std::size_t k, class T, class V>
  static void step(V& x, const V& a, const V& b) {
    x = k % 2 == 0 ? x * a : x + b;
    hide_from_compiler(x);
  }
  template <class T>
  static T scalar(std::size_t k, T x, T a, T b) {
    return k % 2 == 0 ? x * a : x + b;
  }
};

// A thread's chains: where each operation begins, and where the last one ended; and the clocks that were observed (Hz).
struct alignas(128) Chains {
  alignas(64) unsigned char first[64 * chains];
  alignas(64) unsigned char last[64 * chains];
  double a, b;
  std::size_t operations = 0;
  std::vector<double> clocks;
};

template <class T, std::size_t bits, class Step>
struct BusyChains {
  using V = Lanes<T, bits>;
  static constexpr std::size_t lanes = sizeof(V) / sizeof(T);
  static T start(std::size_t i) { return static_cast<T>(1.5 + 1e-3 * static_cast<double>(i)); }

  static void fill(Chains& own) {
    std::memset(own.last, 0, sizeof own.last);
    own.clocks.reserve(4096);
    own.a = multiplier, own.b = summand;
    for (std::size_t i = 0; i < chains * lanes; ++i) {
      T x = start(i);
      std::memcpy(own.first + i * sizeof x, &x, sizeof x);
    }
  }
  static void run(Chains& own, std::size_t operations) { run(own, operations, std::make_index_sequence<chains>{}); }
  template <std::size_t... k>
  static void run(Chains& own, std::size_t operations, std::index_sequence<k...>) {
    for (std::size_t i = 0; i < operations; ++i) {
      V a = V{} + static_cast<T>(own.a), b = V{} + static_cast<T>(own.b), x[chains];
      ((x[k] = reinterpret_cast<const V*>(own.first)[k]), ...);
      for (std::size_t pass = 0; pass < passes; ++pass) (Step::template step<k, T>(x[k], a, b), ...);
      ((reinterpret_cast<V*>(own.last)[k] = x[k]), ...);
      ++own.operations;
      clobber();
    }
  }
  // Returns the number of lanes that differ, in any bit, from the result of the same arithmetic on single numbers.
  static std::size_t wrong(const std::vector<Chains>& all) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < chains * lanes; ++i) {
      T x = start(i), a = static_cast<T>(multiplier), b = static_cast<T>(summand);
      for (std::size_t pass = 0; pass < passes; ++pass) x = Step::scalar(i / lanes, x, a, b);
      for (const Chains& own : all) count += std::memcmp(own.last + i * sizeof x, &x, sizeof x) != 0;
    }
    return count;
  }
};

// The loop of a case, which is chosen once.
struct WidthVariant {
  void (*fill)(Chains&) = nullptr;
  void (*run)(Chains&, std::size_t) = nullptr;
  std::size_t (*wrong)(const std::vector<Chains>&) = nullptr;
  std::size_t lanes = 0, bits = 0;
  double flops = 0;  // flops of a lane in a step
};

template <class T, std::size_t bits, class Step>
WidthVariant make_variant() {
  using B = BusyChains<T, bits, Step>;
  return {B::fill, B::run, B::wrong, B::lanes, sizeof(typename B::V) * 8, Step::flops};
}

template <class T, class Step>
WidthVariant make_variant(std::size_t bits) {
  if (bits == 0) return make_variant<T, 0, Step>();
  if (bits == 128) return make_variant<T, 128, Step>();
  if constexpr (pack_bytes >= 32)
    if (bits == 256) return make_variant<T, 256, Step>();
  if constexpr (pack_bytes >= 64)
    if (bits == 512) return make_variant<T, 512, Step>();
  throw CaseError(join({"vector_width='", bits, "': the compiler flags allow vectors of at most ", 8 * pack_bytes,
                        " bits. Use flags for wider vectors, such as -march=native"}));
}

template <class Step>
WidthVariant make_variant(std::size_t bits, bool single) {
  return single ? make_variant<float, Step>(bits) : make_variant<double, Step>(bits);
}

struct Peak {
  WidthVariant chosen;
  std::vector<Chains> own;

  Peak(Params& p, Team& team) : own(team.size()) {
    std::string width = p.choice("vector_width", "widest", {"widest", "scalar", "128", "256", "512"});
    bool single = p.choice("precision", "double", {"double", "single"}) == "single";
    std::size_t bits = width == "scalar" ? 0 : width == "widest" ? 8 * pack_bytes : std::stoul(width);
    if (p.choice("operation", "fma", {"fma", "add_mul"}) == "fma") {
      if constexpr (has_fma)
        chosen = make_variant<FusedChain>(bits, single);
      else
        throw CaseError(
            "operation='fma': the compiler flags do not allow fused multiply-add. Use other flags, such as "
            "-march=native");
    } else {
      chosen = make_variant<SeparateChain>(bits, single);
    }
    team.each([&](Worker w) { chosen.fill(own[w.index]); });
  }
  void prepare(Worker w, std::size_t operations) {
    Chains& mine = own[w.index];
    std::size_t before = mine.operations;
    chosen.run(mine, std::min(operations, load));
    if (double hertz = core_clock(clock_cycles, 1); mine.clocks.size() < mine.clocks.capacity())
      mine.clocks.push_back(hertz);
    mine.operations = before;
    std::memset(mine.last, 0, sizeof mine.last);  // the check must judge the timed results
  }
  void run(Worker w, std::size_t operations) { chosen.run(own[w.index], operations); }
  // The loop uses registers only, so an operation moves no bytes.
  Work work() const {
    return {{"flops", chosen.flops * static_cast<double>(chosen.lanes * chains * passes * own.size())}, {"bytes", 0}};
  }
  Check check() {
    std::size_t idle = 0, wrong = chosen.wrong(own), all = chosen.lanes * chains * own.size();
    for (const Chains& c : own) idle += c.operations == 0;
    return {idle == 0 && wrong == 0, join({all - wrong, " of ", all, " numbers are right to the last bit after ",
                                           passes, " steps", (idle ? ", but some threads did nothing" : "")})};
  }
  void corrupt() { own.back().last[0] ^= 1; }
  // Returns the median clock of each thread under this load.
  std::string details() const {
    std::vector<double> clocks;
    for (const Chains& c : own) {
      std::vector<double> seen = c.clocks;
      std::ranges::nth_element(seen, seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2));
      clocks.push_back(seen.empty() ? unknown : seen[seen.size() / 2]);
    }
    return json::Object()
        .add("bits", chosen.bits)
        .add("lanes", chosen.lanes)
        .add("chains", chains)
        .add("clock", json::list(clocks))
        .str();
  }
};

int main() { return serve({kernel<Peak>("peak")}); }
