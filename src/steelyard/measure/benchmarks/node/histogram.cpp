// A histogram of random keys, on threads, on a device, or on both: each worker first counts alone.
#include <array>
#include <cstring>
#include <numeric>

#include "choices.h"
#include "modes.h"

using namespace steelyard;

struct Histogram {
  static constexpr std::size_t phases = 1, bins = 256;
  // Copies of a worker's counts: a repeated bin then need not wait for the last count to be stored.
  static constexpr std::size_t copies = 8;
  // The copies of a bin are side by side, so that neighbours in a group count in different banks of the local memory.
  static constexpr const char* program = R"(
    #ifdef ALONE
    #define COUNT(key, copy) counts[((key) >> 24) * COPIES + (copy)] += 1
    #else
    #define COUNT(key, copy) atomic_inc(&counts[((key) >> 24) * COPIES + l % COPIES])
    #endif
    kernel void parts(GLOBAL uint* found, GLOBAL const uint4* keys, ulong elements) {
      local uint counts[BINS * COPIES];
      uint l = get_local_id(0);
      for (uint i = l; i < BINS * COPIES; i += GROUP) counts[i] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      ulong packs = elements / 4, groups = get_num_groups(0), g = get_group_id(0), end = packs * (g + 1) / groups;
      for (ulong i = packs * g / groups + l; i < end; i += GROUP) {
        uint4 key = keys[i];
        COUNT(key.x, 0); COUNT(key.y, 1); COUNT(key.z, 2); COUNT(key.w, 3);
      }
      if (g == 0 && l == 0)
        for (ulong i = packs * 4; i < elements; ++i) COUNT(((GLOBAL const uint*)keys)[i], 0);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint b = l; b < BINS; b += GROUP) {
        uint sum = 0;
        for (uint c = 0; c < COPIES; ++c) sum += counts[b * COPIES + c];
        found[g * BINS + b] = sum;
      }
    }
    kernel void merge(GLOBAL uint* found, uint groups) {
      uint b = get_global_id(0), sum = 0;
      for (uint g = 0; g < groups; ++g) sum += found[g * BINS + b];
      found[groups * BINS + b] = sum;
    })";
  using Counts = std::array<std::uint32_t, bins>;
  std::size_t elements;
  MemoryPolicy policy;
  Team& team;
  Buffer<std::uint32_t> keys;
  Counts counts{};                       // counts of the threads' share
  std::vector<PerThread<Counts>> parts;  // counts of each worker
  std::size_t group = 0;
  std::uint32_t groups = 0;
  std::vector<std::uint32_t> found;  // counts of each group of the device, and at the end the total
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> input, output;

  Histogram(Params& p, Team& t)
      : elements(most_bins(p.count("elements", std::size_t{1} << 24))),
        policy(p),
        team(t),
        keys(elements, policy, t),
        parts(t.size()) {
    t.each([&](Worker w) {
      auto [first, last] = w.part(elements, 16);
      for (std::size_t i = first; i < last; ++i) keys[i] = key(i);
    });
  }
  static std::size_t most_bins(std::size_t elements) {
    if (elements >> 32) throw CaseError(join({"elements='", elements, "' must be below 2^32: counts have 32 bits"}));
    return elements;
  }
  void spoil_results(Team&) {
    counts.fill(0);
    std::fill(found.begin(), found.end(), 0u);
    if (on) output->write();
  }
  std::size_t count_pieces(std::size_t) const { return elements; }
  std::size_t share_granularity() const { return 4096; }

  static void count(const std::uint32_t* from, const std::uint32_t* to, Counts& counted) {
    alignas(64) std::uint32_t own[copies][bins] = {};
    constexpr std::size_t ahead = 1024;  // keys: 4 KiB, as measured for vectors.h
    for (; from + copies <= to; from += copies) {
      __builtin_prefetch(from + ahead);
      for (std::size_t c = 0; c < copies; c += 2) {
        std::uint64_t two;
        std::memcpy(&two, from + c, sizeof two);
        ++own[c][two >> 24 & (bins - 1)], ++own[c + 1][two >> 56];
      }
    }
    for (; from < to; ++from) ++own[0][*from >> 24];
    for (std::size_t b = 0; b < bins; ++b) {
      counted[b] = 0;
      for (std::size_t c = 0; c < copies; ++c) counted[b] += own[c][b];
    }
  }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(last - first, 16);
    count(keys.data() + first + from, keys.data() + first + to, parts[w.index].value);
    if (w.size > 1) team.barrier().wait();
    auto [bin, end] = w.part(bins, 16);  // in whole cache lines of counts
    for (std::size_t b = bin; b < end; ++b) {
      std::uint32_t all = 0;
      for (const auto& part : parts) all += part.value[b];
      counts[b] = all;
    }
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    bool processor = device.is_processor;
    group = processor ? 1 : 256, groups = device.units * (processor ? 4 : 8);
    device.build(define("GROUP", group) + define("BINS", bins) + define("COPIES", processor ? 4 : 8) +
                 (processor ? "#define ALONE\n" : "") + program);
    found.assign((groups + 1) * bins, 0);
    input = std::make_unique<accelerator::Buffer>(device, keys.data(), elements * sizeof(std::uint32_t));
    output = std::make_unique<accelerator::Buffer>(device, found.data(), found.size() * sizeof(std::uint32_t));
    input->write(), output->write();
  }
  void queue(std::size_t, std::size_t, std::size_t last) {
    std::uint64_t share = last;
    on->run("parts", 0, groups * group, group, output->handle(), input->handle(), share);
    on->run("merge", 0, bins, 64, output->handle(), groups);
  }
  // Both counts are on the host after an operation. If the device did all the work, its counts stay on the device.
  void exchange_results(std::size_t, std::size_t share) {
    if (share < elements) fetch(share);
  }
  void fetch(std::size_t) { output->read(groups * bins * sizeof(std::uint32_t), found.size() * sizeof(std::uint32_t)); }
  Work work() const {
    double n = static_cast<double>(elements);
    return {{"items", n}, {"bytes", sizeof(std::uint32_t) * n}};
  }
  void corrupt() { counts[bins / 3] += 1; }
  // The upper half of a step of splitmix64 (G. Steele et al., OOPSLA 2014).
  static std::uint32_t key(std::uint64_t i) {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u, x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
  }
  Check check() {
    std::vector<std::size_t> expected(bins, 0);
    for (std::size_t i = 0; i < elements; ++i) ++expected[key(i) >> 24];
    std::size_t wrong = 0, all = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      std::size_t got = std::size_t{counts[b]} + (found.empty() ? 0 : found[groups * bins + b]);
      wrong += got != expected[b], all += got;
    }
    return {wrong == 0 && all == elements,
            join({wrong, " of ", bins, " bins are wrong; ", all, " of ", elements, " keys were counted"})};
  }
};

int main() { return serve({kernel<Modes<Histogram>>("histogram")}); }
