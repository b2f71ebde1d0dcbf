// The cached schedule of a text, so that the text is not parsed again.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "schedule.h"
#include "source.h"

namespace steelyard::whatif {

// The origin of a cached schedule: the state of the file, and the speed that converts its work to times.
struct Origin {
  std::int64_t size = 0, seconds = 0, nanoseconds = 0;  // of the file, and of its last change
  double speed = 0;
  Digest::Value content{};
  bool operator==(const Origin&) const = default;
};

constexpr char MARK[8] = {'S', 'T', 'L', 'Y', 'K', 'P', 'T', '1'};
constexpr std::uint64_t MOST_KEPT = std::uint64_t{8} << 30;  // B: a larger schedule is not kept

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

// A file without a buffer, so that what cannot be written is known at once; null where it cannot be opened.
struct Closing {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closing>;
inline File open_file(const std::string& path, int flags, const char* mode) {
  const int number = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  File file(number < 0 ? nullptr : fdopen(number, mode));
  if (file) std::setvbuf(file.get(), nullptr, _IONBF, 0);
  return file;
}
inline bool take(const File& file, void* to, std::size_t size) { return std::fread(to, 1, size, file.get()) == size; }
inline bool put(const File& file, std::string_view from) {
  return std::fwrite(from.data(), 1, from.size(), file.get()) == from.size();
}

// Returns the origin of a file, without its content; nothing if it is not an ordinary file.
inline std::optional<Origin> find_origin(const std::string& trace, double speed) {
  struct stat about{};
  if (stat(trace.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return Origin{about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec, speed, {}};
}

// Returns the cached schedule of the trace; none if there is none, if the trace has changed, or if the entry is
// damaged, belongs to another user, or can be written by others.
inline std::optional<Schedule> kept(const std::string& path, const std::string& trace, double speed) {
  const File file = open_file(path, O_RDONLY | O_NONBLOCK, "r");
  struct stat about{};
  if (!file || fstat(fileno(file.get()), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (about.st_uid != geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) return {};
  Head head{};
  if (!take(file, &head, sizeof head) || std::memcmp(head.mark, MARK, sizeof MARK) != 0) return {};
  Schedule found;
  std::uint64_t left = static_cast<std::uint64_t>(about.st_size) - sizeof head;
  std::size_t which = 0;
  bool whole = true;
  const Digest::Value expected = head.content;
  head.content = {};
  Digest digest;
  digest.add({reinterpret_cast<const char*>(&head), sizeof head});
  auto now = find_origin(trace, speed);
  if (!now) return {};
  now->content = head.origin.content;
  if (*now != head.origin) return {};
  each_array(found, [&](auto& array) {
    const std::uint64_t count = head.counts[which++], size = sizeof array[0];
    whole = whole && count <= left / size;
    if (!whole) return;
    left -= count * size;
    array.resize(count);
    whole = take(file, array.data(), count * size);
    digest.add(bytes_of(array));
  });
  if (!whole || left > 0 || digest.value() != expected) return {};
  if (Source(trace).read_whole() != head.origin.content) return {};
  static_cast<Counted&>(found) = head.counted;
  return found;
}

// Stores the schedule; if that fails, nothing is stored.
inline void keep(const std::string& path, const Schedule& schedule, const Origin& origin) {
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
  if (const File file = open_file(making, O_WRONLY | O_CREAT | O_EXCL, "w")) {
    whole = put(file, head_bytes);
    each_array(schedule, [&](const auto& array) { whole = whole && put(file, bytes_of(array)); });
  } else {
    return;
  }
  if (!whole || std::rename(making.c_str(), path.c_str()) != 0) unlink(making.c_str());
}

}  // namespace steelyard::whatif
