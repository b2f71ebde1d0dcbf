// The parameters of every NPB program: its class, the factor of its size, its programming model, and whether its
// phases are timed.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "clock.h"
#include "kernel.h"
#include "verification.h"

namespace steelyard::npb {

// The sizes that a program allows: only that of a class, powers of two of it, or any multiple.
enum class Growth { none, doubled, any };

// Reads the parameters `class` (a letter of `known`, as in "SWABCD"), `model` (which must be that of this program),
// `phases`, and `scale` if the program allows larger problems.
struct Problem {
  static constexpr std::size_t most = std::size_t{1} << 20;  // greatest factor of a class, so that no size overflows
  char letter;
  std::string model;
  bool phases;
  std::size_t scale = 1;  // factor of the class's size

  [[gnu::cold]] Problem(Params& p, const std::string& this_model, std::string_view known, Growth growth = Growth::none)
      : model(p.choice("model", this_model, {this_model})), phases(p.choice("phases", "off", {"off", "on"}) == "on") {
    std::string given = p.word("class", "S");
    if (given.size() != 1 || known.find(given[0]) == std::string_view::npos) {
      std::string list;
      for (char c : known) list.append(list.empty() ? "" : ", ").append(1, c);
      throw CaseError(join({"parameter class='", given, "' must be one of: ", list}));
    }
    letter = given[0];
    if (growth != Growth::none) scale = p.count("scale", 1);
    if (scale < 1 || scale > most || (growth == Growth::doubled && !std::has_single_bit(scale)))
      throw CaseError(join({"scale='", scale, "' cannot be used: expected a ",
                            (growth == Growth::doubled ? "power of two" : "number"), " from 1 to ", most}));
  }

  [[gnu::cold]] std::string name() const {
    std::string out = join({"class ", letter});
    return scale == 1 ? out : join({out, ", ", scale, " times as large,"});
  }

  // Checks the memory before the allocation: `bytes` in total on this host, for a program whose ranks may share a host.
  [[gnu::cold]] void require(std::size_t bytes) const {
    if (std::size_t available = available_memory(); bytes > available)
      throw CaseError(join({"not enough memory: ", name(), " needs ", bytes >> 20, " MiB on this host, but ",
                            available >> 20, " MiB may be used"}));
  }
};

// Measures the duration of each phase in the timed region on one thread or rank. If it is off, it costs a branch.
class PhaseTimes {
 public:
  PhaseTimes(bool on, std::vector<std::string> names) : on_(on), names_(std::move(names)), ticks_(names_.size()) {}

  void begin() {
    if (!on_) return;
    ticks_.assign(ticks_.size(), 0);
    last_ = Clock::get().ticks();
  }
  // Adds the time since the last call to `phase`.
  void end_phase(std::size_t phase) {
    if (!on_) return;
    std::uint64_t now = Clock::get().ticks();
    ticks_[phase] += now - last_;
    last_ = now;
  }
  [[gnu::cold]] std::string json() const {
    json::Object out;
    if (on_)
      for (std::size_t i = 0; i < names_.size(); ++i) out.add(names_[i], Clock::get().seconds(ticks_[i]));
    return out.str();
  }

 private:
  bool on_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> ticks_;
  std::uint64_t last_ = 0;
};

// The details of an NPB program for its record, besides its time.
[[gnu::cold]] inline json::Object details_of(const Problem& problem, const Verification& verification,
                                             const PhaseTimes& phases) {
  json::Object out;
  out.add("class", json::text(std::string(1, problem.letter))).add("verification", verification.json());
  if (problem.phases) out.add("phases", phases.json());
  return out;
}

}  // namespace steelyard::npb
