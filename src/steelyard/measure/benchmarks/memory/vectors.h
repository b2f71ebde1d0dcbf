// The three vectors of STREAM and its four operations, with ordinary and with streaming stores.
#pragma once
#include <cmath>
#include <string>

#include "kernel.h"
#include "simd.h"

namespace steelyard {

// Keeps the compiler from replacing a copy loop by the library's memcpy, which chooses its own stores.
#if defined(__clang__)
#define STEELYARD_NO_MEMCPY __attribute__((no_builtin("memcpy", "memset", "memmove")))
#else
#define STEELYARD_NO_MEMCPY __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

struct Copy {
  static constexpr double bytes = 16, flops = 0;
  static auto apply(auto x, auto, auto) { return x; }
};
struct Scale {
  static constexpr double bytes = 16, flops = 1;
  static auto apply(auto x, auto, auto s) { return s * x; }
};
struct Add {
  static constexpr double bytes = 24, flops = 1;
  static auto apply(auto x, auto y, auto) { return x + y; }
};
struct Triad {
  static constexpr double bytes = 24, flops = 2;
  static auto apply(auto x, auto y, auto s) { return x + s * y; }
};

// Computes to[i] = Operation(x[i], y[i], s) for i in [first, last); both ends are multiples of 8.
template <class Operation>
STEELYARD_NO_MEMCPY void sweep(double* __restrict to, const double* __restrict x, const double* __restrict y, double s,
                               std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) to[i] = Operation::apply(x[i], y[i], s);
}
template <class Operation>
STEELYARD_NO_MEMCPY void sweep_streaming(double* __restrict to, const double* __restrict x, const double* __restrict y,
                                         double s, std::size_t first, std::size_t last) {
  constexpr std::size_t line = 8, ahead = 512;  // doubles; a prefetch 4 KiB ahead was best of 0.5 to 8 KiB
  const Streamed scalar = Streamed{} + s;
  std::size_t i = first;
  for (; i + line <= last; i += line) {
    __builtin_prefetch(x + i + ahead);
    if constexpr (Operation::bytes > 16) __builtin_prefetch(y + i + ahead);  // Copy and Scale read only x
    for (std::size_t k = i; k < i + line; k += streamed_doubles)
      store_streaming(to + k, Operation::apply(streamed_at(x + k), streamed_at(y + k), scalar));
  }
  for (; i < last; ++i) to[i] = Operation::apply(x[i], y[i], s);
  drain_stores();
}

// Base of the kernels over three vectors, which the threads that use them fill.
struct Vectors {
  std::size_t elements;
  bool streaming;
  MemoryPolicy policy;
  Buffer<double> a, b, c;
  static constexpr double scalar = 3.0;

  Vectors(Params& p, Team& team)
      : elements(p.count("elements", 10'000'000)),
        streaming(p.choice("stores", "ordinary", {"ordinary", "streaming"}) == "streaming"),
        policy(p),
        a(elements, policy, team),
        b(elements, policy, team),
        c(elements, policy, team) {
    if (streaming && !has_streaming_stores())
      throw CaseError("stores='streaming': this compiler offers no streaming stores for this processor");
  }
  template <class Operation>
  void apply(Worker w, double* to, const double* x, const double* y, double s) const {
    auto [first, last] = w.part(elements);
    if (streaming)
      sweep_streaming<Operation>(to, x, y, s, first, last);
    else
      sweep<Operation>(to, x, y, s, first, last);
  }
  // The bytes as STREAM counts them (explicit reads and writes), and as the memory moves them: an ordinary store first
  // reads the line.
  Work work(double bytes, double flops, double stores) const {
    double n = static_cast<double>(elements);
    return {{"bytes", bytes * n},
            {"bytes_moved", (bytes + (streaming ? 0 : 8 * stores)) * n},
            {"flops", flops * n},
            {"working_set", 24 * n}};
  }
  // STREAM's own validation: the mean error of each vector, relative to its right value.
  static double error(const Buffer<double>& vector, double expected) {
    double sum = 0;
    for (double x : vector.span()) sum += std::abs(x - expected);
    return sum / static_cast<double>(vector.size()) / std::abs(expected);
  }
  static Check validate(double worst) {
    constexpr double tolerance = 1e-13;  // STREAM's tolerance for 8-byte elements
    return {worst <= tolerance, join({"mean relative error ", worst, ", allowed ", tolerance})};
  }
  // Doubles a value: with one wrong element in a billion, the mean error must still exceed the tolerance.
  void corrupt() { a[elements / 3] *= 2; }
};

// Repeats one of the four operations. Its result is 0 before and never 0 afterwards.
template <class Operation>
struct Sweep {
  Vectors v;

  Sweep(Params& p, Team& team) : v(p, team) {
    v.a.fill(team, 0, false);
    v.b.fill(team, 2, true);
    v.c.fill(team, 5, true);
  }
  void run(Worker w, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      v.apply<Operation>(w, v.a.data(), v.b.data(), v.c.data(), v.scalar);
      clobber();
    }
  }
  Work work() const { return v.work(Operation::bytes, Operation::flops, 1); }
  void corrupt() { v.corrupt(); }
  Check check() { return Vectors::validate(Vectors::error(v.a, Operation::apply(2.0, 5.0, v.scalar))); }
};

}  // namespace steelyard
