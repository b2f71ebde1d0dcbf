// A matrix product for caches and registers: both factors are packed in the order in which they are read.
#pragma once
#include <algorithm>
#include <cstddef>

#include "simd.h"
#include "team.h"

namespace steelyard::gemm {

// A tile of the product fits the registers: 24 of 32, or 12 of 16, hold its sums.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr std::size_t tile_rows = 8;
#else
constexpr std::size_t tile_rows = 4;
#endif
constexpr std::size_t tile_packs = 3, tile_columns = tile_packs * pack_doubles;
// A panel of the right factor (as wide as a tile) stays in the first cache, a block of the left one in the second.
constexpr std::size_t most_depth = (std::size_t{36} << 10) / (tile_columns * sizeof(double)), block_rows = 128;

constexpr std::size_t divide_up(std::size_t n, std::size_t part) { return (n + part - 1) / part; }

// The division of a matrix: `steps` steps with `depth` terms of the sums each, and `panels` of columns.
struct Tiling {
  std::size_t order, steps, depth, panels;
  explicit Tiling(std::size_t n)
      : order(n), steps(divide_up(n, most_depth)), depth(divide_up(n, steps)), panels(divide_up(n, tile_columns)) {}
  std::size_t depth_of(std::size_t step) const { return std::min(depth, order - step * depth); }
  std::size_t packed() const { return steps * depth * panels * tile_columns; }  // words of the right factor
  std::size_t at(std::size_t step, std::size_t panel) const {
    return (step * depth * panels + panel * depth_of(step)) * tile_columns;
  }
};

// Packs panel after panel. The `tile_columns` words of a row of a panel lie together, with zeros at the end.
inline void pack_right(const Tiling& cut, const double* b, double* packed, std::size_t first, std::size_t last) {
  for (std::size_t step = 0; step < cut.steps; ++step)
    for (std::size_t panel = first; panel < last; ++panel) {
      double* to = packed + cut.at(step, panel);
      const double* from = b + step * cut.depth * cut.order + panel * tile_columns;
      std::size_t width = std::min(tile_columns, cut.order - panel * tile_columns);
      for (std::size_t k = 0; k < cut.depth_of(step); ++k, to += tile_columns, from += cut.order) {
        if (width == tile_columns)
          for (std::size_t j = 0; j < tile_columns; ++j) to[j] = from[j];
        else
          for (std::size_t j = 0; j < tile_columns; ++j) to[j] = j < width ? from[j] : 0.0;
      }
    }
}

// Packs strip after strip of `tile_rows` rows. The words of a column of a strip lie together, with zeros at the end.
inline void pack_left(const double* __restrict a, std::size_t stride, std::size_t rows, std::size_t depth,
                      double* __restrict to) {
  for (std::size_t row = 0; row < rows; row += tile_rows, to += tile_rows * depth) {
    const double* from = a + row * stride;
    if (rows - row >= tile_rows) {
      for (std::size_t k = 0; k < depth; ++k)
        for (std::size_t i = 0; i < tile_rows; ++i) to[k * tile_rows + i] = from[i * stride + k];
    } else {
      for (std::size_t k = 0; k < depth; ++k)
        for (std::size_t i = 0; i < tile_rows; ++i) to[k * tile_rows + i] = row + i < rows ? from[i * stride + k] : 0.0;
    }
  }
}

// Computes c = a b, or c += a b, for one tile; `a` is a packed strip, `b` a packed panel.
inline void tile(const double* __restrict a, const double* __restrict b, std::size_t depth, double* __restrict c,
                 std::size_t stride, bool add) {
  typedef double Anywhere __attribute__((vector_size(pack_bytes), may_alias, aligned(8)));
  for (std::size_t i = 0; i < tile_rows; ++i) {
    __builtin_prefetch(c + i * stride, 1);
    __builtin_prefetch(c + i * stride + tile_columns - 1, 1);
  }
  Pack sum[tile_rows][tile_packs] = {};
  for (std::size_t k = 0; k < depth; ++k, a += tile_rows, b += tile_columns) {
    Pack right[tile_packs];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < tile_packs; ++j) right[j] = pack_at(b + j * pack_doubles);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < tile_rows; ++i) {
      const Pack left = pack_of(a[i]);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < tile_packs; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < tile_rows; ++i)
#pragma GCC unroll 8
    for (std::size_t j = 0; j < tile_packs; ++j) {
      Anywhere& to = *reinterpret_cast<Anywhere*>(c + i * stride + j * pack_doubles);
      to = add ? to + sum[i][j] : sum[i][j];
    }
}

// A tile that crosses the border of the product is computed in separate memory.
inline void tile_at_border(const double* a, const double* b, std::size_t depth, double* c, std::size_t stride, bool add,
                           std::size_t rows, std::size_t columns) {
  alignas(pack_bytes) double whole[tile_rows * tile_columns];
  tile(a, b, depth, whole, tile_columns, false);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      c[i * stride + j] = (add ? c[i * stride + j] : 0.0) + whole[i * tile_columns + j];
}

// The rows [top, bottom) and panels [first, last) of the product of one worker.
struct TilePart {
  std::size_t top, bottom, first, last;
};

// Returns a worker's part of the rows [top, bottom). The division minimises the largest part.
inline TilePart find_part(Worker w, const Tiling& cut, std::size_t top, std::size_t bottom) {
  std::size_t strips = divide_up(bottom - top, tile_rows), across = 1, least = ~std::size_t{0};
  for (std::size_t tried = 1; tried <= w.size; ++tried) {
    if (w.size % tried != 0) continue;
    std::size_t most = divide_up(strips, w.size / tried) * divide_up(cut.panels, tried);
    if (most < least) least = most, across = tried;
  }
  auto [first, last] = Worker{w.index % across, across}.part(cut.panels, 1);
  auto [from, to] = Worker{w.index / across, w.size / across}.part(bottom - top, tile_rows);
  return {top + from, top + to, first, last};
}

// Computes this part of c = a b. `right` is already packed, and `left` has room for a packed block.
inline void multiply(const Tiling& cut, const TilePart& part, const double* a, const double* right, double* left,
                     double* c) {
  const std::size_t n = cut.order;
  for (std::size_t step = 0; step < cut.steps; ++step)
    for (std::size_t top = part.top; top < part.bottom; top += block_rows) {
      std::size_t rows = std::min(block_rows, part.bottom - top), depth = cut.depth_of(step);
      pack_left(a + top * n + step * cut.depth, n, rows, depth, left);
      for (std::size_t panel = part.first; panel < part.last; ++panel) {
        std::size_t column = panel * tile_columns, width = std::min(tile_columns, n - column);
        for (std::size_t row = 0; row < rows; row += tile_rows) {
          const double *strip = left + row * depth, *b = right + cut.at(step, panel);
          double* to = c + (top + row) * n + column;
          if (width == tile_columns && rows - row >= tile_rows)
            tile(strip, b, depth, to, n, step > 0);
          else
            tile_at_border(strip, b, depth, to, n, step > 0, std::min(tile_rows, rows - row), width);
        }
      }
    }
}

}  // namespace steelyard::gemm
