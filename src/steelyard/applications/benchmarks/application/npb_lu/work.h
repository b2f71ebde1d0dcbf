// NPB LU: the work of one timed region and the division of the grid, as they are written into a record.
#pragma once
#include "classes.h"
#include "layout.h"

namespace steelyard::npb::lu {

// Flops for an inner point in one step, counted in the loops. A multiply-add is two; a repeated term counts each time.
constexpr double residual_flops = 311, forward_flops = 192, backward_flops = 211;

// Bytes from and to memory for an inner point in one step; a state has 40. Forward: the state, the forcing and the
// lines of the values are read, and the values are written. Backward: the state is read and written, and the values
// are read. The padding of strips (about a tenth more) and the borders are not counted.
constexpr double moved_bytes = 40 * (2 + 2) + 40 * 3;

inline Work work_of(const Class& c) {
  double points = c.steps * (c.n - 2.0) * (c.n - 2.0) * (c.n - 2.0);
  return {{"operations", counted_operations(c)},
          {"flops", points * (residual_flops + forward_flops + backward_flops)},
          {"bytes", points * moved_bytes},
          {"working_set", 3 * 40.0 * c.n * c.n * c.n}};
}

inline std::string blocks_json(const Decomposition& d) {
  return json::Object().add("x", d.columns).add("y", d.rows).add("groups", d.groups()).str();
}

}  // namespace steelyard::npb::lu
