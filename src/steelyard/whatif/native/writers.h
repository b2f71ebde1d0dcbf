// The formats of traces that are written, for other tools.
#pragma once
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>

#include "timeline.h"

namespace steelyard::whatif {

// A text file. Refused where it cannot be written, at the latest when it is closed.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "w")) {
    if (!file_) throw Unwritable("'" + path_ + "' cannot be written: " + std::strerror(errno));
  }
  ~Output() {
    if (file_) std::fclose(file_);
  }
  Output(const Output&) = delete;
  [[gnu::format(printf, 2, 3)]] void write(const char* format, ...) {
    va_list words;
    va_start(words, format);
    std::vfprintf(file_, format, words);
    va_end(words);
  }
  void raw(const std::string& bytes) { std::fwrite(bytes.data(), 1, bytes.size(), file_); }
  void close() {
    const bool failed = std::ferror(file_) != 0;
    const bool unwritten = std::fclose(file_) != 0;
    file_ = nullptr;
    if (failed || unwritten) throw Unwritable("'" + path_ + "' cannot be written: " + std::strerror(errno));
  }

 private:
  const std::string path_;
  std::FILE* file_;
};

// A number for each message, by which its two ranks know it among those from the one to the other.
inline std::vector<std::uint32_t> list_tags(const Schedule& schedule) {
  std::unordered_map<std::uint64_t, std::uint32_t> counts;
  std::vector<std::uint32_t> found;
  found.reserve(schedule.source.size());
  for (std::size_t m = 0; m < schedule.source.size(); ++m)
    found.push_back(counts[std::uint64_t{schedule.source[m]} << 32 | schedule.target[m]]++);
  return found;
}

}  // namespace steelyard::whatif
