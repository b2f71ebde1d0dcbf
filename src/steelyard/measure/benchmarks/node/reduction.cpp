// The sum of a long vector, on threads, on a device, or on both.
#include <atomic>

#include "choices.h"
#include "modes.h"

using namespace steelyard;

struct Reduction {
  static constexpr std::size_t phases = 1;
  // GROUP work items take PACKs side by side from their group's part; then one group adds what the groups have found.
  static constexpr const char* pairs =
      "#define PACK double2\n#define ZERO MAKE2(0.0, 0.0)\n#define TOTAL(v) (v.x + v.y)\n";
  static constexpr const char* eights =
      "#define PACK double8\n#define ZERO 0\n#define TOTAL(v) (v.s0 + v.s1 + v.s2 + v.s3 + v.s4 + v.s5 + v.s6 + "
      "v.s7)\n";
  static constexpr const char* program = R"(
    void together(LOCAL_POINTER double* sums, GLOBAL double* to) {
      for (uint n = GROUP / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) < n) sums[get_local_id(0)] += sums[get_local_id(0) + n];
      }
      if (get_local_id(0) == 0) *to = sums[0];
    }
    kernel void parts(GLOBAL double* found, GLOBAL const PACK* x, ulong packs) {
      local double sums[GROUP];
      ulong groups = get_num_groups(0), g = get_group_id(0), i = packs * g / groups + get_local_id(0);
      ulong end = packs * (g + 1) / groups;
      PACK a = ZERO, b = ZERO, c = ZERO, d = ZERO;
      for (; i + 3 * GROUP < end; i += 4 * GROUP) {
        a += x[i], b += x[i + GROUP];
        c += x[i + 2 * GROUP], d += x[i + 3 * GROUP];
      }
      for (; i < end; i += GROUP) a += x[i];
      a += b + (c + d);
      sums[get_local_id(0)] = TOTAL(a);
      together(sums, found + g);
    }
    kernel void sum_of_parts(GLOBAL double* found, uint groups) {
      local double sums[GROUP];
      double sum = 0;
      for (uint i = get_local_id(0); i < groups; i += GROUP) sum += found[i];
      sums[get_local_id(0)] = sum;
      together(sums, found + groups);
    })";
  std::size_t elements;
  MemoryPolicy policy;
  Buffer<double> x;
  double sum = 0;                        // sum of the threads' share
  std::vector<PerThread<double>> parts;  // sum of each worker
  std::atomic<std::size_t> done{0};      // finished workers: the last one adds up
  std::size_t group = 0;
  std::uint32_t groups = 0;
  std::vector<double> found;  // sum of each group of the device, and at the end the total
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> input, output;

  Reduction(Params& p, Team& team)
      : elements(p.count("elements", std::size_t{1} << 24)),
        policy(p),
        x((elements + 7) / 8 * 8, policy, team),
        parts(team.size()) {
    team.each([&](Worker w) {
      auto [first, last] = w.part(x.size());
      for (std::size_t i = first; i < last; ++i) x[i] = i < elements ? value(i) : 0;  // whole packs for a device
    });
  }
  void spoil_results(Team&) {
    sum = 0;
    std::fill(found.begin(), found.end(), 0.0);
    if (on) output->write();
  }
  std::size_t count_pieces(std::size_t) const { return elements; }
  std::size_t share_granularity() const { return 4096; }

  // Computes eight sums: an addition takes about four cycles, and two can begin in each cycle.
  // From eight places at once: one core asks for no more than a few lines of each stream ahead, so that a single one
  // leaves the memory half idle (Sapphire Rapids: 15 GB/s, four 22, eight 23). Eight sums also hide the latency of an
  // addition.
  static double total(const double* __restrict from, const double* to) {
    constexpr std::size_t streams = 8;
    std::size_t part = static_cast<std::size_t>(to - from) / streams / pack_doubles * pack_doubles;
    Pack sums[streams] = {};
    for (std::size_t i = 0; i < part; i += pack_doubles)
      for (std::size_t k = 0; k < streams; ++k) sums[k] += pack_at(from + k * part + i);
    for (std::size_t k = 1; k < streams; ++k) sums[0] += sums[k];
    double all = 0;
    for (std::size_t i = 0; i < pack_doubles; ++i) all += sums[0][i];
    for (from += streams * part; from < to; ++from) all += *from;
    return all;
  }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(last - first);
    parts[w.index].value = total(x.data() + first + from, x.data() + first + to);
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < w.size) return;
    double all = 0;
    for (const auto& part : parts) all += part.value;
    sum = all;
    done.store(0, std::memory_order_release);
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    bool processor = device.is_processor;
    group = processor ? 1 : 256, groups = device.units * (processor ? 4 : 16);
    device.build(define("GROUP", group) + (processor ? eights : pairs) + program);
    found.assign(groups + 1, 0.0);
    input = std::make_unique<accelerator::Buffer>(device, x.data(), x.size() * sizeof(double));
    output = std::make_unique<accelerator::Buffer>(device, found.data(), found.size() * sizeof(double));
    input->write(), output->write();
  }
  void queue(std::size_t, std::size_t, std::size_t last) {
    std::uint64_t pack = group == 1 ? 8 : 2, packs = (last + pack - 1) / pack;
    on->run("parts", 0, groups * group, group, output->handle(), input->handle(), packs);
    on->run("sum_of_parts", 0, group, group, output->handle(), groups);
  }
  // Both sums are on the host after an operation. If the device did all the work, its sum stays on the device.
  void exchange_results(std::size_t, std::size_t share) {
    if (share < elements) fetch(share);
  }
  void fetch(std::size_t) { output->read(groups * sizeof(double), found.size() * sizeof(double)); }
  Work work() const {
    return {{"flops", static_cast<double>(elements)}, {"bytes", 8.0 * static_cast<double>(elements)}};
  }
  void corrupt() { sum += 1; }
  // The values are small whole numbers, so every sum is exact in any order.
  static double value(std::size_t i) { return static_cast<double>(i % 1021 + 1); }
  Check check() {
    std::size_t whole = elements / 1021, rest = elements % 1021;
    double expected = static_cast<double>(whole * (1021 * 1022 / 2) + rest * (rest + 1) / 2);
    double got = sum + (found.empty() ? 0 : found.back());
    return {got == expected, join({"the sum is ", got, ", and must be ", expected})};
  }
};

int main() { return serve({kernel<Modes<Reduction>>("reduction")}); }
