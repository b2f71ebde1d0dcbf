// The assembled matrix: each compressed row has 27 entries, for the node and its 26 neighbours. If a neighbour does not
// exist, the entry is 0 and its column is that of the node itself.
#pragma once
#include <cstdint>

#include "buffers.h"
#include "part.h"

namespace steelyard::finite_elements {

constexpr std::size_t entries = 27, diagonal = 13;
constexpr std::size_t bytes_an_entry = sizeof(double) + sizeof(std::int32_t);

struct Matrix {
  Buffer<double> values;
  Buffer<std::int32_t> columns;

  Matrix(const Part& part, const MemoryPolicy& policy, Team& team)
      : values(entries * part.padded, policy, team), columns(entries * part.padded, policy, team) {}

  // Writes the column numbers into all rows of one line of nodes.
  void number(const Part& part, int y, int z) {
    Part::Line rows = part.line(y, z);
    for (int slot = 0; slot < static_cast<int>(entries); ++slot) {
      Triple step = steps_of(slot);
      bool inside = part.depth(1, y + step[1]) >= 0 && part.depth(2, z + step[2]) >= 0;
      Part::Line line = part.line(y + step[1], z + step[2]);
      for (int x = 0; x < part.size[0]; ++x) {
        bool there = inside && part.depth(0, x + step[0]) >= 0;
        columns[entries * rows[x] + static_cast<std::size_t>(slot)] =
            static_cast<std::int32_t>(there ? line[x + step[0]] : rows[x]);
      }
    }
  }
  double row(std::size_t r, const double* __restrict p) const {
    const double* __restrict v = values.data() + entries * r;
    const std::int32_t* __restrict c = columns.data() + entries * r;
    double sums[3]{};  // three sums, so that an addition need not wait for the one before
    for (std::size_t k = 0; k < entries; k += 3)
      for (std::size_t i = 0; i < 3; ++i) sums[i] += v[k + i] * p[c[k + i]];
    return sums[0] + sums[1] + sums[2];
  }
  // Computes q = A p for the rows from `first` to `last`. Returns p·q over these rows.
  double multiply(std::size_t first, std::size_t last, const double* p, double* q) const {
    // The memory is prefetched this number of entries ahead, because the processor prefetches too little.
    constexpr std::size_t ahead = 512;
    double dot = 0;
    for (std::size_t r = first; r < last; ++r) {
      const double* v = values.data() + entries * r + ahead;
      const std::int32_t* c = columns.data() + entries * r + ahead;
      for (std::size_t k = 0; k < entries; k += 8) __builtin_prefetch(v + k);
      for (std::size_t k = 0; k < entries; k += 16) __builtin_prefetch(c + k);
      double value = row(r, p);
      q[r] = value;
      dot += value * p[r];
    }
    return dot;
  }
};

}  // namespace steelyard::finite_elements
