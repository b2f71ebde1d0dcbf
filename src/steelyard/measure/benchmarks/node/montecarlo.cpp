// Markov chains that sample a Gaussian by Metropolis' rule, by threads, by a device, or by both: bit for bit the same.
#include <bit>

#include "modes.h"
#include "simd.h"

using namespace steelyard;

// One step of a chain at x (square = x²) whose counter is c, in C++ and in OpenCL C alike. So that both round alike,
// every sum of products is a fused one, every other product is exact or stands alone.
//  - The counter goes by an odd number; two products and three shifts mix it (each can be undone: no number is lost).
//  - Its upper half, as a double between 2^52 and 2^53, makes a place y uniformly in x ± 3.
//  - That is taken where the lower half, v in (0, 1), is below exp((x² - y²)/2) = 2^k 2^f: Taylor's polynomial of the
//    sixth degree in |f| <= 1/2, wrong by less than 2e-7.
#define STEP                                                                                        \
  c += 0x9e3779b97f4a7c15UL;                                                                        \
  Word z = (c ^ (c >> 32)) * 0xd6e8feb86659fd93UL;                                                  \
  z = (z ^ (z >> 29)) * 0xd6e8feb86659fd93UL;                                                       \
  z = z ^ (z >> 32);                                                                                \
  Real there = real_of((z >> 32) | 0x4330000000000000UL) - 0x1.000008p52;                           \
  Real v = real_of((z & 0xffffffffUL) | 0x4330000000000000UL) - 0x1.fffffffffffffp51;               \
  Real y = fused(there, flat(0x1.8p-30), x), height = fused(-y, y, square);                         \
  Real turned = fused(height, flat(0x1.71547652b82fep-1), flat(0x1.8p52)), k = turned - 0x1.8p52;   \
  Real f = fused(height, flat(0x1.71547652b82fep-1), -k), g = f * f;                                \
  Real low = fused(f, flat(0x1.62e42fefa39efp-1), flat(1.0));                                       \
  Real middle = fused(f, flat(0x1.c6b08d704a0bfp-5), flat(0x1.ebfbdff82c58ep-3));                   \
  Real high = fused(f, flat(0x1.5d87fe78a6730p-10), flat(0x1.3b2ab6fba4e77p-7));                    \
  Real power = fused(g, fused(g, fused(g, flat(0x1.430912f86c786p-13), high), middle), low);        \
  power = real_of(word_of(power) + (word_of(turned) << 52) + 0x0200000000000000UL); /* v is 2^32 */ \
  Real squared = y * y;                                                                             \
  x = v < power ? y : x;                                                                            \
  square = v < power ? squared : square;                                                            \
  sum += x;                                                                                         \
  squares += square;
#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(macro) TEXT(macro)

