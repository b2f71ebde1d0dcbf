// Prepares message buffers before the samples and checks them afterwards. Compiled once for all programs with messages.
#include "messages.h"

#include <dlfcn.h>
#include <unistd.h>

#include <map>
#include <string>

namespace steelyard {

// Refuses an MPI that states that it cannot send memory of such a device, or does not state it: that ends in a crash.
static void expect_support(bool cuda) {
  if (const char* sure = std::getenv("STEELYARD_DEVICE_MPI"); sure && *sure == '1') return;
  for (const char* name : {"MPICH_GPU_SUPPORT_ENABLED", "I_MPI_OFFLOAD", "MV2_USE_CUDA", "MV2_USE_ROCM"})
    if (const char* value = std::getenv(name); value && *value != '0') return;
  const std::vector<const char*> names =
      cuda ? std::vector{"MPIX_Query_cuda_support"} : std::vector{"MPIX_Query_rocm_support", "MPIX_Query_hip_support"};
  std::string answer = "has no function that states it";
  for (const char* name : names) {
    auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name));
    if (query && query() == 1) return;
    if (query) answer = join({"says no (", name, ")"});
  }
  throw CaseError(join({"buffers='device' needs an MPI that sends memory of ", cuda ? "CUDA" : "HIP", ", and this one ",
                        answer, ". Use another MPI. STEELYARD_DEVICE_MPI=1 tries this one, which can crash"}));
}

accelerator::Device& device_of(const Ranks& ranks) {
  // Never closed: a driver may have ended before static objects do.
  static accelerator::Device* device = nullptr;
  if (!device) {
    const bool cuda = accelerator::count_devices("cuda") > 0;
    const std::string door = cuda ? "cuda" : "hip";
    const std::size_t count = accelerator::count_devices(door);
    if (count == 0)
      throw CaseError(
          "buffers='device': no driver of this machine (CUDA, HIP) has a device. Use reused or fresh buffers");
    expect_support(cuda);
    accelerator::Unpinned unpinned;
    device =
        accelerator::open_driver(door, static_cast<std::size_t>(ranks.place(ranks.rank()).local) % count).release();
  }
  return *device;
}

MessageMemory::MessageMemory(std::size_t bytes, const MemoryPolicy& policy, Ranks& ranks, accelerator::Device* device)
    : host_(bytes, policy, ranks.team()),
      device_(device),
      data_(device ? static_cast<char*>(device->give(bytes)) : host_.data()) {}
MessageMemory::~MessageMemory() {
  if (device_) device_->release(data_);
}
void MessageMemory::send(std::size_t first, std::size_t bytes) const {
  if (device_) device_->copy_to(data_, host_.data() + first, first, bytes, false), device_->finish();
}
void MessageMemory::fetch(std::size_t first, std::size_t bytes) const {
  if (device_) device_->copy_from(data_, host_.data() + first, first, bytes, false), device_->finish();
}

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
      fresh_(p.choice("buffers", "reused", {"reused", "fresh", "device"}) == "fresh"),
      policy_(p) {
  const bool of_device = p.word("buffers", "reused") == "device";
  // Through twice all caches before a place comes again, as IMB's -off_cache does with the size that it is reported.
  std::size_t walk = 0;
  if (fresh_) {
    static const std::size_t caches = last_level_caches();
    const std::size_t here = ranks.on_this_machine().size();
    // Two buffers a rank in half of what there is; the least of all ranks, since both ends must know each place.
    auto mine = static_cast<double>(std::min(2 * caches, available_memory() / (4 * here)));
    walk = static_cast<std::size_t>(-ranks.world().greatest(-mine));
    places_ = std::max<std::size_t>(2, walk / stride_);
  }
  if (!active) return;
  // Few different lengths, so that the memory is kept from case to case.
  std::size_t length = std::max(places_ * stride_, fresh_ ? walk + line : usual + line);
  accelerator::Device* device = of_device ? &device_of(ranks) : nullptr;
  out_.emplace(length, policy_, ranks, device);
  in_.emplace(length, policy_, ranks, device);
  std::string content = join({"messages of rank ", ranks.rank()});
  if (!out_->host().still_holds(content)) fill(length, ranks.rank());
  out_->host().promise(content);
  out_->send(0, length);
}

// Row by row: the pattern repeats every 251 bytes.
void Messages::fill(std::size_t length, int rank) const {
  constexpr std::size_t row = 251 * 256;
  char* to = out_->host().data();
  for (std::size_t i = 0; i < std::min(row, length); ++i) to[i] = static_cast<char>(pattern_byte(i, rank));
  for (std::size_t at = row; at < length; at += row) std::memcpy(to + at, to, std::min(row, length - at));
}

}  // namespace steelyard
