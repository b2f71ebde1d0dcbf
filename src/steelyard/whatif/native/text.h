// A trace as text, line by line, in words. Errors name the file and the line.
#pragma once
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "schedule.h"

namespace steelyard::whatif {

// The file whole. Refused where it cannot be read.
std::string contents(const std::string& path);
// At most so many bytes of its begin; "" where it cannot be read.
std::string begin_of(const std::string& path, std::size_t most);

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
  bool next();
  [[noreturn]] void refuse(const std::string& reason) const override;

 private:
  std::string path_;
  std::string_view left_;
  std::size_t line_ = 0;
};

// Ranks that a text may be of: each has a line of its own. One that is named takes some hundred bytes of memory.
inline std::size_t most_ranks(std::size_t bytes) { return std::min<std::size_t>(bytes / 5 + 1, 1u << 27); }
constexpr std::int64_t MOST_BYTES = std::int64_t{1} << 50;

}  // namespace steelyard::whatif
