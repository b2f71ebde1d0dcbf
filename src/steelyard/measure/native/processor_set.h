// A set of processors for Linux calls, on machines of any size.
#pragma once
#include <sched.h>

#include <array>
#include <bit>
#include <climits>
#include <cstddef>
#include <vector>

namespace steelyard {

// cpu_set_t holds 1,024 processors, and a kernel with more processors refuses it. The kernel accepts every larger set
// and ignores the excess. This set holds more processors than Linux supports on any architecture.
class ProcessorSet {
 public:
  // Returns the processors that a thread may use; empty if Linux does not report them.
  static ProcessorSet of_thread(pid_t thread = 0) {
    ProcessorSet set;
    if (sched_getaffinity(thread, sizeof set.words_, reinterpret_cast<cpu_set_t*>(set.words_.data())) != 0)
      set.words_ = {};
    return set;
  }
  // Pins a thread. Returns false, with errno, if Linux rejects the set.
  bool pin(pid_t thread = 0) const {
    return sched_setaffinity(thread, sizeof words_, reinterpret_cast<const cpu_set_t*>(words_.data())) == 0;
  }
  void add(int cpu) {
    auto place = static_cast<std::size_t>(cpu);
    if (place / bits < words_.size()) words_[place / bits] |= 1ul << (place % bits);
  }
  // Returns the processors in ascending order.
  std::vector<int> list() const {
    std::vector<int> all;
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (unsigned long word = words_[i]; word; word &= word - 1)
        all.push_back(static_cast<int>(i * bits) + std::countr_zero(word));
    return all;
  }

 private:
  static constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT, most = 1 << 16;
  std::array<unsigned long, most / bits> words_{};
};

}  // namespace steelyard
