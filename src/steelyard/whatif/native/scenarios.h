// The scenarios that a question's parameters name.
#pragma once
#include <charconv>
#include <cmath>

#include "params.h"
#include "perturbation.h"

namespace steelyard::whatif {
// The points of a sweep. A parameter that differs between points is a list separated by ';'; all lists are equally
// long.
class Points {
 public:
  explicit Points(Params& params) : params_(params) {}

  // Reads the numbers of a point, with ',' between them; their count is that of `otherwise`.
  std::vector<double> numbers(const std::string& name, std::size_t point, const std::vector<double>& otherwise) {
    const std::vector<double> found = all(name, point);
    if (!found.empty() && found.size() != otherwise.size())
      throw CaseError("parameter " + name + " needs " + std::to_string(otherwise.size()) + " numbers");
    return found.empty() ? otherwise : found;
  }
  // Any number of them; none where the parameter is not given.
  std::vector<double> all(const std::string& name, std::size_t point) {
    const std::string text = params_.word(name, "");
    if (text.empty()) return {};
    const auto lists = split(text, ';');
    if (lists.size() > 1 && lists.size() != count_)
      throw CaseError("parameter " + name + " has " + std::to_string(lists.size()) + " points, others have " +
                      std::to_string(count_));
    std::vector<double> found;
    for (const std::string& word : split(lists[lists.size() > 1 ? point : 0], ',')) {
      double value = 0;
      auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (failed != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
        throw CaseError("parameter " + name + ": '" + word + "' is not a number");
      found.push_back(value);
    }
    return found;
  }
  std::size_t count() {
    for (const char* name :
         {"across", "within", "cache", "socket", "uplinks", "core", "speeds", "loss", "noise", "affected"})
      count_ = std::max(count_, split(params_.word(name, ""), ';').size());
    return count_;
  }

 private:
  static std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(at, begin), text.size());
      found.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return found;
  }
  Params& params_;
  std::size_t count_ = 1;
};

inline Time whole(double ps) { return static_cast<Time>(std::llround(ps)); }

constexpr double MOST = 1e17;  // ps, of a parameter: 28 hours

// Six numbers each: from which size on, L, o, g, O, G.
inline Links links(const std::string& name, const std::vector<double>& n) {
  Links found;
  for (std::size_t i = 0; i + 6 <= n.size(); i += 6)
    found.push_back({whole(n[i]), whole(n[i + 1]), whole(n[i + 2]), whole(n[i + 3]), n[i + 4], n[i + 5]});
  bool rising = !found.empty() && found.front().from == 0 && n.size() % 6 == 0;
  for (std::size_t i = 1; i < found.size(); ++i) rising &= found[i - 1].from < found[i].from;
  if (!rising || *std::min_element(n.begin(), n.end()) < 0 || *std::max_element(n.begin(), n.end()) > MOST)
    throw CaseError("parameter " + name +
                    " needs six numbers for each protocol, by rising size from 0, from 0 to 10^17");
  return found;
}

// Four numbers each: of ranks (0), nodes (1) or regions (2), the factor, the first and the last of them.
inline std::vector<Speed> speeds(const std::vector<double>& n) {
  std::vector<Speed> found;
  const auto bad = [](double x) { return x < 0 || x > static_cast<double>(LAST_REGION) || x != std::floor(x); };
  for (std::size_t i = 0; i + 4 <= n.size(); i += 4) {
    if (bad(n[i]) || n[i] > 2 || !(n[i + 1] > 0) || bad(n[i + 2]) || bad(n[i + 3]) || n[i + 2] > n[i + 3])
      throw CaseError("parameter speeds has an unknown place, or a factor that is not above 0");
    found.push_back({static_cast<Speed::Of>(n[i]), n[i + 1], static_cast<std::uint64_t>(n[i + 2]),
                     static_cast<std::uint64_t>(n[i + 3])});
  }
  if (n.size() % 4 != 0) throw CaseError("parameter speeds needs four numbers for each of them");
  return found;
}

inline Scenario scenario(Points& points, std::size_t point, std::uint64_t seed) {
  Scenario found;
  found.across = links("across", points.all("across", point));
  const auto inside = points.all("within", point);
  found.within = inside.empty() ? found.across : links("within", inside);
  for (auto& [name, near] : {std::pair{"cache", &found.same_cache}, std::pair{"socket", &found.same_socket}})
    if (const auto given = points.all(name, point); !given.empty()) *near = links(name, given);
  const auto up = points.numbers("uplinks", point, {0, 0, 0, 0});
  for (std::size_t level = 0; level < LEVELS; ++level) found.uplinks[level] = {up[2 * level], whole(up[2 * level + 1])};
  found.core = points.numbers("core", point, {1})[0];
  found.speeds = speeds(points.all("speeds", point));
  const auto loss = points.numbers("loss", point, {0, 2e11, 1448, 1, 1, 0, 0, 0});
  found.loss = {loss[0],      whole(loss[1]), static_cast<std::int64_t>(loss[2]),
                loss[3] != 0, loss[4] != 0,   whole(loss[5]),
                loss[6] != 0, loss[7] != 0};
  const auto noise = points.numbers("noise", point, {0, 0, 0, 0});
  found.noise = {whole(noise[0]), whole(noise[1]), noise[2], noise[3] != 0};
  found.affected = points.numbers("affected", point, {1})[0];
  found.seed = seed;
  if (!(found.core > 0)) throw CaseError("the speed of the cores must be above 0");
  const double most = found.loss.once ? 1 : std::nextafter(0.5, 0.0);
  if (!(found.loss.probability >= 0 && found.loss.probability <= most))
    throw CaseError(
        "a probability of loss must be between 0 and 0.5: above 0.5, the mean of doubling time-outs is infinite");
  if (found.noise.duration < 0 ||
      (found.noise.probability == 0 && found.noise.duration > 0 && found.noise.duration >= found.noise.period))
    throw CaseError("an interruption must be shorter than its period");
  return found;
}
}  // namespace steelyard::whatif
