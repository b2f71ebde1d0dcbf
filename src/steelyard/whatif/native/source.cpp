// Reads a text in pieces.
#include "source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "schedule.h"

namespace steelyard::whatif {
namespace {

constexpr std::size_t PIECE = 1 << 20;  // B

}  // namespace

Source::Source(const std::string& path) : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
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

Source::~Source() {
  if (file_ >= 0) close(file_);
}

bool Source::more() {
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

void Source::refuse(const std::string& reason) const {
  throw Refused(path_ + ", line " + std::to_string(number_) + ": " + reason);
}

}  // namespace steelyard::whatif
