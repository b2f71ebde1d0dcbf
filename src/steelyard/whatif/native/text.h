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

#include "source.h"

namespace steelyard::whatif {

// The number that a word of a text is; the text refuses another word with its place.
template <class T, class Text>
T number_in(std::string_view word, const char* what, const Text& text) {
  T value{};
  // Most numbers have few digits, and for these std::from_chars takes several times as long.
  if (std::is_integral_v<T> && word.size() < 9 && !word.empty()) {
    bool digits = true;
    for (const char c : word) value = static_cast<T>(10 * value + (c - '0')), digits &= c >= '0' && c <= '9';
    if (digits) return value;
  }
  auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc{} || end != word.data() + word.size())
    text.refuse("'" + std::string(word.substr(0, 60)) + "' is not a " + what);
  return value;
}

class Lines {
 public:
  Lines(std::string path, std::string_view text) : source_(std::move(path), text) {}

  // The next line that has words; false at the end.
  bool next() {
    for (std::string_view line; source_.line(line);) {
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
  const std::vector<std::string_view>& words() const { return words_; }
  std::string_view word(std::size_t which, const char* what) const {
    if (which >= words_.size()) refuse(std::string("the line ends where ") + what + " is expected");
    return words_[which];
  }
  template <class T>
  T number(std::size_t which, const char* what) const {
    return number_in<T>(word(which, what), what, source_);
  }
  template <class T>
  T number(std::size_t which, const char* what, T otherwise) const {
    return which < words_.size() ? number<T>(which, what) : otherwise;
  }
  [[noreturn]] void refuse(const std::string& reason) const { source_.refuse(reason); }

 private:
  Source source_;
  std::vector<std::string_view> words_;
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
