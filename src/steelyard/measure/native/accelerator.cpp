// The functions that are common to all kinds of access to an accelerator.
#include "accelerator.h"

namespace steelyard::accelerator {
namespace {

const ProcessorSet at_start = ProcessorSet::of_thread();  // of the program, before anything is pinned

}  // namespace

Unpinned::Unpinned() : before_(ProcessorSet::of_thread()) { at_start.pin(); }
Unpinned::~Unpinned() { before_.pin(); }

[[gnu::cold]] std::unique_ptr<Device> Device::open(Params& p, std::string door, bool timed) {
  // Records of the usual door have no word of it, as before there were others.
  if (door.empty()) door = p.own_word("door", "opencl");
  if (door != "opencl" && door != "cuda" && door != "hip")
    throw CaseError(join({"parameter door='", door, "' must be one of opencl, cuda, hip"}));
  std::size_t number = p.count("device", 0);
  Unpinned unpinned;
  return door == "opencl" ? open_opencl(number, timed) : open_driver(door, number);
}
[[gnu::cold]] void Device::record(void (*)(void*), void*) {
  throw CaseError(join({named(), " cannot start kernels as a graph: its interface has none"}));
}
[[gnu::cold]] void Device::replay() {}
[[gnu::cold]] void Device::copy_across(Handle, Device&, Handle, std::size_t) {
  throw CaseError(join({named(), " cannot copy between devices: its interface has no such copy"}));
}
[[gnu::cold]] void Device::share(Handle, std::size_t, std::size_t) {}

[[gnu::cold]] Handle Device::give(std::size_t bytes, void* shared_with) {
  if (!shared_with && bytes > largest)
    throw CaseError(join({named(), " has too little memory: a buffer of ", bytes >> 20,
                          " MiB is needed, but it allows at most ", largest >> 20, " MiB"}));
  return allocate(bytes, shared_with);
}

[[gnu::cold]] Buffer::Buffer(Device& device, void* host, std::size_t bytes)
    : device_(device),
      host_(static_cast<char*>(host)),
      bytes_(bytes),
      memory_(device.give(bytes, device.shares_memory ? host : nullptr)) {}

void Buffer::move(std::size_t first, std::size_t last, bool to) {
  if (first >= last) return;
  if (device_.shares_memory)
    device_.share(memory_, first, last - first);
  else if (to)
    device_.copy_to(memory_, host_ + first, first, last - first, false);
  else
    device_.copy_from(memory_, host_ + first, first, last - first, false);
  device_.finish();
}

}  // namespace steelyard::accelerator
