// Copies between host and device: there, back, and both at once, from ordinary memory or from memory at a fixed place.
// Copies within a device, between two, and of all devices at once.
#include <cstring>

#include "buffers.h"
#include "on_device.h"

using namespace steelyard;

enum class Way { there, back, both };

namespace {

char pattern(std::size_t i, int key) {
  return key ? static_cast<char>((i / 64 + i) * 7 + static_cast<unsigned>(key)) : '\0';
}
void fill(char* memory, std::size_t bytes, int key) {
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = pattern(i, key);
}
std::size_t count_differing(const char* memory, std::size_t bytes, int key) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes; ++i) count += memory[i] != pattern(i, key);
  return count;
}
std::size_t counted_bytes(Params& p) {
  const std::size_t bytes = p.count("bytes", std::size_t{1} << 26);
  if (bytes == 0) throw CaseError("bytes='0': there is nothing to copy");
  return bytes;
}

}  // namespace

template <Way way>
class Transfer : public OnDevice {
 public:
  Transfer(Params& p, Team& team)
      : OnDevice(p, team),
        bytes_(counted_bytes(p)),
        pinned_(p.choice("memory", "pinned", {"pinned", "pageable"}) == "pinned"),
        policy_(read_policy(p)),
        sent_(*device, bytes_),
        kept_(*device, bytes_),
        source_(host()),
        target_(host()) {
    fill(source_, bytes_, 1);
    device->copy_to(kept_.handle(), source_, 0, bytes_, false);
    device->finish();
    fill(target_, bytes_, 0), fill(source_, bytes_, 2);
    device->copy_to(sent_.handle(), target_, 0, bytes_, false);  // an earlier case may have left what is sent here
    device->finish();
  }
  ~Transfer() {
    for (char* memory : {source_, target_}) pinned_ ? device->unpin(memory) : delete[] memory;
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  void run(Worker, std::size_t operations) {
    run_timed(operations, [&] {
      if constexpr (way != Way::back) device->copy_to(sent_.handle(), source_, 0, bytes_, false);
      if constexpr (way != Way::there) device->copy_from(kept_.handle(), target_, 0, bytes_, way == Way::both);
      device->finish();
    });
  }
  Work work() const { return {{"bytes", static_cast<double>(bytes_ * (way == Way::both ? 2 : 1))}}; }
  void corrupt() { corrupt_ = true; }
  Check check() {
    end_clock();
    std::size_t wrong = 0;
    if constexpr (way != Way::there) {
      target_[bytes_ / 3] = static_cast<char>(target_[bytes_ / 3] + corrupt_);
      wrong += count_differing(target_, bytes_, 1);
    }
    if constexpr (way != Way::back) {
      fill(source_, bytes_, 0);
      device->copy_from(sent_.handle(), source_, 0, bytes_, false);
      device->finish();
      source_[bytes_ / 3] = static_cast<char>(source_[bytes_ / 3] + corrupt_);
      wrong += count_differing(source_, bytes_, 2);
    }
    return {wrong == 0, join({wrong, " of ", bytes_, " bytes are wrong"})};
  }

 private:
  char* host() {
    const ThreadMemory from_its_nodes(policy_);
    char* memory = pinned_ ? static_cast<char*>(device->pin(bytes_)) : new char[bytes_];
    std::memset(memory, 1, bytes_);  // a page comes from its node when it is first touched
    return memory;
  }
  std::size_t bytes_;
  bool pinned_, corrupt_ = false;
  std::string policy_;
  DeviceMemory sent_, kept_;
  char *source_, *target_;
};

// Copies from the device to itself or to its peer, or in both directions at once.
template <bool both>
class DeviceToDevice : public OnDevice {
 public:
  DeviceToDevice(Params& p, Team& team)
      : OnDevice(p, team),
        bytes_(counted_bytes(p)),
        other_(open_peer(p)),
        direct_(device->reaches(peer())),
        sent_(*device, bytes_),
        came_(peer(), bytes_),
        kept_(*device, both ? bytes_ : 1),
        back_(peer(), both ? bytes_ : 1) {
    std::vector<char> contents(bytes_);
    auto put = [&](accelerator::Device& where, const DeviceMemory& memory, int key) {
      fill(contents.data(), bytes_, key);
      where.copy_to(memory.handle(), contents.data(), 0, bytes_, false);
      where.finish();
    };
    put(*device, sent_, 1), put(peer(), came_, 0);
    if constexpr (both) peer().reaches(*device), put(peer(), back_, 2), put(*device, kept_, 0);
  }
  void run(Worker, std::size_t operations) {
    run_timed(operations, [&] {
      device->copy_across(sent_.handle(), peer(), came_.handle(), bytes_);
      if constexpr (both) peer().copy_across(back_.handle(), *device, kept_.handle(), bytes_);
      if (other_) other_->finish();
    });
  }
  Work work() const { return {{"bytes", static_cast<double>(bytes_ * (both ? 2 : 1))}}; }
  void corrupt() { corrupt_ = true; }
  Check check() {
    end_clock();
    std::size_t wrong = count_wrong_bytes(peer(), came_, 1);
    if constexpr (both) wrong += count_wrong_bytes(*device, kept_, 2);
    return {wrong == 0, join({wrong, " of ", bytes_, " bytes are wrong"})};
  }
  std::string details() const { return with_details().add("direct", json::boolean(direct_)).str(); }

