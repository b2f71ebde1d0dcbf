// The ranks' files of a trace of ours.
#pragma once
#include <string>
#include <vector>

#include "traced_file.h"

namespace steelyard::whatif {

class RankFiles {
 public:
  explicit RankFiles(const std::string& path);

  const std::string& path() const { return path_; }
  std::size_t size() const { return names_.size(); }
  // Reads the file of that rank.
  RankFile of(std::uint32_t rank) const { return {names_[rank], contents(names_[rank]), rank}; }

 private:
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace steelyard::whatif
