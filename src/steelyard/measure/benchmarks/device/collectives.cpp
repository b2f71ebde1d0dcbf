// Collective operations of devices by the library of their vendor (NCCL, RCCL): the sum over all, and all pairs.
#include "on_device.h"
#include "vendor_library.h"

using namespace steelyard;

namespace {

const VendorLibrary& library_of(bool cuda) {
  if (cuda) {
    static const VendorLibrary nccl(
        "STEELYARD_NCCL", {"libnccl.so.2", "libnccl.so"},
        "NVIDIA's library NCCL is not on this machine. Install it: steelyard device install nccl");
    return nccl;
  }
  static const VendorLibrary rccl("STEELYARD_RCCL", {"librccl.so.1", "librccl.so"},
                                  "AMD's library RCCL is not on this machine: install it with ROCm");
  return rccl;
}
// nccl.h: a type of data, and the sum.
constexpr int single_precision = 7, sum = 0;

}  // namespace

// Every device sends as many numbers, and receives as many. One process starts all of them.
template <bool adds>
class Collective {
 public:
  static constexpr double sample_seconds = OnDevice::sample_seconds;

  Collective(Params& p, Team& team)
      : door_(p.choice("door", "cuda", {"cuda", "hip"})),
        library_(library_of(door_ == "cuda")),
        devices_(p.count("devices", accelerator::count_devices(door_))),
        block_(p.count("message_bytes", std::size_t{1} << 26) / sizeof(float) / std::max<std::size_t>(1, devices_)),
        count_(block_ * devices_) {
    p.count("device", 0);
    if (team.size() != 1)
      throw CaseError(join({"threads='", team.size(), "' must be 1: the devices alone communicate"}));
    const std::size_t known = accelerator::count_devices(door_);
    if (devices_ < 2 || devices_ > known)
      throw CaseError(join({"devices='", devices_, "' must be from 2 to ", known, ", the devices of this machine"}));
    if (block_ == 0) throw CaseError("message_bytes must be at least 4 bytes for each device");
    std::vector<int> numbers;
    accelerator::Unpinned unpinned;
    for (std::size_t i = 0; i < devices_; ++i) {
      numbers.push_back(static_cast<int>(i));
      each_.push_back(std::make_unique<Endpoint>(accelerator::open_driver(door_, i), count_));
    }
    communicators_.resize(devices_);
    require_success(library_.call("ncclCommInitAll", communicators_.data(), static_cast<int>(devices_),
                                  static_cast<const int*>(numbers.data())));
    std::vector<float> values(count_);
    for (std::size_t rank = 0; rank < devices_; ++rank) {
      for (std::size_t i = 0; i < count_; ++i) values[i] = sent_value(rank, i);
      copy_to_device(*each_[rank], each_[rank]->out, values);
      copy_to_device(*each_[rank], each_[rank]->in, std::vector<float>(count_));
    }
  }
  ~Collective() {
    for (accelerator::Handle one : communicators_)
      if (one) library_.call("ncclCommDestroy", one);
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  void run(Worker, std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) run_once();
    for (auto& one : each_) one->device->finish();
  }
  // The bytes of the bus are those that each link carries at least, as nccl-tests counts them.
  Work work() const {
    const double bytes = static_cast<double>(count_ * sizeof(float)), n = static_cast<double>(devices_);
    return {{"bytes", bytes}, {"bus_bytes", bytes * (adds ? 2 : 1) * (n - 1) / n}};
  }
  void corrupt() { corrupt_ = true; }
  Check check() {
    std::size_t wrong = 0;
    for (std::size_t rank = 0; rank < devices_; ++rank) {
      std::vector<float> found(count_);
      each_[rank]->device->copy_from(each_[rank]->in.handle(), found.data(), 0, count_ * sizeof(float), false);
      each_[rank]->device->finish();
      if (corrupt_) ++found[count_ / 3];
      for (std::size_t i = 0; i < count_; ++i) wrong += found[i] != right(rank, i);
    }
    return {wrong == 0, join({wrong, " of ", count_ * devices_, " numbers are wrong"})};
  }
  std::string details() const { return json::Object().add("device", json::text(each_.front()->device->name)).str(); }

 private:
  struct Endpoint {
    Endpoint(std::unique_ptr<accelerator::Device> opened, std::size_t count)
        : device(std::move(opened)), out(*device, count * sizeof(float)), in(*device, count * sizeof(float)) {}
    std::unique_ptr<accelerator::Device> device;
    DeviceMemory out, in;
  };
  void run_once() {
    require_success(library_.call("ncclGroupStart"));
    for (std::size_t rank = 0; rank < devices_; ++rank) {
      Endpoint& one = *each_[rank];
      char *out = static_cast<char*>(one.out.handle()), *in = static_cast<char*>(one.in.handle());
      const accelerator::Handle communicator = communicators_[rank], queue = one.device->queue();
      if constexpr (adds) {
        require_success(library_.call("ncclAllReduce", static_cast<const void*>(out), static_cast<void*>(in), count_,
                                      single_precision, sum, communicator, queue));
      } else {
        for (std::size_t peer = 0; peer < devices_; ++peer) {
          const std::size_t at = peer * block_ * sizeof(float);
          require_success(library_.call("ncclSend", static_cast<const void*>(out + at), block_, single_precision,
                                        static_cast<int>(peer), communicator, queue));
          require_success(library_.call("ncclRecv", static_cast<void*>(in + at), block_, single_precision,
                                        static_cast<int>(peer), communicator, queue));
        }
      }
    }
    require_success(library_.call("ncclGroupEnd"));
  }
  static void copy_to_device(Endpoint& one, const DeviceMemory& memory, const std::vector<float>& values) {
    one.device->copy_to(memory.handle(), values.data(), 0, values.size() * sizeof(float), false);
    one.device->finish();
  }
  // Small whole numbers, whose sums are exact.
  static float sent_value(std::size_t rank, std::size_t i) { return static_cast<float>(i % 97 + 1000 * rank + 1); }
  float right(std::size_t rank, std::size_t i) const {
    if constexpr (!adds) return sent_value(i / block_, rank * block_ + i % block_);
    float all = 0;
    for (std::size_t other = 0; other < devices_; ++other) all += sent_value(other, i);
    return all;
  }
  void require_success(int code) const {
    if (code == 0) return;
    const char* words = library_.call<const char*>("ncclGetErrorString", code);
    throw CaseError(join({door_ == "cuda" ? "NCCL" : "RCCL", " failed: ", words, " (error ", code, ")"}));
  }

  std::string door_;
  const VendorLibrary& library_;
  std::size_t devices_, block_, count_;
  std::vector<std::unique_ptr<Endpoint>> each_;
  std::vector<accelerator::Handle> communicators_;
  bool corrupt_ = false;
};

int main() { return serve({kernel<Collective<true>>("all_reduce"), kernel<Collective<false>>("alltoall")}); }