 private:
  std::unique_ptr<accelerator::Device> open_peer(Params& p) const {
    const std::size_t own = p.count("device", 0), other = p.count("peer", own);
    if (device->language == "OpenCL")
      throw CaseError("copies between devices need the door cuda or hip: door='opencl'");
    if (both && other == own)
      throw CaseError(join({"peer='", other, "' must be another device than device='", own, "'"}));
    return other == own ? nullptr : accelerator::open_driver(device->language == "CUDA" ? "cuda" : "hip", other);
  }
  accelerator::Device& peer() { return other_ ? *other_ : *device; }
  std::size_t count_wrong_bytes(accelerator::Device& where, const DeviceMemory& memory, int key) const {
    std::vector<char> found(bytes_);
    where.copy_from(memory.handle(), found.data(), 0, bytes_, false);
    where.finish();
    found[bytes_ / 3] = static_cast<char>(found[bytes_ / 3] + corrupt_);
    return count_differing(found.data(), bytes_, key);
  }

  std::size_t bytes_;
  std::unique_ptr<accelerator::Device> other_;
  bool direct_, corrupt_ = false;
  DeviceMemory sent_, came_, kept_, back_;
};

// All devices of a door copy at once: from pinned memory of the host, or to it.
template <bool there>
class AllAtOnce {
 public:
  static constexpr double sample_seconds = OnDevice::sample_seconds;
  AllAtOnce(Params& p, Team& team) : bytes_(counted_bytes(p)) {
    const std::string door = p.choice("door", "cuda", {"cuda", "hip"});
    if (team.size() != 1) throw CaseError(join({"threads='", team.size(), "' must be 1: the devices alone copy"}));
    p.count("device", 0);
    accelerator::Unpinned unpinned;
    for (std::size_t i = 0, count = accelerator::count_devices(door); i < count; ++i)
      each_.push_back(std::make_unique<Endpoint>(accelerator::open_driver(door, i), bytes_));
    if (each_.empty()) throw CaseError(join({"door='", door, "': its driver has no device on this machine"}));
  }
  void run(Worker, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      for (auto& one : each_) copy(*one, there);
      for (auto& one : each_) one->device->finish();
    }
    ran_ = true;
  }
  Work work() const { return {{"bytes", static_cast<double>(bytes_ * each_.size())}}; }
  void corrupt() { corrupt_ = true; }
  Check check() {
    std::size_t wrong = 0;
    for (auto& one : each_) {
      if constexpr (there) {
        fill(one->host, bytes_, 0);
        copy(*one, false);
        one->device->finish();
      }
      one->host[bytes_ / 3] = static_cast<char>(one->host[bytes_ / 3] + corrupt_);
      wrong += count_differing(one->host, bytes_, 1);
    }
    return {ran_ && wrong == 0, join({wrong, " of ", bytes_ * each_.size(), " bytes are wrong"})};
  }
  std::string details() const { return json::Object().add("device", json::text(each_.front()->device->name)).str(); }

 private:
  struct Endpoint {
    Endpoint(std::unique_ptr<accelerator::Device> opened, std::size_t bytes)
        : device(std::move(opened)), memory(*device, bytes), host(static_cast<char*>(device->pin(bytes))) {
      fill(host, bytes, there ? 0 : 1);
      device->copy_to(memory.handle(), host, 0, bytes, false);
      device->finish();
      fill(host, bytes, there ? 1 : 0);
    }
    ~Endpoint() { device->unpin(host); }
    std::unique_ptr<accelerator::Device> device;
    DeviceMemory memory;
    char* host;
  };
  void copy(Endpoint& one, bool to) {
    to ? one.device->copy_to(one.memory.handle(), one.host, 0, bytes_, false)
       : one.device->copy_from(one.memory.handle(), one.host, 0, bytes_, false);
  }

  std::size_t bytes_;
  std::vector<std::unique_ptr<Endpoint>> each_;
  bool ran_ = false, corrupt_ = false;
};

int main() {
  return serve({kernel<Transfer<Way::there>>("to_device"), kernel<Transfer<Way::back>>("from_device"),
                kernel<Transfer<Way::both>>("both_ways"), kernel<DeviceToDevice<false>>("between"),
                kernel<DeviceToDevice<true>>("between_both_ways"), kernel<AllAtOnce<true>>("to_all"),
                kernel<AllAtOnce<false>>("from_all")});
}
