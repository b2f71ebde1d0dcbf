// A sparse matrix whose rows have lengths that follow a power law, stored for vectors, and its product with a vector.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "buffers.h"
#include "kernel.h"
#include "scattered.h"
#include "simd.h"

namespace steelyard {

// Each row has its entries near the diagonal, in ascending columns. All is known from the row's number, so that a
// product can be verified without the stored matrix.
class PowerLaw {
 public:
  static constexpr std::size_t longest = 4096, window = 8192;  // entries; columns among which a row's entries lie
  explicit PowerLaw(std::size_t rows) : rows_(rows), width_(std::min(window, rows)) {}

  std::size_t length(std::size_t row) const {
    constexpr double exponent = 1.8104;  // of the density: the mean length is 16
    static const double rest = std::pow(longest + 1.0, 1 - exponent);
    double u = static_cast<double>(scatter_index(row) >> 11) * 0x1p-53;
    return std::min(static_cast<std::size_t>(std::pow(1 - u * (1 - rest), 1 / (1 - exponent))),
                    std::min(longest, width_));
  }
  // Calls use(k, column, value) for the row's entries; values are whole numbers from 1 to 8.
  template <class Use>
  void each(std::size_t row, std::size_t length, Use use) const {
    std::size_t start = std::min(row - std::min(row, width_ / 2), rows_ - width_), stride = width_ / length;
    for (std::size_t k = 0; k < length; ++k) {
      std::uint64_t random = scatter_index(~(row * longest + k));
      use(k, start + k * stride + (random & 0xFFFFFFFF) % stride, static_cast<double>((random >> 61) + 1));
    }
  }

 private:
  std::size_t rows_, width_;
};

// The matrix as threads read it: from 1024 rows to 1024 rows a window, within it the rows by length. A long row is a
// strip of its own, eight entries side by side; of short ones eight rows are a strip, an entry of each side by side, so
// that rows of one or two entries cost no more than others (sliced ELLPACK: M. Kreutzer et al., SIAM J. Sci. Comput.
// 36, 2014). Strips are filled up with zeros to whole steps, which adds 3 % to the entries.
class SparseStrips {
 public:
  static constexpr std::size_t rows_together = 1024, lanes = 8;
  static constexpr std::size_t alone = 16;  // entries of a row that is a strip of its own; best of 16 to 128

  // `starts`: rows + 1 numbers; their differences are the lengths of the rows.
  SparseStrips(const PowerLaw& matrix, const std::uint32_t* starts, std::size_t rows, const MemoryPolicy& policy,
               Team& team)
      : starts_(starts),
        rows_(rows),
        order_(rows, policy, team),
        windows_((rows + rows_together - 1) / rows_together + 1),
        stored_(lay_out(team)),
        steps_(windows_.back().strip, policy, team),
        columns_(stored_, policy, team),
        values_(stored_, policy, team) {
    team.each([&](Worker w) {
      auto [first, last] = part(w, 0, windows());
      for (std::size_t i = first; i < last; ++i) fill(matrix, i);
    });
  }
  std::size_t windows() const { return windows_.size() - 1; }
  // The worker's share of the windows [first, last), so that all have as many entries.
  std::pair<std::size_t, std::size_t> part(Worker w, std::size_t first, std::size_t last) const {
    auto border = [&](std::size_t i) {
      std::size_t from = windows_[first].entry, wanted = from + (windows_[last].entry - from) * i / w.size;
      auto at = std::partition_point(windows_.begin() + static_cast<std::ptrdiff_t>(first),
                                     windows_.begin() + static_cast<std::ptrdiff_t>(last),
                                     [&](const Window& window) { return window.entry < wanted; });
      return static_cast<std::size_t>(at - windows_.begin());
    };
    return {border(w.index), border(w.index + 1)};
  }
  // y = A x for the rows of the windows [first, last).
  void multiply(double* __restrict y, const double* __restrict x, std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i) {
      const Window window = windows_[i];
      double* to = y + i * rows_together;
      const std::uint16_t *row = order_.data() + i * rows_together, *steps = steps_.data() + window.strip;
      const std::uint16_t *single = row + window.singles, *end = row + rows_of(i);
      const double* value = values_.data() + window.entry;
      const std::uint32_t* column = columns_.data() + window.entry;
      double sums[lanes];
      for (; row < single; ++row) to[*row] = sum(strip(x, value, column, *steps++, sums));
      for (; row < end; row += lanes) {
        strip(x, value, column, *steps++, sums);
        for (std::size_t lane = 0; lane < lanes; ++lane) to[row[lane]] = sums[lane];
      }
    }
  }

 private:
  struct Window {
    std::size_t entry = 0, strip = 0;  // the first ones
    std::size_t singles = 0;           // rows that are strips of their own
  };

