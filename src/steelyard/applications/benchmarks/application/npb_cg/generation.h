// CG's matrix, sum of w_k x_k x_k' over random sparse vectors x_k: the vectors, and the rows assembled from them.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "../npb/generator.h"
#include "classes.h"

namespace steelyard::npb::cg {

// A part of the indices 0 … order: all of them cut into `pieces` equal ones (the last may be shorter), of which every
// `stride`th is taken, `count` in all, from the piece `first` on. They are numbered anew, without gaps.
struct Part {
  std::uint32_t order, pieces, first, stride, count;

  static Part whole(std::uint32_t order) { return {order, 1, 0, 1, 1}; }
  // In whole cache lines, so that two pieces never share a line.
  std::uint32_t length() const { return (order + pieces * 8 - 1) / (pieces * 8) * 8; }
  std::uint32_t size() const { return length() * count; }  // includes the missing end of the last piece
  bool holds(std::uint32_t index) const {
    std::uint32_t piece = index / length();
    return piece >= first && (piece - first) % stride == 0 && (piece - first) / stride < count;
  }
  // Convert an index of the part to its new number, and back.
  std::uint32_t local(std::uint32_t index) const {
    return (index / length() - first) / stride * length() + index % length();
  }
  std::uint32_t global(std::uint32_t local) const {
    return (first + local / length() * stride) * length() + local % length();
  }
};

// Generates the random sparse vectors one after the other, in NPB's order.
class VectorSource {
 public:
  explicit VectorSource(const Class& c)
      : class_(c), range_(std::bit_ceil(c.order)), ratio_(std::pow(condition, 1.0 / c.order)) {
    generator_.next();
  }
  // Draws the next vector: `columns` and `values` are valid until the next call. The weight is that of its product.
  void next() {
    columns.clear(), values.clear();
    while (columns.size() < class_.entries) {
      double value = generator_.next();
      auto at = static_cast<std::uint32_t>(range_ * generator_.next());
      if (at >= class_.order || place(at) < columns.size()) continue;
      columns.push_back(at), values.push_back(value);
    }
    if (std::size_t own = place(index_); own < columns.size())
      values[own] = 0.5;
    else
      columns.push_back(index_), values.push_back(0.5);
    weight = next_weight_;
    next_weight_ *= ratio_;
    ++index_;
  }

  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  double weight = 0;

 private:
  std::size_t place(std::uint32_t column) const {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), column) - columns.begin());
  }

  const Class& class_;
  Generator generator_;
  std::uint32_t range_, index_ = 0;
  double ratio_, next_weight_ = 1;
};

// Returns the sum of all entries of the matrix, computed from the vectors only.
inline double sum_of_entries(const Class& c) {
  VectorSource source(c);
  double sum = c.order * (condition - c.shift);
  for (std::uint32_t k = 0; k < c.order; ++k) {
    source.next();
    double of_vector = 0;
    for (double value : source.values) of_vector += value;
    sum += source.weight * of_vector * of_vector;
  }
  return sum;
}

// The data of the vectors for the rows and columns of one block of the matrix, ordered by the rows.
class Contributions {
 public:
  Contributions(const Class& c, const Part& rows, const Part& columns)
      : rows_(rows), columns_(columns), shift_(c.shift) {
    struct Term {
      std::uint32_t row, vector;
      double factor;
    };
    std::vector<Term> terms;
    // Reserves the expected numbers, so that nothing is copied while the arrays grow.
    double drawn = 1.02 * c.order * (c.entries + 1);
    terms.reserve(static_cast<std::size_t>(drawn * rows.size() / c.order));
    column_.reserve(static_cast<std::size_t>(drawn * columns.size() / c.order));
    value_.reserve(column_.capacity());
    VectorSource source(c);
    begin_.push_back(0);
    for (std::uint32_t k = 0; k < c.order; ++k) {
      source.next();
      auto vector = static_cast<std::uint32_t>(begin_.size() - 1);
      bool used = false;
      for (std::size_t e = 0; e < source.columns.size(); ++e)
        if (rows.holds(source.columns[e])) {
          terms.push_back({rows.local(source.columns[e]), vector, source.weight * source.values[e]});
          used = true;
        }
      if (used) keep_own_entries(source);
    }
    row_begin_.assign(rows.size() + 2, 0);
    for (const Term& t : terms) ++row_begin_[t.row + 2];
    for (std::size_t r = 2; r < row_begin_.size(); ++r) row_begin_[r] += row_begin_[r - 1];
    terms_.resize(terms.size());
    for (const Term& t : terms) terms_[row_begin_[t.row + 1]++] = {t.vector, t.factor};
  }

  const Part& rows() const { return rows_; }
  const Part& columns() const { return columns_; }

  // Calls add(local column, value) for every product that belongs to the local row.
  template <class Add>
  void add_products_of_row(std::uint32_t row, Add add) const {
    for (std::size_t t = row_begin_[row]; t < row_begin_[row + 1]; ++t)
      for (std::size_t e = begin_[terms_[t].vector]; e < begin_[terms_[t].vector + 1]; ++e)
        add(column_[e], terms_[t].factor * value_[e]);
    std::uint32_t index = rows_.global(row);
    if (index < rows_.order && columns_.holds(index)) add(columns_.local(index), condition - shift_);
  }

 private:
  struct Reference {
    std::uint32_t vector;
    double factor;  // weight times this row's entry
  };
  void keep_own_entries(const VectorSource& source) {
    for (std::size_t e = 0; e < source.columns.size(); ++e)
      if (columns_.holds(source.columns[e])) {
        column_.push_back(columns_.local(source.columns[e]));
        value_.push_back(source.values[e]);
      }
    begin_.push_back(column_.size());
  }

  Part rows_, columns_;
  double shift_;
  std::vector<std::size_t> begin_, row_begin_;  // row_begin_: one entry more than rows
  std::vector<std::uint32_t> column_;
  std::vector<double> value_;
  std::vector<Reference> terms_;
};

// Adds up one row at a time and gives its entries by ascending column: a dense row, and two levels of bits that say
// where it is not empty, so that neither a sort nor a search is needed.
class RowSum {
 public:
  explicit RowSum(std::size_t columns) : sums_(columns), bits_(columns / 64 + 1), groups_(bits_.size() / 64 + 1) {}

  void add(std::uint32_t column, double value) {
    std::uint64_t& word = bits_[column / 64];
    std::uint64_t bit = std::uint64_t{1} << column % 64;
    groups_[column / 4096] |= std::uint64_t{1} << column / 64 % 64;
    sums_[column] = word & bit ? sums_[column] + value : value;
    word |= bit;
  }
  // Calls entry(column, sum) for each column that has a sum, and then removes all of them.
  template <class Entry>
  void take_entry(Entry entry) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (; groups_[g]; groups_[g] &= groups_[g] - 1) {
        std::size_t w = 64 * g + static_cast<std::size_t>(std::countr_zero(groups_[g]));
        for (; bits_[w]; bits_[w] &= bits_[w] - 1) {
          std::size_t column = 64 * w + static_cast<std::size_t>(std::countr_zero(bits_[w]));
          entry(static_cast<std::uint32_t>(column), sums_[column]);
        }
      }
  }

 private:
  std::vector<double> sums_;
  std::vector<std::uint64_t> bits_, groups_;
};

}  // namespace steelyard::npb::cg
