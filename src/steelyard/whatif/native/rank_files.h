// The ranks' files of a trace: a folder of ours, or Liballprof's, which are made such when they are opened.
#pragma once
#include <string>
#include <vector>

#include "traced_file.h"

namespace steelyard::whatif {

class RankFiles {
 public:
  explicit RankFiles(const std::string& path);
  // Already read: what the files hold, by rank.
  RankFiles(std::string path, std::vector<std::string> texts)
      : path_(std::move(path)), names_(texts.size(), path_), texts_(std::move(texts)) {}

  const std::string& path() const { return path_; }
  std::size_t size() const { return names_.size(); }
  RankFile of(std::uint32_t rank) const {
    return {names_[rank], texts_.empty() ? contents(names_[rank]) : texts_[rank], rank};
  }

 private:
  std::string path_;
  std::vector<std::string> names_, texts_;  // of ours the texts are read one at a time
};

}  // namespace steelyard::whatif
