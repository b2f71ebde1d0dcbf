// A vector of complex numbers, its Fourier transform, and how that is verified.
#pragma once
#include <complex>
#include <cstdio>

#include "kernel.h"
#include "scattered.h"
#include "transform.h"

namespace steelyard {

// Noise and one tone; real and imaginary parts in turn.
struct Signal {
  std::size_t elements;
  MemoryPolicy policy;
  Buffer<double> x, result;

  Signal(Params& p, Team& team)
      : elements(check_size(p.count("elements", std::size_t{1} << 22))),
        policy(p),
        x(2 * elements, policy, team),
        result(2 * elements, policy, team) {}
  static std::size_t check_size(std::size_t n) {
    if (n >= 64 && n <= std::size_t{1} << 30 && (n & (n - 1)) == 0) return n;
    throw CaseError(join({"parameter elements='", n, "' must be a power of two from 64 to 2^30"}));
  }
  void fill(Team& team) {
    fourier::Roots roots(elements);
    team.each([&](Worker w) {
      auto [first, last] = w.part(elements);
      for (std::size_t j = first; j < last; ++j) {
        fourier::Root tone = roots[(elements - tone_bin()) * j % elements];
        std::uint64_t noise = scatter_index(j);
        x[2 * j] = tone.re + random_half(noise >> 32), x[2 * j + 1] = tone.im + random_half(noise & 0xFFFFFFFF);
      }
    });
  }
  std::size_t tone_bin() const { return elements / 16 * 5 + 3; }
  Work work() const {
    double n = static_cast<double>(elements);
    return {{"flops", 5 * n * std::log2(n)}, {"bytes", 32 * n}, {"bytes_moved", 48 * n}};
  }
  void corrupt() { result[elements / 3 * 2] += 1; }

  // The inverse transform, by the plainest algorithm, must be the signal; the tone and other lines of the spectrum must
  // be what the definition's own sums are.
  Check check() const {
    const double bound = 10 * 0x1p-52 * std::log2(static_cast<double>(elements));
    double back = inverse_error(), lines = 0;
    for (std::size_t k : {tone_bin(), elements - 1, elements / 3}) lines = std::max(lines, line_error(k));
    char text[160];
    std::snprintf(text, sizeof text,
                  "the inverse transform is off by %.2g, lines of the spectrum by %.2g of the signal (bound: %.2g)",
                  back, lines, bound);
    return {back <= bound && lines <= bound, text};  // a NaN is not below
  }

 private:
  using Number = std::complex<double>;
  static double random_half(std::uint64_t word) { return static_cast<double>(word) * 0x1p-32 - 0.5; }
  Number at(const Buffer<double>& v, std::size_t i) const { return {v[2 * i], v[2 * i + 1]}; }
  double size() const {  // root of the mean square of the signal
    double sum = 0;
    for (double part : x.span()) sum += part * part;
    return std::sqrt(sum / static_cast<double>(elements));
  }
  double inverse_error() const {
    std::vector<Number> v(elements), w(elements / 2);
    for (std::size_t i = 0; i < elements; ++i) v[i] = at(result, i);
    fourier::Roots roots(elements);
    for (std::size_t i = 0; i < elements / 2; ++i) w[i] = {roots[i].re, -roots[i].im};
    check_half(v.data(), elements, w.data(), 1);
    double worst = 0, n = static_cast<double>(elements);
    for (std::size_t i = 0, reversed = 0; i < elements; ++i) {
      double off = std::abs(v[reversed] / n - at(x, i));
      if (!(off <= worst)) worst = off;
      std::size_t bit = elements / 2;
      while (bit && reversed & bit) reversed ^= bit, bit /= 2;
      reversed |= bit;
    }
    return worst / size();
  }
  // Decimation in frequency by halves; the results come in the order of reversed bits.
  static void check_half(Number* v, std::size_t n, const Number* w, std::size_t stride) {
    if (n == 1) return;
    for (std::size_t j = 0; j < n / 2; ++j) {
      Number a = v[j], d = a - v[j + n / 2], turn = w[j * stride];
      v[j] = a + v[j + n / 2];
      v[j + n / 2] = {d.real() * turn.real() - d.imag() * turn.imag(), d.real() * turn.imag() + d.imag() * turn.real()};
    }
    check_half(v, n / 2, w, 2 * stride), check_half(v + n / 2, n / 2, w, 2 * stride);
  }
  double line_error(std::size_t k) const {
    fourier::Roots roots(elements);
    long double re = 0, im = 0;
    for (std::size_t j = 0; j < elements; ++j) {
      fourier::Root term = roots[j * k % elements] * fourier::Root{x[2 * j], x[2 * j + 1]};
      re += term.re, im += term.im;
    }
    Number sum{static_cast<double>(re), static_cast<double>(im)};
    return std::abs(at(result, k) - sum) / (std::abs(sum) + std::sqrt(static_cast<double>(elements)) * size());
  }
};

}  // namespace steelyard
