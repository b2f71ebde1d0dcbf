// Writes and reads kept schedules: a head, and the arrays as they lie in memory.
#include "kept.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace steelyard::whatif {
namespace {

constexpr char MARK[8] = {'S', 'T', 'L', 'Y', 'K', 'P', 'T', '1'};
constexpr std::uint64_t MOST_KEPT = std::uint64_t{512} << 20;  // B: a larger schedule is not kept
constexpr std::size_t PIECE_READ = 1 << 20;

struct Head {
  char mark[8];
  Origin origin;
  Digest::Value content;  // of this head, with nothing here, and of all that follows
  std::uint64_t counts[6];
  Counted counted;
};

template <class Schedule, class Act>
void each_array(Schedule& schedule, Act act) {
  act(schedule.ops), act(schedule.begins), act(schedule.rank_of);
  act(schedule.source), act(schedule.target), act(schedule.sizes);
}
template <class T>
std::string_view bytes_of(const std::vector<T>& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size() * sizeof(T)};
}

// A file that is closed at the end.
class File {
 public:
  File(const std::string& path, int flags) : file_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ >= 0) close(file_);
  }
  bool opened() const { return file_ >= 0; }
  bool about(struct stat& found) const { return fstat(file_, &found) == 0; }
  bool take(void* to, std::size_t size) const {
    for (auto* at = static_cast<char*>(to); size > 0;) {
      const ssize_t found = ::read(file_, at, size);
      if (found <= 0) return false;
      at += found, size -= static_cast<std::size_t>(found);
    }
    return true;
  }
  bool put(std::string_view from) const {
    while (!from.empty()) {
      const ssize_t done = ::write(file_, from.data(), from.size());
      if (done <= 0) return false;
      from.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

 private:
  int file_;
};

std::optional<Digest::Value> content_of(const std::string& path) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  struct stat about{};
  if (!file.opened() || !file.about(about)) return {};
  Digest digest;
  std::string piece(PIECE_READ, '\0');
  for (auto left = static_cast<std::size_t>(about.st_size); left > 0;) {
    const std::size_t size = std::min(left, piece.size());
    if (!file.take(piece.data(), size)) return {};
    digest.add(std::string_view(piece).substr(0, size));
    left -= size;
  }
  return digest.value();
}

}  // namespace

std::optional<Origin> origin_of(const std::string& trace, double speed) {
  struct stat about{};
  if (stat(trace.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return Origin{about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec, speed, {}};
}

std::optional<Schedule> kept(const std::string& path, const std::string& trace, double speed) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  struct stat about{};
  if (!file.opened() || !file.about(about) || !S_ISREG(about.st_mode)) return {};
  if (about.st_uid != geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) return {};
  Head head{};
  if (!file.take(&head, sizeof head) || std::memcmp(head.mark, MARK, sizeof MARK) != 0) return {};
  Schedule found;
  std::uint64_t left = static_cast<std::uint64_t>(about.st_size) - sizeof head;
  std::size_t which = 0;
  bool whole = true;
  const Digest::Value expected = head.content;
  head.content = {};
  Digest digest;
  digest.add({reinterpret_cast<const char*>(&head), sizeof head});
  auto now = origin_of(trace, speed);
  if (!now) return {};
  now->content = head.origin.content;
  if (*now != head.origin) return {};
  each_array(found, [&](auto& array) {
    const std::uint64_t count = head.counts[which++], size = sizeof array[0];
    whole = whole && count <= left / size;
    if (!whole) return;
    left -= count * size;
    array.resize(count);
    whole = file.take(array.data(), count * size);
    digest.add(bytes_of(array));
  });
  if (!whole || left > 0 || digest.value() != expected) return {};
  if (content_of(trace) != head.origin.content) return {};
  static_cast<Counted&>(found) = head.counted;
  return found;
}

void keep(const std::string& path, const Schedule& schedule, const Origin& origin) {
  Head head{};
  std::memcpy(head.mark, MARK, sizeof MARK);
  head.origin = origin;
  head.counted = schedule;
  std::size_t which = 0;
  std::uint64_t size = 0;
  each_array(schedule, [&](const auto& array) {
    head.counts[which++] = array.size();
    size += bytes_of(array).size();
  });
  if (size > MOST_KEPT) return;
  const std::string_view head_bytes{reinterpret_cast<const char*>(&head), sizeof head};
  Digest digest;
  digest.add(head_bytes);
  each_array(schedule, [&](const auto& array) { digest.add(bytes_of(array)); });
  head.content = digest.value();
  const std::string making = path + ".part" + std::to_string(getpid());
  bool whole = false;
  if (const File file(making, O_WRONLY | O_CREAT | O_EXCL); file.opened()) {
    whole = file.put(head_bytes);
    each_array(schedule, [&](const auto& array) { whole = whole && file.put(bytes_of(array)); });
  } else {
    return;
  }
  if (!whole || std::rename(making.c_str(), path.c_str()) != 0) unlink(making.c_str());
}

}  // namespace steelyard::whatif
