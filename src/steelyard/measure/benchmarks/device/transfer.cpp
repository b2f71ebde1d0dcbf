// Copies between host and device: there, back, and both at once, from ordinary memory or from memory at a fixed place.
#include "on_device.h"

using namespace steelyard;

enum class Way { there, back, both };

template <Way way>
class Transfer : public OnDevice {
 public:
  Transfer(Params& p, Team& team)
      : OnDevice(p, team),
        bytes_(p.count("bytes", std::size_t{1} << 26)),
        pinned_(p.choice("memory", "pinned", {"pinned", "pageable"}) == "pinned"),
        sent_(*device, bytes_),
        kept_(*device, bytes_),
        source_(host()),
        target_(host()) {
    fill(source_, 1);
    device->copy_to(kept_.handle(), source_, 0, bytes_, false);
    device->finish();
    fill(target_, 0), fill(source_, 2);
    device->copy_to(sent_.handle(), target_, 0, bytes_, false);  // an earlier case may have left what is sent here
    device->finish();
  }
  ~Transfer() {
    for (char* memory : {source_, target_}) pinned_ ? device->unpin(memory) : delete[] memory;
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  void run(Worker, std::size_t operations) {
    turn(operations, [&] {
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
      wrong += differing(target_, 1);
    }
    if constexpr (way != Way::back) {
      fill(source_, 0);
      device->copy_from(sent_.handle(), source_, 0, bytes_, false);
      device->finish();
      source_[bytes_ / 3] = static_cast<char>(source_[bytes_ / 3] + corrupt_);
      wrong += differing(source_, 2);
    }
    return {wrong == 0, join({wrong, " of ", bytes_, " bytes are wrong"})};
  }

 private:
  char* host() {
    if (bytes_ == 0) throw CaseError("bytes='0': there is nothing to copy");
    return pinned_ ? static_cast<char*>(device->pin(bytes_)) : new char[bytes_];
  }
  static char pattern(std::size_t i, int key) { return key ? static_cast<char>((i / 64 + i) * 7 + key) : '\0'; }
  void fill(char* memory, int key) {
    for (std::size_t i = 0; i < bytes_; ++i) memory[i] = pattern(i, key);
  }
  std::size_t differing(const char* memory, int key) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < bytes_; ++i) count += memory[i] != pattern(i, key);
    return count;
  }

  std::size_t bytes_;
  bool pinned_, corrupt_ = false;
  DeviceMemory sent_, kept_;
  char *source_, *target_;
};

int main() {
  return serve({kernel<Transfer<Way::there>>("to_device"), kernel<Transfer<Way::back>>("from_device"),
                kernel<Transfer<Way::both>>("both_ways")});
}
