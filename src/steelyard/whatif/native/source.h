// A text that is read once from begin to end: a file in pieces, so that it needs no memory, or what lies in memory.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "digest.h"
#include "schedule.h"

namespace steelyard::whatif {

constexpr std::size_t PIECE = 1 << 20;  // B

class Source {
 public:
  // Refused where the file cannot be read.
  explicit Source(const std::string& path) : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat about{};
    if (file_ < 0 || fstat(file_, &about) != 0) {
      const std::string why = std::strerror(errno);
      if (file_ >= 0) close(file_);
      throw Refused("The trace '" + path + "' cannot be read: " + why);
    }
    if (!S_ISREG(about.st_mode)) {
      close(file_);
      throw Refused("The trace '" + path + "' is not a file");
    }
    size_ = static_cast<std::size_t>(about.st_size);
  }
  Source(std::string path, std::string_view text) : path_(std::move(path)), left_(text), size_(text.size()) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (file_ >= 0) close(file_);
  }

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // B of all of it
  // The next line without its end, valid until the next call; false at the end.
  bool line(std::string_view& found) {
    std::size_t end = left_.find('\n');
    if (end == std::string_view::npos && more()) return line(found);
    if (left_.empty()) return false;
    found = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    if (++number_ == 1 && found.starts_with(UTF_8)) found.remove_prefix(UTF_8.size());
    return true;
  }
  // Returns the digest of all bytes that were read so far from the file.
  Digest::Value content() const { return digest_.value(); }
  // Reads what is left, and returns the digest of everything.
  Digest::Value read_whole() {
    do left_ = {};
    while (more());
    return content();
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Refused(path_ + ", line " + std::to_string(number_) + ": " + reason);
  }

 private:
  static constexpr std::string_view UTF_8 = "\xef\xbb\xbf";  // some editors' mark at the begin
  // Reads on behind what is left; false at the end.
  bool more() {
    if (file_ < 0) return false;
    const std::size_t kept = left_.size();
    if (buffer_.size() < kept + PIECE) {  // at the first call, and for a line that is longer than a piece
      std::vector<char> larger(2 * kept + PIECE);
      if (kept > 0) std::memcpy(larger.data(), left_.data(), kept);
      buffer_.swap(larger);
    } else {
      if (kept > 0) std::memmove(buffer_.data(), left_.data(), kept);
    }
    ssize_t found;
    do found = ::read(file_, buffer_.data() + kept, buffer_.size() - kept);
    while (found < 0 && errno == EINTR);
    if (found < 0) throw Refused("The trace '" + path_ + "' cannot be read: " + std::strerror(errno));
    left_ = {buffer_.data(), kept + static_cast<std::size_t>(found)};
    digest_.add(left_.substr(kept));
    return found > 0;
  }

  std::string path_;
  std::string_view left_;
  std::size_t size_ = 0, number_ = 0;
  int file_ = -1;
  std::vector<char> buffer_;
  Digest digest_;
};

}  // namespace steelyard::whatif
