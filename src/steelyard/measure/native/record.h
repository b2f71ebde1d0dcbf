// The record of a case as JSON: the common part of the harnesses of threads and of ranks.
#pragma once
#include <string>
#include <vector>

#include "disturbance.h"
#include "sampling.h"

namespace steelyard {

// Seconds of each part of a case: the cost of a run besides its samples must be known.
class Phases {
 public:
  void next(const char* name);
  std::string str() const { return out_.str(); }

 private:
  json::Object out_;
  double last_ = seconds_of(CLOCK_MONOTONIC_RAW);
};

// Readings of the pace, a list of each of their parts.
json::Object pace_columns(const std::vector<Pace>& readings);

// Everything that was observed around and inside the samples.
json::Object surroundings(const Measurement& m, const std::vector<int>& cpus, const Phases& phases,
                          const std::string& details);

json::Object record(const AnyKernel& kernel, const Measurement& m, const Check& check,
                    const json::Object& surroundings);

// The line that answers a case.
std::string answer_line(const std::string& name, const std::string& kernel, const json::Object& body);

// The result of `measure`, or the reason why the case cannot be run as asked.
template <class Call>
json::Object record_or_reason(Call measure) {
  try {
    return measure();
  } catch (const std::bad_alloc&) {
    return json::Object().add("error", json::text("not enough memory for this case"));
  } catch (const std::exception& e) {
    return json::Object().add("error", json::text(e.what()));
  }
}

// The kernel of that name. CaseError lists the kernels of the program.
template <class Named>
const Named& find_kernel(const std::vector<Named>& kernels, const std::string& name) {
  std::string known;
  for (const auto& k : kernels) {
    if (k.name == name) return k;
    known.append(known.empty() ? "" : ", ").append(k.name);
  }
  throw CaseError(join({"kernel '", name, "' is not in this program, which has: ", known}));
}

}  // namespace steelyard
