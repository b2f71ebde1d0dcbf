// CG's matrix, or one block of it. Each thread of a team multiplies its own rows, which lie in its own memory.
#pragma once
#include <optional>
#include <vector>

#include "buffers.h"
#include "kernel.h"
#include "sliced.h"

namespace steelyard::npb::cg {

// Blocks of columns are so wide that the vector's part stays in a cache of 48 KiB while the matrix streams by, and at
// least so wide that a row has some 12 entries in each: of fewer the sums cost too much.
inline std::uint32_t block_width(const Class& c) {
  auto wide = static_cast<std::uint32_t>(12.0 * c.order * c.order / c.nonzeros);
  return std::clamp<std::uint32_t>(wide, 4096, 65536);
}

class Matrix {
 public:
  Matrix(const Class& c, const Part& rows, const Part& columns, const MemoryPolicy& policy, Team& team)
      : parts_(team.size()) {
    Contributions source(c, rows, columns);
    team.each([&](Worker w) {
      auto [first, last] = w.part(rows.size());
      parts_[w.index].emplace(source, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                              block_width(c));
    });
    std::size_t most = lanes;
    for (const auto& part : parts_) most = std::max(most, part->count_places());
    values_ = Buffer<double>::one_each(most, policy, team, team.size());
    numbers_ = Buffer<std::uint16_t>::one_each(most, policy, team, team.size());
    team.each([&](Worker w) { parts_[w.index]->fill(source, values_[w.index].data(), numbers_[w.index].data()); });
  }

  // Computes the worker's rows of q = A p. Returns the sum of q * beside over these rows.
  double multiply(Worker w, const double* p, double* q, const double* beside) const {
    return parts_[w.index]->multiply(p, q, beside);
  }
  std::size_t count_entries() const { return sum(&Sliced::count_entries); }
  std::size_t count_places() const { return sum(&Sliced::count_places); }
  // Makes one entry wrong.
  void make_wrong() { values_[0][0] += 1; }

 private:
  std::size_t sum(std::size_t (Sliced::*of)() const) const {
    std::size_t all = 0;
    for (const auto& part : parts_) all += ((*part).*of)();
    return all;
  }

  std::vector<std::optional<Sliced>> parts_;
  std::vector<Buffer<double>> values_;
  std::vector<Buffer<std::uint16_t>> numbers_;
};

constexpr double bytes_an_entry = Sliced::bytes_an_entry;

// Returns the bytes of one block, its vectors, and temporary memory for its construction (the sparse vectors, twice).
inline std::size_t bytes_needed(const Class& c, const Part& rows, const Part& columns) {
  double high = static_cast<double>(rows.size()) / c.order, wide = static_cast<double>(columns.size()) / c.order;
  double drawn = static_cast<double>(c.order) * (c.entries + 1),
         vectors = 8.0 * 8 * std::max(rows.size(), columns.size());
  return static_cast<std::size_t>(1.02 * c.nonzeros * high * wide * bytes_an_entry + drawn * (32 * high + 16 * wide) +
                                  vectors);
}

// The default is transparent large pages, if the system has them: the matrix is read in one stream.
inline MemoryPolicy memory_policy(Params& p) {
  MemoryPolicy policy(p);
  std::string allowed = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (policy.pages == "default" && !allowed.empty() && allowed.find("[never]") == std::string::npos)
    policy.pages = "transparent";
  return policy;
}

// Returns the moved bytes. Each outer iteration reads the matrix 26 times, with the padding of its slices. The vectors
// are some hundredths of it and stay in the caches.
inline Work work_of(const Class& c, double entries, double places) {
  double products = static_cast<double>(c.iterations) * (inner_steps + 1);
  return {{"operations", c.operations()},
          {"flops", c.flops(entries)},
          {"bytes", products * places * bytes_an_entry},
          {"working_set", places * bytes_an_entry}};
}

}  // namespace steelyard::npb::cg
