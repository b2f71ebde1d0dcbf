// The interval of the median from samples that depend on each other.
#include "stopping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace steelyard {
namespace {

constexpr double least_effective = 12;

double interpolate_at(const std::vector<double>& ordered, double rank) {
  std::size_t below = ordered.size() > 1 ? std::min(static_cast<std::size_t>(rank), ordered.size() - 1) : 1;
  double lower = ordered[below - 1], upper = ordered[std::min(below, ordered.size() - 1)];
  return lower + (rank - static_cast<double>(below)) * (upper - lower);
}

// The dependence of samples in the order of time: the coefficient of first order, and how many independent
// ones would tell as much about the median.
struct Dependence {
  double coefficient, effective;
};

// The correlation time of signs by the coefficient of a Gaussian process of first order.
double correlation_time(double coefficient) {
  constexpr std::size_t points = 200;
  constexpr double step = 0.99 / (points - 1);
  static const std::array<double, points> table = [] {
    std::array<double, points> all;
    for (std::size_t i = 0; i < points; ++i) {
      double p = static_cast<double>(i) * step, terms = i > 0 ? 1 + std::ceil(std::log(1e-3) / std::log(p)) : 1;
      all[i] = 1;
      for (double k = 1; k <= terms; ++k) all[i] += 4 / std::numbers::pi * std::asin(std::pow(p, k));
    }
    return all;
  }();
  double place = std::min(coefficient, 0.99) / step;
  std::size_t below = std::min(static_cast<std::size_t>(place), points - 2);
  return table[below] + (place - static_cast<double>(below)) * (table[below + 1] - table[below]);
}

// By the ranks of neighbours.
Dependence estimate_by_neighbours(const std::vector<double>& samples, const std::vector<double>& ordered) {
  double n = static_cast<double>(samples.size()), squares = 0, products = 0, last = 0;
  for (double sample : samples) {
    auto [first, end] = std::equal_range(ordered.begin(), ordered.end(), sample);
    double rank = (static_cast<double>(first - ordered.begin()) + static_cast<double>(end - ordered.begin()) - n) / 2;
    squares += rank * rank, products += last * rank;
    last = rank;
  }
  if (samples.size() < 3 || squares == 0) return {0, n};
  double r = products / squares;
  r = std::clamp(r + (1 + 4 * r) / n, 0.0, 1.0);
  double p = r < 1 ? 2 * std::sin(std::numbers::pi / 6 * r) : 1, tau = correlation_time(p);
  return {p, std::clamp(n / (1 + (tau - 1) * (1 + 4 * tau / n)), 1.0, n)};
}

// By the signs around the median, which also show waves beneath noise. It costs as many products as the samples depend
// on each other for.
double estimate_by_waves(const std::vector<double>& samples, double median) {
  std::size_t n = samples.size();
  std::vector<signed char> sign(n);
  for (std::size_t i = 0; i < n; ++i) sign[i] = static_cast<signed char>((samples[i] > median) - (samples[i] < median));
  auto covariance = [&](std::size_t lag) {
    int sum = 0;
    for (std::size_t i = lag; i < n; ++i) sum += sign[i] * sign[i - lag];
    return sum;
  };
  const double count = static_cast<double>(n), power = covariance(0);
  if (power == 0) return count;
  double total = 0, least = INFINITY, pairs = 0;
  for (std::size_t lag = 0; lag < std::max<std::size_t>(2, n / 4 * 2); lag += 2, ++pairs) {
    double pair = (covariance(lag) + covariance(lag + 1)) / power;
    if (pair <= 0) break;
    total += least = std::min(least, pair);
  }
  double tau = std::min(std::max(1.0, 2 * total - 1) * (1 + 2 * pairs / count), count);
  return std::clamp(count / tau * (1 + 15 / count), 1.0, count);
}

}  // namespace

double relative_half_width(const std::vector<double>& samples, double asked) {
  if (samples.empty()) return INFINITY;
  std::vector<double> ordered = samples;
  std::sort(ordered.begin(), ordered.end());
  const double n = static_cast<double>(ordered.size()), middle = (n + 1) / 2, median = interpolate_at(ordered, middle);
  if (!(median > 0) || !std::isfinite(median)) return INFINITY;
  auto [p, effective] = estimate_by_neighbours(samples, ordered);
  if (std::pow(0.5 + std::asin(p) / std::numbers::pi, n - 1) > 0.05) return INFINITY;
  auto width = [&](double independent) -> double {
    if (independent < least_effective) return INFINITY;
    double half = 1.959963984540054 / 2 * n / std::sqrt(independent);
    return (interpolate_at(ordered, middle + half) - interpolate_at(ordered, middle - half)) / 2 / median;
  };
  double narrowest = width(effective);
  return narrowest > asked ? narrowest : width(std::min(effective, estimate_by_waves(samples, median)));
}

}  // namespace steelyard
