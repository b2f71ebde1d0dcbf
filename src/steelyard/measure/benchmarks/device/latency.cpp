// The latency of a device's caches and memory: one work item follows a ring in random order.
#include "on_device.h"

using namespace steelyard;

namespace {

constexpr const char* program = R"(
    kernel void follow(GLOBAL const uint* restrict ring, GLOBAL uint* restrict place, uint steps) {
      uint at = 0;
      for (uint n = 0; n < steps; ++n) at = ring[at];
      place[0] = at;
    })";

}  // namespace

class Chase : public OnDevice {
 public:
  Chase(Params& p, Team& team)
      : OnDevice(p, team),
        lines_(std::max<std::size_t>(2, p.count("bytes", std::size_t{1} << 20) / line)),
        steps_(p.count("steps", 1 << 14)),
        ring_(*device, lines_ * line),
        place_(*device, sizeof(std::uint32_t)),
        next_(lines_ * words) {
    if (lines_ * words > UINT32_MAX || steps_ == 0 || steps_ > UINT32_MAX)
      throw CaseError("bytes and steps must be from 1 to below 2^34 and 2^32");
    // Sattolo's algorithm: one ring through all lines.
    std::vector<std::uint32_t> order(lines_);
    for (std::size_t i = 0; i < lines_; ++i) order[i] = static_cast<std::uint32_t>(i);
    std::uint64_t state = 88172645463325252ULL;
    for (std::size_t i = lines_ - 1; i > 0; --i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::swap(order[i], order[state % i]);
    }
    for (std::size_t i = 0; i < lines_; ++i) next_[i * words] = order[i] * static_cast<std::uint32_t>(words);
    device->build(program);
    device->copy_to(ring_.handle(), next_.data(), 0, lines_ * line, false);
    const std::uint32_t none = UINT32_MAX;
    device->copy_to(place_.handle(), &none, 0, sizeof none, false);
    device->finish();
  }
  void run(Worker, std::size_t operations) {
    turn(operations,
         [&] { device->run("follow", 0, 1, 1, ring_.handle(), place_.handle(), static_cast<std::uint32_t>(steps_)); });
  }
  Work work() const {
    return {{"accesses", static_cast<double>(steps_)}, {"working_set", static_cast<double>(lines_ * line)}};
  }
  void corrupt() { corrupt_ = 1; }
  Check check() {
    end_clock();
    std::uint32_t right = 0;
    for (std::size_t n = 0; n < steps_; ++n) right = next_[right];
    const std::uint32_t found = fetched<std::uint32_t>(place_.handle(), 1).front() + corrupt_;
    return {found == right, join({"the walk ends at ", found, ", and must end at ", right})};
  }

 private:
  static constexpr std::size_t line = 128, words = line / sizeof(std::uint32_t);  // bytes that a device loads at once
  std::size_t lines_, steps_;
  DeviceMemory ring_, place_;
  std::vector<std::uint32_t> next_;
  std::uint32_t corrupt_ = 0;
};

int main() { return serve({kernel<Chase>("chase")}); }
