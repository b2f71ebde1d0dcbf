// What a run of an NPB program computed beside what it should have: without agreement there is no speed. Of a class
// that is what is published. Of a problem so many times as large it is what must hold of any size: invariants, each
// with a tolerance of its own.
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
  double error;           // relative; NaN fails the check
  double tolerance = -1;  // greatest error of an invariant; negative: that of the verification

  [[gnu::cold]] Quantity(std::string n, double v, double r) : name(std::move(n)), value(v), reference(r) {
    error = std::abs((v - r) / r);
  }
  // Where the error is not that of one number, as of a complex one, or of one whose reference is 0.
  Quantity(std::string n, double v, double r, double e) : name(std::move(n)), value(v), reference(r), error(e) {}
  Quantity(std::string n, double v, double r, double e, double allowed) : Quantity(std::move(n), v, r, e) {
    tolerance = allowed;
  }
};

struct Verification {
  double tolerance;  // the greatest relative error that NPB lets pass; 0 where values are exact
  std::vector<Quantity> quantities;
  bool published = true;  // otherwise all quantities are invariants

  // Of invariants: the relative error, or that on the scale of `unit`.
  void require(std::string name, double value, double reference, double allowed) {
    require(std::move(name), value, reference, allowed, std::abs(reference));
  }
  [[gnu::cold]] void require(std::string name, double value, double reference, double allowed, double unit) {
    quantities.emplace_back(std::move(name), value, reference, std::abs(value - reference) / unit, allowed);
  }

  // Not passed either where nothing was computed.
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
