// The time to start a kernel: one after the other, one at a time with a wait, and all as one graph.
#include "on_device.h"

using namespace steelyard;

namespace {

constexpr const char* program = R"(
    kernel void count(GLOBAL uint* restrict counter) {
      if (get_global_id(0) == 0) counter[0] += 1;
    })";

}  // namespace

enum class Way { queued, waited, graph };

template <Way way>
class Launch : public OnDevice {
 public:
  Launch(Params& p, Team& team)
      : OnDevice(p, team), items_(p.count("items", 32)), counter_(*device, sizeof(std::uint32_t)) {
    device->build(program);
    if constexpr (way == Way::graph) device->record([](void* self) { static_cast<Launch*>(self)->many(); }, this);
    const std::uint32_t none = 0;
    device->copy_to(counter_.handle(), &none, 0, sizeof none, false);
    device->finish();
  }
  void run(Worker, std::size_t operations) {
    run_timed(operations, [&] {
      expected_ += static_cast<std::uint32_t>(kernels);
      if constexpr (way == Way::graph) {
        device->replay();
      } else {
        one();
        if constexpr (way == Way::waited) device->finish();
      }
    });
  }
  Work work() const { return {{"launches", static_cast<double>(kernels)}}; }
  void corrupt() { ++expected_; }
  Check check() {
    end_clock();
    const std::uint32_t counted = fetch_from_device<std::uint32_t>(counter_.handle(), 1).front();
    return {counted == expected_ && counted > 0, join({counted, " kernels ran, and ", expected_, " were started"})};
  }

 private:
  static constexpr std::size_t kernels = way == Way::graph ? 64 : 1;  // of an operation
  void one() { device->run("count", 0, items_, 0, counter_.handle()); }
  void many() {
    for (std::size_t i = 0; i < kernels; ++i) one();
  }

  std::size_t items_;
  DeviceMemory counter_;
  std::uint32_t expected_ = 0;
};

int main() {
  return serve({kernel<Launch<Way::queued>>("queued"), kernel<Launch<Way::waited>>("waited"),
                kernel<Launch<Way::graph>>("graph")});
}
