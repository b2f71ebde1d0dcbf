// The problems of CG and the published eigenvalue estimates (NPB 3.4.1): order, entries of a vector, iterations, shift.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../npb/problem.h"
#include "../npb/verification.h"

namespace steelyard::npb::cg {

constexpr std::size_t inner_steps = 25;  // conjugate gradient steps in each outer iteration
constexpr double tolerance = 1e-10;      // relative error of the estimate
constexpr double condition = 0.1;        // weight of the last vector; the first one has the weight 1

struct Class {
  char letter;
  std::uint32_t order, entries;  // entries: number that is drawn for each sparse vector
  std::size_t iterations;
  double shift, estimate;  // estimate: published, or none_published
  double nonzeros;         // nonzeros of the matrix: published; for D, the greatest possible number

  // Returns NPB's own count, which estimates the length of the rows.
  double operations() const {
    double row = static_cast<double>(entries) * (entries + 1);
    return 2.0 * static_cast<double>(iterations) * order * (3 + row + inner_steps * (5 + row) + 3);
  }
  // Returns the operations that are carried out. Each outer iteration has 26 products with the matrix, one of them for
  // a residual (3 more per row), 25 steps with 2 dot products and 3 updates, and 3 dot products and a scaling.
  double flops(double stored) const {
    double products = (inner_steps + 1) * 2 * stored;
    return static_cast<double>(iterations) * (products + order * (10.0 * inner_steps + 3 + 2 * 3 + 1));
  }
};

inline constexpr std::string_view letters = "SWABCD";

inline constexpr Class classes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648, 78148},
    {'W', 7000, 8, 15, 12, 10.362595087124, 508402},
    {'A', 14000, 11, 15, 20, 17.130235054029, 1853104},
    {'B', 75000, 13, 75, 60, 22.712745482631, 13708072},
    {'C', 150000, 15, 75, 110, 28.973605592845, 36121058},
    {'D', 1500000, 21, 100, 500, 52.514532105794, 1500000.0 * 22 * 22},
};

// Returns the class, or a problem with `scale` times its rows and as many entries per row. The greatest eigenvalue of
// the products grows with the logarithm of the order, and the shift must stay above it.
inline Class class_of(const Problem& problem) {
  constexpr double most = 1e9;  // rows: limit of 32-bit indices, with the padding of pieces
  for (Class c : classes)
    if (c.letter == problem.letter) {
      if (problem.scale == 1) return c;
      if (static_cast<double>(c.order) * static_cast<double>(problem.scale) > most)
        throw CaseError(join({"scale='", problem.scale,
                              "' cannot be used: it gives a matrix of more than "
                              "1e9 rows"}));
      c.order *= static_cast<std::uint32_t>(problem.scale);
      c.nonzeros *= static_cast<double>(problem.scale);
      c.shift *= 1 + 0.05 * std::log2(static_cast<double>(problem.scale));
      c.estimate = none_published;
      return c;
    }
  throw CaseError(join({"CG has no class ", problem.letter}));
}

}  // namespace steelyard::npb::cg
