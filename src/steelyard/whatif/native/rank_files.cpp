// Finds the files of a trace's ranks.
#include "rank_files.h"

#include <filesystem>

#include "liballprof.h"

namespace steelyard::whatif {
namespace {

std::vector<std::string> own_files(const std::string& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    files += name.starts_with("rank-") && name.ends_with(".trace");
  }
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < files; ++rank) names.push_back(folder + "/rank-" + std::to_string(rank) + ".trace");
  return names;
}

}  // namespace

bool is_traced(const std::string& path) { return std::filesystem::is_directory(path) || is_liballprof(path); }

RankFiles::RankFiles(const std::string& path) : path_(path) {
  if (std::filesystem::is_directory(path)) names_ = own_files(path);
  if (!names_.empty()) return;
  names_ = liballprof_files(path);
  if (names_.empty())
    throw Refused("The folder '" + path +
                  "' has no trace: no file rank-0.trace, as steelyard trace writes it, and none" +
                  " of Liballprof, as pmpi-trace-rank-0.txt");
  texts_ = translate(names_);
}

}  // namespace steelyard::whatif
