// Compares the results of an NPB program with the right ones: without agreement there is no speed. For a class, the
// right results are published. Larger problems have invariants instead, which hold for any size and have their own
// tolerances.
#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernel.h"

namespace steelyard::npb {

constexpr double none_published = std::numeric_limits<double>::quiet_NaN();

struct Quantity {
  std::string name;
  double value, reference;
  double error;           // relative error; NaN fails the check
  double tolerance = -1;  // greatest error of an invariant; negative: the tolerance of the verification

  [[gnu::cold]] Quantity(std::string n, double v, double r) : name(std::move(n)), value(v), reference(r) {
    error = std::abs((v - r) / r);
  }
  // For errors of a complex number, or of a number whose reference is 0.
  Quantity(std::string n, double v, double r, double e) : name(std::move(n)), value(v), reference(r), error(e) {}
  Quantity(std::string n, double v, double r, double e, double allowed) : Quantity(std::move(n), v, r, e) {
    tolerance = allowed;
  }
};

struct Verification {
  double tolerance;  // greatest relative error that NPB allows; 0 if values are exact
  std::vector<Quantity> quantities;
  bool published = true;  // false: all quantities are invariants

  // Adds an invariant with its relative error, or with its error in units of `unit`.
  void require(std::string name, double value, double reference, double allowed) {
    require(std::move(name), value, reference, allowed, std::abs(reference));
  }
  [[gnu::cold]] void require(std::string name, double value, double reference, double allowed, double unit) {
    quantities.emplace_back(std::move(name), value, reference, std::abs(value - reference) / unit, allowed);
  }

  // Returns false also if nothing was computed.
  [[gnu::cold]] Check check() const {
    if (quantities.empty()) return {false, "nothing was computed"};
    const Quantity* worst = &quantities.front();
    for (const Quantity& q : quantities) {
      if (!(q.error <= allowed(q))) return {false, words(q)};
      if (q.error * allowed(*worst) > worst->error * allowed(q)) worst = &q;
    }
    std::string kind = published ? " published values" : " invariants (of this size nothing is published)";
    return {true, join({quantities.size(), kind, "; the farthest: ", words(*worst)})};
  }
  [[gnu::cold]] std::string json() const {
    std::string rows;
    for (const Quantity& q : quantities) {
      json::Object row;
      row.add("quantity", json::text(q.name)).add("value", q.value).add("reference", q.reference).add("error", q.error);
      if (q.tolerance >= 0) row.add("tolerance", q.tolerance);
      rows.append(rows.empty() ? "[" : ",").append(row.str());
    }
    return json::Object()
        .add("basis", json::text(published ? "published" : "invariants"))
        .add("tolerance", tolerance)
        .add("quantities", rows.empty() ? "[]" : join({rows, "]"}))
        .str();
  }

 private:
  double allowed(const Quantity& q) const { return q.tolerance >= 0 ? q.tolerance : tolerance; }
  [[gnu::cold]] std::string words(const Quantity& q) const {
    return join({q.name, " is ", q.value, (published ? ", published " : ", expected "), q.reference,
                 ", relative error ", q.error, " (allowed ", allowed(q), ")"});
  }
};

}  // namespace steelyard::npb
