// A sparse matrix in slices of 8 rows (sliced ELLPACK; M. Kreutzer et al., SIAM J. Sci. Comput. 36, 2014), by blocks of
// columns that 16 bits can number: a vector holds one entry of each of 8 rows, so that no sums across it are needed.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gather.h"
#include "generation.h"

namespace steelyard::npb::cg {

// The rows that one thread multiplies.
class Sliced {
 public:
  static constexpr std::size_t bytes_an_entry = sizeof(double) + sizeof(std::uint16_t);

  // Counts the entries of the local rows first … last of a block of the matrix; they are stored by fill().
  Sliced(const Contributions& matrix, std::uint32_t first, std::uint32_t last, std::uint32_t widest)
      : first_(first), last_(last) {
    std::uint32_t columns = matrix.columns().size(), blocks = (columns + widest - 1) / widest;
    width_ = (columns + 8 * blocks - 1) / (8 * blocks) * 8;
    std::vector<std::vector<std::uint32_t>> lengths(blocks, std::vector<std::uint32_t>(last - first));
    RowSum sum(columns);
    for (std::uint32_t row = first; row < last; ++row) {
      matrix.add_products_of_row(row, [&](std::uint32_t column, double value) { sum.add(column, value); });
      sum.take_entry([&](std::uint32_t column, double) { ++lengths[column / width_][row - first]; });
    }
    for (const auto& block : lengths) divide_into_blocks(block);
    large_ = places_ * bytes_an_entry > (std::size_t{1} << 20);
  }

  std::size_t count_entries() const { return entries_; }  // entries of the matrix
  std::size_t count_places() const { return places_; }    // entries with the padding of the slices

  void fill(const Contributions& matrix, double* values, std::uint16_t* columns) {
    values_ = values, columns_ = columns;
    std::fill_n(values, places_, 0.0);
    std::fill_n(columns, places_, std::uint16_t{0});
    std::vector<std::size_t> places = places_of_rows();
    std::size_t rows = last_ - first_;
    RowSum sum(matrix.columns().size());
    for (std::uint32_t row = first_; row < last_; ++row) {
      matrix.add_products_of_row(row, [&](std::uint32_t column, double value) { sum.add(column, value); });
      sum.take_entry([&](std::uint32_t column, double value) {
        std::uint32_t block = column / width_;
        std::size_t& place = places[block * rows + row - first_];
        values[place] = value;
        columns[place] = static_cast<std::uint16_t>(column - block * width_);
        place += lanes;
      });
    }
  }

  // Computes q = A p for the rows. Returns the sum of q * beside over them.
  double multiply(const double* p, double* q, const double* beside) const {
    return large_ ? multiply_blocks<true>(p, q, beside) : multiply_blocks<false>(p, q, beside);
  }

 private:
  struct Slice {
    std::size_t first;           // index of its first entry
    std::uint32_t depth, count;  // count: number of rows, which is 8 except in the last slice
    std::array<std::uint32_t, lanes> rows;
  };

  // Stores the rows of one block in slices, the longest rows first.
  void divide_into_blocks(const std::vector<std::uint32_t>& lengths) {
    std::vector<std::uint32_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] > lengths[b]; });
    if (blocks_.empty()) blocks_.push_back(0);
    for (std::size_t at = 0; at < order.size(); at += lanes) {
      std::size_t count = std::min(lanes, order.size() - at);
      Slice slice{places_, lengths[order[at]], static_cast<std::uint32_t>(count), {}};
      for (std::size_t lane = 0; lane < lanes; ++lane)
        slice.rows[lane] = first_ + order[at + std::min(lane, count - 1)];
      slices_.push_back(slice);
      places_ += lanes * slice.depth;
    }
    blocks_.push_back(slices_.size());
    entries_ += std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  }
  std::vector<std::size_t> places_of_rows() const {
    std::size_t rows = last_ - first_;
    std::vector<std::size_t> places((blocks_.size() - 1) * rows);
    for (std::size_t b = 0; b + 1 < blocks_.size(); ++b)
      for (std::size_t s = blocks_[b]; s < blocks_[b + 1]; ++s)
        for (std::size_t lane = 0; lane < slices_[s].count; ++lane)
          places[b * rows + slices_[s].rows[lane] - first_] = slices_[s].first + lane;
    return places;
  }

  template <bool large>
  double multiply_blocks(const double* p, double* q, const double* beside) const {
    std::size_t last = blocks_.size() - 2;
    if (last == 0) return multiply_block<large, true, true>(0, p, q, beside);
    multiply_block<large, true, false>(0, p, q, beside);
    for (std::size_t b = 1; b < last; ++b) multiply_block<large, false, false>(b, p, q, beside);
    return multiply_block<large, false, true>(last, p, q, beside);
  }
  template <bool large, bool store, bool dot>
  double multiply_block(std::size_t index, const double* p, double* q, const double* beside) const {
    const double* part = p + index * width_;
    double sum = 0;
    for (std::size_t s = blocks_[index]; s < blocks_[index + 1]; ++s) {
      const Slice& slice = slices_[s];
      Lanes rows = slice_product<large>(values_ + slice.first, columns_ + slice.first, slice.depth, part);
      for (std::size_t lane = 0; lane < slice.count; ++lane) {
        double& to = q[slice.rows[lane]];
        double result = store ? rows[lane] : to + rows[lane];
        to = result;
        if (dot) sum += result * beside[slice.rows[lane]];
      }
    }
    return sum;
  }

  std::uint32_t first_, last_, width_ = 0;
  std::vector<Slice> slices_;
  std::vector<std::size_t> blocks_;  // begin of the slices of each block, and the end of the last
  std::size_t entries_ = 0, places_ = 0;
  bool large_ = false;  // the matrix exceeds most second-level caches
  const double* values_ = nullptr;
  const std::uint16_t* columns_ = nullptr;
};

}  // namespace steelyard::npb::cg
