// Along x: one complex transform changes the modes of two real fields to their values, and back.
#pragma once
#include "grid.h"

namespace steelyard::turbulence {

using npb::Complex, npb::Lines, npb::Offsets, npb::Own, npb::To;

// The offsets of the numbers 0, 1, 2 … of a line whose blocks follow each other.
inline Offsets in_order(std::size_t n, std::size_t stride = block) {
  Offsets out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = i * stride;
  return out;
}

// The transforms of one axis: whole lines, and the few of their modes that are kept.
class AxisTransforms {
 public:
  explicit AxisTransforms(const Axis& axis) : axis_(axis), lines_(axis.n), own_(lines_.targets(in_order(axis.n))) {
    lines_.compute_roots();
  }
  // Returns the offsets of values that lie `stride` doubles apart.
  Offsets targets(std::size_t stride) const { return lines_.targets(in_order(axis_.n, stride)); }
  // Transforms the modes in `line`, with imaginary parts first. Modes that are not kept are zero.
  void values(double* line, double* work, double* to, const Offsets& places) const {
    lines_.transform(Own{line}, work, To<true>{to, places.data()});
  }
  // Transforms back to all frequencies, in `line`.
  template <class Source>
  void frequencies(const Source& from, double* work, double* line) const {
    lines_.transform(from, work, To<false>{line, own_.data()});
  }
  const Offsets& own() const { return own_; }
  double flops() const { return lines_.flops(); }

 private:
  Axis axis_;
  Lines lines_;
  Offsets own_;
};

// Transposes eight rows of y: the block of modes of row i lies at `rows[i * stride]`; then the rows lie side by side.
struct TransposedRows {
  alignas(64) Pack re[lanes * packs], im[lanes * packs];

  void load(const double* rows, std::size_t stride) {
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t p = 0; p < packs; ++p) {
        re[i * packs + p] = pack_at(rows + i * stride + p * pack_doubles);
        im[i * packs + p] = pack_at(rows + i * stride + lanes + p * pack_doubles);
      }
    npb::transpose(re), npb::transpose(im);
  }
  void store(double* rows, std::size_t stride) {
    npb::transpose(re), npb::transpose(im);
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t p = 0; p < packs; ++p) {
        pack_at(rows + i * stride + p * pack_doubles) = re[i * packs + p];
        pack_at(rows + i * stride + lanes + p * pack_doubles) = im[i * packs + p];
      }
  }
};

class PairedRows {
 public:
  explicit PairedRows(const Grid& grid) : grid_(grid), along_(grid.x) {}

  // Stores the modes a and b of eight rows (`stride` doubles apart) in `line`, as a + i b, imaginary parts first. The
  // part of `line` beyond the last mode must be zero, and stays zero.
  void join(const double* a, const double* b, std::size_t stride, double* line) const {
    TransposedRows s, t;
    for (std::size_t k0 = 0; k0 <= grid_.x.most; k0 += lanes) {
      s.load(a + k0 / lanes * block, stride), t.load(b + k0 / lanes * block, stride);
      for (std::size_t k = k0; k < k0 + lanes && k <= grid_.x.most; ++k)
        for (std::size_t p = 0; p < packs; ++p) {
          std::size_t i = (k - k0) * packs + p;
          put(line, k, p, s.re[i] - t.im[i], s.im[i] + t.re[i]);
          if (k > 0) put(line, grid_.x.n - k, p, s.re[i] + t.im[i], t.re[i] - s.im[i]);
        }
    }
  }
  // Separates the frequencies in `line` into the modes a and b of eight rows.
  void split(const double* line, double* a, double* b, std::size_t stride) const {
    TransposedRows s, t;
    for (std::size_t k0 = 0; k0 <= grid_.x.most; k0 += lanes) {
      for (std::size_t k = k0; k < k0 + lanes; ++k)
        for (std::size_t p = 0; p < packs; ++p) {
          std::size_t i = (k - k0) * packs + p;
          Complex one{}, two{};
          if (k <= grid_.x.most) {
            one = Own{const_cast<double*>(line)}.load(k, p);
            two = Own{const_cast<double*>(line)}.load(k > 0 ? grid_.x.n - k : 0, p);
          }
          s.re[i] = 0.5 * (one.re + two.re), s.im[i] = 0.5 * (one.im - two.im);
          t.re[i] = 0.5 * (one.im + two.im), t.im[i] = 0.5 * (two.re - one.re);
        }
      s.store(a + k0 / lanes * block, stride), t.store(b + k0 / lanes * block, stride);
    }
  }
  const AxisTransforms& along() const { return along_; }

 private:
  static void put(double* line, std::size_t k, std::size_t p, Pack re, Pack im) {
    double* at = line + k * block + p * pack_doubles;
    pack_at(at) = im, pack_at(at + lanes) = re;
  }

  Grid grid_;
  AxisTransforms along_;
};

}  // namespace steelyard::turbulence
