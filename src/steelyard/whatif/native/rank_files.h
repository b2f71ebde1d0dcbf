// The ranks' files of a trace of ours.
#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats.h"
#include "traced_file.h"

namespace steelyard::whatif {

inline std::vector<std::string> list_own_files(const std::string& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    files += name.starts_with("rank-") && name.ends_with(".trace");
  }
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < files; ++rank) names.push_back(folder + "/rank-" + std::to_string(rank) + ".trace");
  return names;
}

// Returns the first file of a folder without a trace that is a trace in one file, or has a known format.
inline std::string list_contained(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string begin = begin_of(file.string(), LOOK);
    Lines lines(file.string(), begin);
    if (lines.next() && (lines.words()[0] == "num_ranks" || (lines.words().size() > 1 && lines.words()[1] == "init")))
      return "Name the file: '" + file.string() + "'";
    if (const std::string_view what = foreign(begin); !what.empty())
      return "Its file '" + file.filename().string() + "' is " + std::string(what.substr(0, what.find('|'))) + ". " +
             READABLE;
  }
  return READABLE;
}

class RankFiles {
 public:
  explicit RankFiles(const std::string& path) : path_(path), names_(list_own_files(path)) {
    if (names_.empty())
      throw Refused("The folder '" + path + "' has no trace: the file rank-0.trace of steelyard trace is missing. " +
                    list_contained(path));
  }

  const std::string& path() const { return path_; }
  std::size_t size() const { return names_.size(); }
  // Reads the file of that rank.
  RankFile of(std::uint32_t rank) const { return {names_[rank], contents(names_[rank]), rank}; }

 private:
  std::string path_;
  std::vector<std::string> names_;
};

inline bool is_traced(const std::string& path) { return std::filesystem::is_directory(path); }

}  // namespace steelyard::whatif
