// Finds Liballprof's files, which it calls pmpi-trace-rank-0.txt where nobody asks for another name.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "liballprof.h"
#include "schedule.h"

namespace steelyard::whatif {
namespace {

// A name in three: what is before its last number, the number, and what is behind it.
struct Name {
  std::string before, behind;
  std::uint64_t number = 0;
  bool numbered = false;
};

Name taken_apart(const std::string& name) {
  constexpr const char* DIGITS = "0123456789";
  const std::size_t last = name.find_last_of(DIGITS);
  if (last == std::string::npos) return {name, "", 0, false};
  const std::size_t before = name.find_last_not_of(DIGITS, last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  std::uint64_t number = 0;
  const auto read = std::from_chars(name.data() + first, name.data() + last + 1, number);
  return {name.substr(0, first), name.substr(last + 1), number, read.ec == std::errc{}};
}

// The files of the folder with such a name, by number.
std::vector<std::string> all(const std::filesystem::path& folder, const Name& wanted) {
  std::map<std::uint64_t, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder)) {
    if (!entry.is_regular_file()) continue;
    const Name name = taken_apart(entry.path().filename().string());
    if (!name.numbered || name.before != wanted.before || name.behind != wanted.behind) continue;
    if (!found.emplace(name.number, entry.path().string()).second)
      throw Refused("The files '" + found[name.number] + "' and '" + entry.path().string() + "' are of the same rank");
  }
  std::vector<std::string> names;
  for (auto& [number, name] : found) {
    if (number != names.size())
      throw Refused("The trace of '" + name + "' lacks the file of rank " + std::to_string(names.size()));
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

bool is_liballprof(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    return line.compare(first, 4, "MPI_") == 0;
  }
  return false;
}

std::vector<std::string> liballprof_files(const std::string& path) {
  const std::filesystem::path given(path);
  if (std::filesystem::is_regular_file(given)) {
    const Name name = taken_apart(given.filename().string());
    return name.numbered ? all(given.parent_path(), name) : std::vector<std::string>{path};
  }
  std::map<std::pair<std::string, std::string>, Name> traces;
  for (const auto& entry : std::filesystem::directory_iterator(given)) {
    const Name name = taken_apart(entry.path().filename().string());
    if (name.numbered && is_liballprof(entry.path().string()))
      traces.emplace(std::pair(name.before, name.behind), name);
  }
  if (traces.size() > 1)
    throw Refused("The folder '" + path + "' has several traces of Liballprof: name a file of one of them");
  return traces.empty() ? std::vector<std::string>{} : all(given, traces.begin()->second);
}

}  // namespace steelyard::whatif
