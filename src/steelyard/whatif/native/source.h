// A text that is read once from begin to end: a file in pieces, so that it needs no memory, or what lies in memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "digest.h"

namespace steelyard::whatif {

class Source {
 public:
  // Refused where the file cannot be read.
  explicit Source(const std::string& path);
  Source(std::string path, std::string_view text) : path_(std::move(path)), left_(text), size_(text.size()) {
    digest_.add(text);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // B of all of it
  // The next line without its end, valid until the next call; false at the end.
  bool line(std::string_view& found) {
    std::size_t end = left_.find('\n');
    if (end == std::string_view::npos && more()) return line(found);
    if (left_.empty()) return false;
    found = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    ++number_;
    return true;
  }
  std::size_t number() const { return number_; }  // of that line, from 1 on
  // Returns the digest of all bytes that were read so far.
  Digest::Value content() const { return digest_.value(); }
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  // Reads on behind what is left; false at the end.
  bool more();

  std::string path_;
  std::string_view left_;
  std::size_t size_ = 0, number_ = 0;
  int file_ = -1;
  std::vector<char> buffer_;
  Digest digest_;
};

}  // namespace steelyard::whatif
