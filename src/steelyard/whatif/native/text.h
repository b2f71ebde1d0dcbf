// A trace as text, line by line, in words. Errors name the file and the line.
#pragma once
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "schedule.h"

namespace steelyard::whatif {

// The words of a line of a trace.
class Words {
 public:
  const std::vector<std::string_view>& words() const { return words_; }
  std::string_view word(std::size_t which, const char* what) const {
    if (which >= words_.size()) refuse(std::string("the line ends where ") + what + " is expected");
    return words_[which];
  }
  template <class T>
  T number(std::size_t which, const char* what) const {
    return parsed<T>(word(which, what), what);
  }
  template <class T>
  T number(std::size_t which, const char* what, T otherwise) const {
    return which < words_.size() ? number<T>(which, what) : otherwise;
  }
  template <class T>
  T parsed(std::string_view word, const char* what) const {
    T value{};
    auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc{} || end != word.data() + word.size())
      refuse("'" + std::string(word.substr(0, 60)) + "' is not a " + what);
    return value;
  }
  [[noreturn]] virtual void refuse(const std::string& reason) const = 0;

 protected:
  ~Words() = default;
  std::vector<std::string_view> words_;
};

class Lines final : public Words {
 public:
  Lines(std::string path, std::string_view text) : path_(std::move(path)), left_(text) {
    if (left_.starts_with("\xef\xbb\xbf")) left_.remove_prefix(3);  // some editors' mark of UTF-8
  }

  // The next line that has words; false at the end.
  bool next() {
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
  [[noreturn]] void refuse(const std::string& reason) const override {
    throw Refused(path_ + ", line " + std::to_string(line_) + ": " + reason);
  }

 private:
  std::string path_;
  std::string_view left_;
  std::size_t line_ = 0;
};

// Ranks that a text may be of: each has a line of its own. One that is named takes some hundred bytes of memory.
inline std::size_t most_ranks(std::size_t bytes) { return std::min<std::size_t>(bytes / 5 + 1, 1u << 27); }
constexpr std::int64_t MOST_BYTES = std::int64_t{1} << 50;

// The file whole. Refused where it cannot be read.
inline std::string contents(const std::string& path) {
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

// At most so many bytes of its begin; "" where it cannot be read.
inline std::string begin_of(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace steelyard::whatif
