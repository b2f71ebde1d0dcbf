// Cuts text into lines and words.
#include "text.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace steelyard::whatif {

std::string contents(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    throw Refused("The trace '" + path + "' cannot be read: " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw Refused("The trace '" + path + "' is not a file");
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw Refused("The trace '" + path + "' cannot be read: " + std::strerror(errno));
  return text;
}

std::string begin_of(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

bool Lines::next() {
  while (!left_.empty()) {
    ++line_;
    std::size_t end = left_.find('\n');
    std::string_view line = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    words_.clear();
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
      std::size_t stop = std::min(line.find_first_of(" \t\r", at), line.size());
      std::string_view word = line.substr(at, stop - at);
      if (word.front() == '#' || word.starts_with("//")) break;
      words_.push_back(word);
      at = stop;
    }
    if (!words_.empty()) return true;
  }
  return false;
}

void Lines::refuse(const std::string& reason) const {
  throw Refused(path_ + ", line " + std::to_string(line_) + ": " + reason);
}

}  // namespace steelyard::whatif
