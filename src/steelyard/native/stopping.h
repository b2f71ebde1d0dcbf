// When a case has been sampled enough. The reference, with the reasons, is statistics/stopping.py; a test holds both to
// it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace steelyard {

constexpr double least_effective = 12;
constexpr std::size_t batches = 20;

inline double value_at(const std::vector<double>& ordered, double rank) {
  std::size_t below = ordered.size() > 1 ? std::min(static_cast<std::size_t>(rank), ordered.size() - 1) : 1;
  double lower = ordered[below - 1], upper = ordered[std::min(below, ordered.size() - 1)];
  return lower + (rank - static_cast<double>(below)) * (upper - lower);
}

inline double effective_count(const std::vector<double>& samples, double median) {
  auto sign = [&](std::size_t i) { return (samples[i] > median) - (samples[i] < median); };
  double n = static_cast<double>(samples.size()), squares = 0, products = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    squares += sign(i) * sign(i);
    if (i + 1 < samples.size()) products += sign(i) * sign(i + 1);
  }
  if (squares == 0) return n;
  double r = products / squares, p = std::sin(std::numbers::pi / 2 * std::clamp(r + (1 + 4 * r) / n, 0.0, 0.95)),
         tau = 1;
  for (double power = p; power > 0.001; power *= p) tau += 4 / std::numbers::pi * std::asin(power);
  // Slow wandering hides from neighbours, and shows in the means over twenty stretches.
  std::size_t length = samples.size() / batches;
  double sum = 0, sum_of_squares = 0;
  for (std::size_t batch = 0; batch < batches && length >= 2; ++batch) {
    int signs = 0;
    for (std::size_t i = batch * length; i < (batch + 1) * length; ++i) signs += sign(i);
    double mean = static_cast<double>(signs) / static_cast<double>(length);
    sum += mean, sum_of_squares += mean * mean;
  }
  double variance = (sum_of_squares - sum * sum / batches) / (batches - 1);
  double by_batches = length >= 2 && variance > 1e-12 ? squares / n / (variance / batches) : n;
  return std::max(1.0, std::min(n / tau, by_batches));
}

// Half of the 95 % interval of the median over the median; infinite where too little is known to state one.
inline double relative_half_width(const std::vector<double>& samples) {
  if (samples.empty()) return INFINITY;
  std::vector<double> ordered = samples;
  std::sort(ordered.begin(), ordered.end());
  double n = static_cast<double>(ordered.size()), middle = (n + 1) / 2, median = value_at(ordered, middle);
  if (!(median > 0) || !std::isfinite(median)) return INFINITY;
  double effective = effective_count(samples, median), half = 1.959964 / 2 * n / std::sqrt(effective);
  if (effective < least_effective || middle - half < 1) return INFINITY;
  return (value_at(ordered, middle + half) - value_at(ordered, middle - half)) / 2 / median;
}

}  // namespace steelyard