  std::size_t rows_of(std::size_t i) const { return std::min(rows_together, rows_ - i * rows_together); }
  std::size_t length(std::size_t i, std::size_t place) const {
    std::size_t row = i * rows_together + order_[i * rows_together + place];
    return starts_[row + 1] - starts_[row];
  }
  // Calls use(first place in the window's order, rows, steps) for each of the window's strips.
  template <class Use>
  void each_strip(std::size_t i, Use use) const {
    for (std::size_t at = 0, together; at < rows_of(i); at += together) {
      together = at < windows_[i].singles ? 1 : lanes;
      use(at, together, together == 1 ? (length(i, at) + lanes - 1) / lanes : length(i, at));
    }
  }
  // The rows of each window by length, and where its strips begin; the number of all entries, with what fills up.
  std::size_t lay_out(Team& team) {
    std::vector<Window> sizes(windows());
    team.each([&](Worker w) {
      auto [first, last] = w.part(windows(), 1);
      for (std::size_t i = first; i < last; ++i) {
        std::uint16_t* order = order_.data() + i * rows_together;
        std::size_t rows = rows_of(i), &singles = windows_[i].singles;
        std::iota(order, order + rows, std::uint16_t{0});
        const std::uint32_t* start = starts_ + i * rows_together;
        std::stable_sort(order, order + rows, [&](std::size_t a, std::size_t b) {
          return start[a + 1] - start[a] > start[b + 1] - start[b];
        });
        while (singles < rows && length(i, singles) >= alone) ++singles;
        singles += (rows - singles) % lanes;  // the others are whole strips
        each_strip(
            i, [&](std::size_t, std::size_t, std::size_t steps) { sizes[i].entry += steps * lanes, ++sizes[i].strip; });
      }
    });
    for (std::size_t i = 0; i < windows(); ++i) {
      windows_[i + 1].entry = windows_[i].entry + sizes[i].entry;
      windows_[i + 1].strip = windows_[i].strip + sizes[i].strip;
    }
    return windows_.back().entry;
  }
  void fill(const PowerLaw& matrix, std::size_t i) {
    std::size_t entry = windows_[i].entry, strip = windows_[i].strip;
    each_strip(i, [&](std::size_t at, std::size_t together, std::size_t steps) {
      std::fill_n(values_.data() + entry, steps * lanes, 0.0);
      std::fill_n(columns_.data() + entry, steps * lanes, static_cast<std::uint32_t>(i * rows_together));
      for (std::size_t lane = 0; lane < together; ++lane) {
        std::size_t row = i * rows_together + order_[i * rows_together + at + lane];
        matrix.each(row, length(i, at + lane), [&](std::size_t k, std::size_t column, double value) {
          std::size_t place = entry + k * together + lane;
          values_[place] = value, columns_[place] = static_cast<std::uint32_t>(column);
        });
      }
      steps_[strip++] = static_cast<std::uint16_t>(steps);
      entry += steps * lanes;
    });
  }

  // Prefetches as many lines as are read until the next call, from each of the next eight pages in turn. One core asks
  // for no more than a few lines of a page ahead, so that reading page after page leaves the memory half idle.
  // (GCC forgets calls of a function that only prefetches: this one must become part of its caller.)
  template <class T>
  [[gnu::always_inline]] static void fetch_ahead(const T* data) {
    constexpr std::size_t lines = 64, pages = 8;  // of a page; pages at once
    constexpr std::uintptr_t page = 4096, line = page / lines;
    auto at = reinterpret_cast<std::uintptr_t>(data);
    for (std::size_t i = 0; i < block * sizeof(T) / line; ++i) {
      std::uintptr_t l = at / line + i, turn = l % pages, place = turn * (lines / pages) + l % lines / pages;
      std::uintptr_t ahead = (l / lines + pages - turn) * page + place * line;
      __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
    }
  }
  static constexpr std::size_t block = 64 / sizeof(std::uint32_t);  // entries: whole lines of values and of columns

  // The sums of so many steps; `value` and `column` move on.
  static const double* strip(const double* __restrict x, const double*& value, const std::uint32_t*& column,
                             std::size_t steps, double* __restrict sums) {
    Sums all;
    for (const std::uint32_t* const end = column + steps * lanes; column < end; column += lanes, value += lanes) {
      if (reinterpret_cast<std::uintptr_t>(column) % 64 == 0) fetch_ahead(value), fetch_ahead(column);
      all.add(value, column, x);
    }
    all.keep(sums);
    return sums;
  }
#if defined(__AVX512F__)
  struct Sums {
    __m512d all = _mm512_setzero_pd();
    unsigned every = 0xFF;
    // GCC must not see that all lanes are fetched: it would leave what was in the register, and each gather would wait
    // for the one before.
    Sums() { asm("" : "+r"(every)); }
    void add(const double* value, const std::uint32_t* column, const double* x) {
      __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(column));
      __m512d met = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), static_cast<__mmask8>(every), at, x, 8);
      all = _mm512_fmadd_pd(_mm512_loadu_pd(value), met, all);
    }
    void keep(double* sums) const { _mm512_storeu_pd(sums, all); }
  };
#else
  struct Sums {
    double all[lanes] = {};
    void add(const double* value, const std::uint32_t* column, const double* x) {
      for (std::size_t lane = 0; lane < lanes; ++lane) all[lane] += value[lane] * x[column[lane]];
    }
    void keep(double* sums) const { std::copy(all, all + lanes, sums); }
  };
#endif
  static double sum(const double* of) {
    return ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
  }

  const std::uint32_t* starts_;
  std::size_t rows_;
  Buffer<std::uint16_t> order_;  // of each window's rows, counted from its first
  std::vector<Window> windows_;  // and where the last one ends
  std::size_t stored_;
  Buffer<std::uint16_t> steps_;  // of each strip
  Buffer<std::uint32_t> columns_;
  Buffer<double> values_;
};

}  // namespace steelyard
