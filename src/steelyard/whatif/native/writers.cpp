// Common parts of all writers: their file, and numbers for messages.
#include "writers.h"

#include <cerrno>
#include <cstring>
#include <unordered_map>

namespace steelyard::whatif {

Output::Output(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "w")) {
  if (!file_) throw Unwritable("'" + path_ + "' cannot be written: " + std::strerror(errno));
}
Output::~Output() {
  if (file_) std::fclose(file_);
}
void Output::write(const char* format, ...) {
  va_list words;
  va_start(words, format);
  std::vfprintf(file_, format, words);
  va_end(words);
}
void Output::close() {
  const bool failed = std::ferror(file_) != 0;
  const bool unwritten = std::fclose(file_) != 0;
  file_ = nullptr;
  if (failed || unwritten) throw Unwritable("'" + path_ + "' cannot be written: " + std::strerror(errno));
}

std::vector<std::uint32_t> tags_of(const Schedule& schedule) {
  std::unordered_map<std::uint64_t, std::uint32_t> counts;
  std::vector<std::uint32_t> found;
  found.reserve(schedule.source.size());
  for (std::size_t m = 0; m < schedule.source.size(); ++m)
    found.push_back(counts[std::uint64_t{schedule.source[m]} << 32 | schedule.target[m]]++);
  return found;
}

}  // namespace steelyard::whatif
