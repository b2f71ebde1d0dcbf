// Message buffers: the same place again and again, or a walk through memory that no cache holds any more.
#pragma once
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "rank_kernel.h"

namespace steelyard {

// Bytes of all last-level caches of this machine together, each instance once.
[[gnu::cold]] inline std::size_t last_level_caches() {
  std::map<int, std::map<std::string, std::size_t>> instances;  // level → who shares it → bytes
  for (unsigned cpu = 0; cpu < static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)); ++cpu)
    for (int index = 0; index < 8; ++index) {
      std::string folder = join({"/sys/devices/system/cpu/cpu", cpu, "/cache/index", index, "/"});
      std::string size = first_line(join({folder, "size"}));
      if (size.empty() || first_line(join({folder, "type"})) == "Instruction") continue;
      std::size_t bytes = std::strtoull(size.c_str(), nullptr, 10) << (size.back() == 'M' ? 20 : 10);
      instances[std::atoi(first_line(join({folder, "level"})).c_str())][first_line(join({folder, "shared_cpu_list"}))] =
          bytes;
    }
  std::size_t all = 0;
  if (!instances.empty())
    for (const auto& [shared, bytes] : instances.rbegin()->second) all += bytes;
  return all ? all : std::size_t{32} << 20;  // the system states no size: 32 MiB are more than most caches
}

// What stands at this offset of a rank's buffer of outgoing messages: the sender and the place can be distinguished
// from it.
inline unsigned char pattern(std::size_t offset, int sender) {
  return static_cast<unsigned char>(offset % 251 + static_cast<std::size_t>(sender) * 31 + 1);
}

// `count` messages of `bytes` side by side, at a place that moves on where buffers are fresh.
class Messages {
 public:
  static constexpr std::size_t line = 64, usual = std::size_t{4} << 20;

  // Ranks that take no part need no memory.
  [[gnu::cold]] Messages(Params& p, Ranks& ranks, std::size_t bytes, bool active, std::size_t count = 1)
      : bytes_(bytes),
        stride_((count * std::max<std::size_t>(bytes, 1) + line - 1) / line * line + line),
        fresh_(p.choice("buffers", "reused", {"reused", "fresh"}) == "fresh"),
        policy_(p) {
    // Through twice all caches before a place comes again, as IMB's -off_cache does with the size that it is reported.
    std::size_t walk = 0;
    if (fresh_) {
      static const std::size_t caches = last_level_caches();
      int here = 0;
      for (int r = 0; r < ranks.size(); ++r) here += ranks.same_machine(r, ranks.rank());
      // Two buffers a rank in half of what there is; the least of all ranks, since both ends must know each place.
      auto mine = static_cast<double>(std::min(2 * caches, available_memory() / (4 * static_cast<std::size_t>(here))));
      walk = static_cast<std::size_t>(-ranks.world().greatest(-mine));
      places_ = std::max<std::size_t>(2, walk / stride_);
    }
    if (!active) return;
    // Few different lengths, so that the memory is kept from case to case.
    std::size_t length = std::max(places_ * stride_, fresh_ ? walk + line : usual + line);
    out_.emplace(length, policy_, ranks.team());
    in_.emplace(length, policy_, ranks.team());
    std::string content = join({"messages of rank ", ranks.rank()});
    if (!out_->still_holds(content)) fill(length, ranks.rank());
    out_->promise(content);
  }

  char* out(std::size_t index = 0) const { return out_->data() + place_ * stride_ + index * bytes_; }
  char* in(std::size_t index = 0) const { return in_->data() + place_ * stride_ + index * bytes_; }
  std::size_t bytes() const { return bytes_; }
  int length() const { return static_cast<int>(bytes_); }
  std::size_t place() const { return place_; }
  std::size_t places() const { return places_; }
  // To the next place; the same one where buffers are reused.
  void next() { place_ = place_ + 1 == places_ ? 0 : place_ + 1; }

  void forget() const { std::memset(in(), 0, stride_ - line); }
  // Whether message `index`, since `forget`, is what `sender` has at its own place `place`; an empty one must have
  // changed nothing.
  bool holds(int sender, std::size_t place, std::size_t index = 0) const {
    char* came = in(index);
    if (corrupt_) ++came[bytes_ / 3];
    if (bytes_ == 0) return *came == 0;
    for (std::size_t i = 0; i < bytes_; ++i)
      if (static_cast<unsigned char>(came[i]) != pattern(place * stride_ + index * bytes_ + i, sender)) return false;
    return true;
  }
  // A check sends a message of its own, which would repair what was spoiled before: it is spoiled when it has come.
  void corrupt() { corrupt_ = true; }

 private:
  // Row by row: the pattern repeats every 251 bytes.
  void fill(std::size_t length, int rank) const {
    constexpr std::size_t row = 251 * 256;
    char* to = out_->data();
    for (std::size_t i = 0; i < std::min(row, length); ++i) to[i] = static_cast<char>(pattern(i, rank));
    for (std::size_t at = row; at < length; at += row) std::memcpy(to + at, to, std::min(row, length - at));
  }

  std::size_t bytes_, stride_, places_ = 1, place_ = 0;
  bool fresh_, corrupt_ = false;
  MemoryPolicy policy_;
  std::optional<Buffer<char>> out_, in_;
};

}  // namespace steelyard
