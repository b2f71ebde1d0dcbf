// MG's right-hand side: +1 where the ten greatest of as many random numbers as points fall, −1 where the ten smallest
// do.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "../npb/generator.h"
#include "grid.h"

namespace steelyard::npb {

struct Charge {
  double number;   // the random number of this point
  std::size_t at;  // x + nx (y + ny z)
};

// The ten greatest and the ten smallest numbers so far, in order.
class Extremes {
 public:
  static constexpr std::size_t each = 10;

  // Adds the numbers `first` to `last` − 1 of the random sequence.
  void draw(std::size_t first, std::size_t last) {
    Generator generator;
    generator.skip(first);
    for (std::size_t i = first; i < last; ++i) add({generator.next(), i});
  }
  void add(const Charge& c) {
    if (greatest_.size() < each || c.number > greatest_.back().number)
      insert(greatest_, c, [](const Charge& a, const Charge& b) { return a.number > b.number; });
    if (smallest_.size() < each || c.number < smallest_.back().number)
      insert(smallest_, c, [](const Charge& a, const Charge& b) { return a.number < b.number; });
  }
  void add(const Extremes& other) {
    for (const auto& list : {other.greatest_, other.smallest_})
      for (const Charge& c : list)
        if (std::none_of(greatest_.begin(), greatest_.end(), [&](const Charge& o) { return o.at == c.at; }) &&
            std::none_of(smallest_.begin(), smallest_.end(), [&](const Charge& o) { return o.at == c.at; }))
          add(c);
  }
  const std::vector<Charge>& greatest() const { return greatest_; }
  const std::vector<Charge>& smallest() const { return smallest_; }

 private:
  template <class Before>
  static void insert(std::vector<Charge>& list, const Charge& c, Before before) {
    list.insert(std::upper_bound(list.begin(), list.end(), c, before), c);
    if (list.size() > each) list.pop_back();
  }
  std::vector<Charge> greatest_, smallest_;
};

// Adds `value` at the point `at` of the whole grid (with the given points along each edge), in the part that begins at
// `begin`, and at each copy of the point in the part's halo.
inline void put_charge(const Grid& part, const std::array<int, 3>& begin, const std::array<int, 3>& edges,
                       std::size_t at, double value) {
  std::array<int, 3> place;
  for (std::size_t d = 0; d < 3; ++d) {
    place[d] = static_cast<int>(at % static_cast<std::size_t>(edges[d]));
    at /= static_cast<std::size_t>(edges[d]);
  }
  std::array<std::vector<int>, 3> found;
  for (std::size_t d = 0; d < 3; ++d)
    for (int n = edges[d], turn = -n; turn <= n; turn += n) {
      int local = place[d] - begin[d] + turn, halo = part.ghosts(static_cast<int>(d));
      if (local >= -halo && local < part.extent.points[d] + halo) found[d].push_back(local);
    }
  for (int z : found[2])
    for (int y : found[1])
      for (int x : found[0]) part.line(y, z)[x] += value;
}

}  // namespace steelyard::npb
