// What a run of an NPB program computed beside the published values: without agreement there is no speed.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "kernel.h"

namespace steelyard::npb {

struct Quantity {
  std::string name;
  double value, reference;
  double error;  // relative; NaN fails

  Quantity(std::string n, double v, double r) : name(std::move(n)), value(v), reference(r) {
    error = std::abs((v - r) / r);
  }
  // Where the error is not that of one number, as of a complex one.
  Quantity(std::string n, double v, double r, double e) : name(std::move(n)), value(v), reference(r), error(e) {}
};

struct Verification {
  double tolerance;  // the greatest relative error that NPB lets pass; 0 where values are exact
  std::vector<Quantity> quantities;

  // Not passed either where nothing was computed.
  Check check() const {
    if (quantities.empty()) return {false, "nothing was computed"};
    const Quantity* worst = &quantities.front();
    for (const Quantity& q : quantities) {
      if (!(q.error <= tolerance)) return {false, words(q)};
      if (q.error > worst->error) worst = &q;
    }
    return {true, std::to_string(quantities.size()) + " published values; the farthest: " + words(*worst)};
  }
  std::string json() const {
    std::string rows;
    for (const Quantity& q : quantities)
      rows.append(rows.empty() ? "[" : ",")
          .append(json::Object()
                      .add("quantity", json::text(q.name))
                      .add("value", json::number(q.value))
                      .add("reference", json::number(q.reference))
                      .add("error", json::number(q.error))
                      .str());
    return json::Object()
        .add("tolerance", json::number(tolerance))
        .add("quantities", rows.empty() ? "[]" : rows + "]")
        .str();
  }

 private:
  std::string words(const Quantity& q) const {
    return q.name + " is " + json::number(q.value) + ", published " + json::number(q.reference) + ", relative error " +
           json::number(q.error) + " (allowed " + json::number(tolerance) + ")";
  }
};

}  // namespace steelyard::npb