typedef std::uint64_t Words __attribute__((vector_size(pack_bytes)));
inline Pack flat_of(double x, Pack*) { return pack_of(x); }
inline double flat_of(double x, double*) { return x; }
inline Pack real_of(Words bits) { return reinterpret_cast<Pack>(bits); }
inline double real_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline Words word_of(Pack x) { return reinterpret_cast<Words>(x); }
inline std::uint64_t word_of(double x) { return std::bit_cast<std::uint64_t>(x); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline Pack fused(Pack a, Pack b, Pack c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Pack>(
      _mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__AVX__) && defined(__FMA__)
  return reinterpret_cast<Pack>(
      _mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#else
  for (std::size_t i = 0; i < pack_doubles; ++i) a[i] = __builtin_fma(a[i], b[i], c[i]);
  return a;
#endif
}

template <class Real, class Word>
inline void step(Real& x, Real& square, Real& sum, Real& squares, Word& c) {
  auto flat = [](double value) { return flat_of(value, static_cast<Real*>(nullptr)); };
  STEP
}

struct MonteCarlo {
  static constexpr std::size_t phases = 1, together = 64;  // chains that a share's border never cuts
  static constexpr const char* program = R"(
    #pragma OPENCL FP_CONTRACT OFF
    #define flat(value) ((Real)(value))
    kernel void NAME(GLOBAL const Real* restrict starts, GLOBAL const Word* restrict counters,
                     GLOBAL Real* restrict sums, GLOBAL Real* restrict sums_of_squares, ulong steps) {
      size_t i = get_global_id(0);
      Real x = starts[i], square = x * x, sum = flat(0), squares = flat(0);
      Word c = counters[i];
      for (ulong n = 0; n < steps; ++n) { )" TEXT_OF(STEP) R"( }
      sums[i] = sum;
      sums_of_squares[i] = squares;
    })";
  std::size_t chains, steps, padded;
  MemoryPolicy policy;
  Buffer<double> starts, sums, squares;
  Buffer<std::uint64_t> counters;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[4];
  std::size_t lanes = 1;  // chains of a work item

  MonteCarlo(Params& p, Team& team)
      : chains(p.count("chains", 1024)),
        steps(p.count("steps", 100'000)),
        padded((chains + together - 1) / together * together),
        policy(p),
        starts(padded, policy, team),
        sums(padded, policy, team),
        squares(padded, policy, team),
        counters(padded, policy, team) {
    if (chains < 2 || steps < 1) throw CaseError("chains must be at least 2, and steps at least 1");
    for (std::size_t i = 0; i < padded; ++i) {
      std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
      z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
      counters[i] = z = (z ^ (z >> 29)) * 0xd6e8feb86659fd93u;
      // The sum of four uniform numbers is nearly Gaussian: a chain need not find its way there first.
      double four = static_cast<double>((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48));
      starts[i] = (four * 0x1p-16 - 2) * std::sqrt(3.0);
    }
    spoil_results(team);
  }
  void spoil_results(Team& team) {
    spoil(sums, team, -1.0), spoil(squares, team, -1.0);
    if (on) there[2]->write(), there[3]->write();
  }
  std::size_t count_pieces(std::size_t) const { return chains; }
  std::size_t share_granularity() const { return together; }
  // Two registers' chains at a time: each waits for itself, and more of them no longer fit into the registers.
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(last - first, pack_doubles);
    std::size_t i = first + from, end = first + to;
    for (; i + 2 * pack_doubles <= end; i += 2 * pack_doubles) walk_path<2>(i);
    for (; i < end; i += pack_doubles) walk_path<1>(i);
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    void* all[] = {starts.data(), counters.data(), sums.data(), squares.data()};
    for (int i = 0; i < 4; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, all[i], padded * sizeof(double));
      there[i]->write();
    }
    // A GPU wants one chain for each work item; to a processor the vectors of a chain must be told. Which it is, is
    // tried.
    double one = try_paths(1), eight = on->has_packs ? try_paths(8) : INFINITY;
    lanes = one < eight ? 1 : 8;
  }
  void queue(std::size_t, std::size_t first, std::size_t last) { walk_there(first, last, steps); }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) {
    for (int i : {2, 3}) there[i]->read(0, share * sizeof(double));
  }
  Work work() const { return {{"items", static_cast<double>(chains) * static_cast<double>(steps)}}; }
  void corrupt() { sums[chains / 3] += static_cast<double>(steps); }

  // Repeats some chains one by one, and compares the results of all chains with the Gaussian.
  Check check() {
    std::size_t every = std::max<std::size_t>(1, chains * steps >> 22), compared = 0, differ = 0;
    for (std::size_t i = 0; i < chains; i += every, ++compared) {
      double x = starts[i], square = x * x, sum = 0, of_squares = 0;
      std::uint64_t c = counters[i];
      for (std::size_t n = 0; n < steps; ++n) step(x, square, sum, of_squares, c);
      differ += sum != sums[i] || of_squares != squares[i];
    }
    Spread mean(sums, chains, steps), square(squares, chains, steps);
    bool fits = std::abs(mean.mean) <= 5 * mean.error && std::abs(square.mean - 1) <= 5 * square.error;
    // A thousand chains: in one of two million runs, a chain is more than six standard deviations from the mean.
    bool alike = mean.furthest <= 6 * mean.deviation;
    return {differ == 0 && fits && alike,
            join({differ, " of ", compared, " chains walked again differ; mean ", mean.said(), ", mean square ",
                  square.said(), ", one chain's mean at most ", mean.furthest / mean.deviation,
                  " standard deviations away"})};
  }

 private:
  // The mean of the chains' means, its standard error, and how far from it a chain is.
  struct Spread {
    double mean = 0, deviation = 0, error, furthest = 0;
    Spread(const Buffer<double>& totals, std::size_t chains, std::size_t steps) {
      double n = static_cast<double>(chains), length = static_cast<double>(steps);
      for (std::size_t i = 0; i < chains; ++i) mean += totals[i] / length / n;
      for (std::size_t i = 0; i < chains; ++i) {
        double away = std::abs(totals[i] / length - mean);
        deviation += away * away / (n - 1), furthest = std::max(furthest, away);
      }
      deviation = std::sqrt(deviation), error = deviation / std::sqrt(n);
    }
    std::string said() const { return join({mean, " (standard error ", error, ")"}); }
  };

  void walk_there(std::size_t first, std::size_t last, std::size_t length) {
    std::size_t end = (last + together - 1) / together * together;
    on->run(join({"walk", lanes}), first / lanes, end / lanes, lanes == 1 ? 32 : 8, there[0]->handle(),
            there[1]->handle(), there[2]->handle(), there[3]->handle(), std::uint64_t{length});
  }
  // Returns the seconds of some steps of all chains, with `width` chains for each work item.
  double try_paths(std::size_t width) {
    lanes = width;
    std::string wide = width == 1 ? "" : std::to_string(width);
    on->build(program, join({"-DNAME=walk", width, " -DReal=double", wide, " -DWord=ulong", wide,
                             " -Dreal_of=as_double", wide, " -Dword_of=as_ulong", wide, " -Dfused=fma"}));
    double least = INFINITY;
    for (int i = 0; i < 4; ++i) {
      double began = seconds_of(CLOCK_MONOTONIC_RAW);
      walk_there(0, chains, std::min<std::size_t>(steps, 400));
      on->finish();
      least = std::min(least, seconds_of(CLOCK_MONOTONIC_RAW) - began);
    }
    return least;
  }
  template <int N>
  void walk_path(std::size_t first) {
    Pack x[N], square[N], sum[N] = {}, of_squares[N] = {};
    Words c[N];
    for (std::size_t k = 0, i = first; k < N; ++k, i += pack_doubles) {
      x[k] = pack_at(starts.data() + i), square[k] = x[k] * x[k];
      c[k] = word_of(pack_at(reinterpret_cast<double*>(counters.data()) + i));
    }
    for (std::size_t n = 0; n < steps; ++n)
      for (int k = 0; k < N; ++k) step(x[k], square[k], sum[k], of_squares[k], c[k]);
    for (std::size_t k = 0, i = first; k < N; ++k, i += pack_doubles) {
      pack_at(sums.data() + i) = sum[k];
      pack_at(squares.data() + i) = of_squares[k];
    }
  }
};

int main() { return serve({kernel<Modes<MonteCarlo>>("montecarlo")}); }
