// The sum of two long vectors, by threads, by a device, or by both.
#include "modes.h"

using namespace steelyard;

struct Vector {
  static constexpr std::size_t phases = 1;
  static constexpr const char* program = R"(
    kernel void add(GLOBAL double* restrict c, GLOBAL const double* restrict a, GLOBAL const double* restrict b) {
      size_t i = get_global_id(0);
      c[i] = a[i] + b[i];
    })";
  std::size_t elements;
  MemoryPolicy policy;
  Buffer<double> a, b, c;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[3];

  Vector(Params& p, Team& team)
      : elements(p.count("elements", std::size_t{1} << 24)),
        policy(p),
        a(elements, policy, team),
        b(elements, policy, team),
        c(elements, policy, team) {
    team.each([&](Worker w) {
      auto [first, last] = w.part(elements);
      for (std::size_t i = first; i < last; ++i) a[i] = value(i), b[i] = value(i + 1);
    });
    spoil_results(team);
  }
  void spoil_results(Team& team) {
    spoil(c, team, 0.0);
    if (on) there[0]->write();
  }
  std::size_t count_pieces(std::size_t) const { return elements; }
  std::size_t share_granularity() const { return 4096; }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(last - first);
    double* __restrict z = c.data() + first, * __restrict x = a.data() + first, * __restrict y = b.data() + first;
    for (std::size_t i = from; i < to; ++i) z[i] = x[i] + y[i];
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    device.build(program);
    Buffer<double>* all[] = {&c, &a, &b};
    for (int i = 0; i < 3; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, all[i]->data(), elements * sizeof(double));
      there[i]->write();
    }
  }
  void queue(std::size_t, std::size_t first, std::size_t last) {
    on->run("add", first, last, 0, there[0]->handle(), there[1]->handle(), there[2]->handle());
  }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) { there[0]->read(0, share * sizeof(double)); }
  Work work() const {
    double n = static_cast<double>(elements);
    return {{"flops", n}, {"bytes", 24 * n}, {"bytes_moved", 32 * n}};
  }
  void corrupt() { c[elements / 3] += 1; }
  // Small whole numbers: every sum is exact.
  static double value(std::size_t i) { return static_cast<double>(i % 1021 + 1); }
  Check check() {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements; ++i) wrong += c[i] != value(i) + value(i + 1);
    return {wrong == 0, join({wrong, " of ", elements, " sums are wrong"})};
  }
};

int main() { return serve({kernel<Modes<Vector>>("vector")}); }
