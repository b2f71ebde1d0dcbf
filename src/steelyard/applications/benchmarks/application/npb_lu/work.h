// NPB LU: what one timed region does, and how the grid was divided, as a record tells them.
#pragma once
#include "classes.h"
#include "layout.h"

namespace steelyard::npb::lu {

// Of an inner point in one step, counted in the loops: a multiply-add is two, what is computed again is counted again.
constexpr double residual_flops = 311, forward_flops = 192, backward_flops = 211;

// B moved from and to memory for an inner point in one step, of 40 a state: forward, the state and the forcing are read
// and the values written, for which their lines are read first; backward, the state is read and written and the values
// are read. What fills up strips (some tenth more) and borders are left out.
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
