// What happens to message buffers before and after the samples: compiled once for all programs that send messages.
#include "messages.h"

#include <unistd.h>

#include <map>
#include <string>

namespace steelyard {

// Bytes of all last-level caches of this machine together, each instance once.
static std::size_t last_level_caches() {
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

Messages::Messages(Params& p, Ranks& ranks, std::size_t bytes, bool active, std::size_t count)
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

// Row by row: the pattern repeats every 251 bytes.
void Messages::fill(std::size_t length, int rank) const {
  constexpr std::size_t row = 251 * 256;
  char* to = out_->data();
  for (std::size_t i = 0; i < std::min(row, length); ++i) to[i] = static_cast<char>(pattern(i, rank));
  for (std::size_t at = row; at < length; at += row) std::memcpy(to + at, to, std::min(row, length - at));
}

}  // namespace steelyard
