// The latency of a device's caches and memory: one work item follows a ring in random order.
#include "on_device.h"

using namespace steelyard;

namespace {

// Where a driver gives addresses, a line holds that of the next one: the load is all that a step waits for. Each start
// goes on where the last one ended, so that a ring does not become a part of itself that a cache holds.
constexpr const char* program = R"(
    #ifdef BY_ADDRESS
    #define NEXT(at) (*(const ulong*)(at))
    #else
    #define NEXT(at) ring[at]
    #endif
    kernel void follow(GLOBAL const ulong* ring, GLOBAL ulong* place, uint steps) {
      ulong at = place[0];
      for (uint n = 0; n < steps; n += 32) {
        #pragma unroll
        for (int k = 0; k < 32; ++k) at = NEXT(at);
      }
      place[0] = at;
    })";

}  // namespace

class Chase : public OnDevice {
 public:
  Chase(Params& p, Team& team)
      : OnDevice(p, team),
        lines_(std::max<std::size_t>(2, p.count("bytes", std::size_t{1} << 20) / line)),
        steps_(p.count("steps", usual_steps())),
        ring_(*device, lines_ * line),
        place_(*device, sizeof(std::uint64_t)),
        next_(lines_) {
    if (lines_ > UINT32_MAX || steps_ == 0 || steps_ > UINT32_MAX - unrolled)
      throw CaseError("bytes and steps must be from 1 to below 2^39 and 2^32");
    steps_ = (steps_ + unrolled - 1) / unrolled * unrolled;
    // Sattolo's algorithm: one ring through all lines.
    for (std::size_t i = 0; i < lines_; ++i) next_[i] = static_cast<std::uint32_t>(i);
    std::uint64_t state = 88172645463325252ULL;
    for (std::size_t i = lines_ - 1; i > 0; --i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::swap(next_[i], next_[state % i]);
    }
    std::vector<std::uint64_t> contents(lines_ * words);
    for (std::size_t i = 0; i < lines_; ++i) contents[i * words] = place_of(next_[i]);
    const bool by_address = device->language != "OpenCL";
    device->build(join({by_address ? "#define BY_ADDRESS\n" : "", program}));
    device->copy_to(ring_.handle(), contents.data(), 0, lines_ * line, false);
    const std::uint64_t first = place_of(0);
    device->copy_to(place_.handle(), &first, 0, sizeof first, false);
    device->finish();
  }
  void run(Worker, std::size_t operations) {
    // The caches hold what they can hold before the first sample.
    if (walked_ == 0)
      for (; walked_ < std::min(lines_, longest_warming); walked_ += steps_) follow();
    run_timed(operations, [&] { follow(), walked_ += steps_; });
  }
  Work work() const {
    return {{"accesses", static_cast<double>(steps_)}, {"working_set", static_cast<double>(lines_ * line)}};
  }
  void corrupt() { corrupt_ = 1; }
  Check check() {
    end_clock();
    std::size_t right = 0;
    for (std::size_t n = 0; n < walked_ % lines_; ++n) right = next_[right];
    const std::uint64_t found = fetch_from_device<std::uint64_t>(place_.handle(), 1).front() + corrupt_;
    return {walked_ > 0 && found == place_of(right),
            join({"the walk ends at ", found, ", and must end at ", place_of(right)})};
  }

 private:
  static constexpr std::size_t line = 128, words = line / sizeof(std::uint64_t);  // bytes that a device loads at once
  static constexpr std::size_t unrolled = 32, longest_warming = std::size_t{1} << 20;
  // A start empties the first cache: small rings are walked so often that their first round is one of hundreds.
  std::size_t usual_steps() const {
    return lines_ <= 2048 ? std::clamp<std::size_t>(512 * lines_, 1 << 15, 1 << 19) : 1 << 15;
  }
  void follow() { device->run("follow", 0, 1, 1, ring_.handle(), place_.handle(), static_cast<std::uint32_t>(steps_)); }
  // Returns the link that a line holds to another one: its address, or its number in words.
  std::uint64_t place_of(std::size_t which) const {
    return device->language == "OpenCL" ? which * words
                                        : reinterpret_cast<std::uint64_t>(ring_.handle()) + which * line;
  }
  std::size_t lines_, steps_;
  DeviceMemory ring_, place_;
  std::vector<std::uint32_t> next_;
  std::size_t walked_ = 0;
  std::uint64_t corrupt_ = 0;
};

int main() { return serve({kernel<Chase>("chase")}); }
