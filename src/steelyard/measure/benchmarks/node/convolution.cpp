// A convolution of an image with a filter of five by five, by threads, by a device, or by both.
#include <array>
#include <cmath>
#include <cstring>

#include "choices.h"
#include "modes.h"

using namespace steelyard;

struct Convolution {
  static constexpr std::size_t phases = 1, taps = 5, reach = taps / 2;
  static constexpr std::size_t rim = 8;         // columns of zeros on each side: a line, so that rows begin at lines
  static constexpr std::size_t rows = 4;        // rows that are computed at once: what they share is loaded once
  static constexpr std::size_t there_rows = 8;  // of a work item
  static constexpr const char* program = R"(
    kernel void convolve(GLOBAL double* restrict to, GLOBAL const double* restrict image, CONSTANT double* filter) {
      uint x = get_global_id(0) % WIDTH * LANES, y = get_global_id(0) / WIDTH * ROWS;
      if (x >= N) return;
      GLOBAL const double* from = image + (size_t)y * PITCH + (RIM - TAPS / 2 + x);
      PACK sums[ROWS];
      #pragma unroll
      for (uint r = 0; r < ROWS; ++r) sums[r] = 0;
      #pragma unroll
      for (uint j = 0; j < ROWS + TAPS - 1; ++j) {
        #pragma unroll
        for (uint i = 0; i < TAPS; ++i) {
          PACK pixels = LOAD(from + j * PITCH + i);
          #pragma unroll
          for (uint r = 0; r < ROWS; ++r)
            if (r <= j && j - r < TAPS) sums[r] += filter[(j - r) * TAPS + i] * pixels;
        }
      }
      #pragma unroll
      for (uint r = 0; r < ROWS; ++r) STORE(sums[r], to + (size_t)(y + r) * N + x);
    })";
  std::size_t n, pitch;  // pixels of an edge, and from row to row of the image
  MemoryPolicy policy;
  bool streaming;
  Buffer<double> image, result;
  std::array<double, taps * taps> filter;
  std::size_t lanes = 1, group = 0, width = 0;  // width: work items of a row
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[3];

  Convolution(Params& p, Team& team)
      : n(edge(p.count("elements", std::size_t{1} << 24))),
        pitch(n + 2 * rim),
        policy(p),
        streaming(streams(p, 16 * n * n)),
        image((n + 2 * reach) * pitch, policy, team),
        result(n * n, policy, team) {
    for (std::size_t j = 0; j < taps; ++j)
      for (std::size_t i = 0; i < taps; ++i) filter[j * taps + i] = down[j] * across[i];
    team.each([&](Worker w) {
      auto [first, last] = w.part(n + 2 * reach, 1);
      for (std::size_t y = first; y < last; ++y)
        for (std::size_t x = 0; x < pitch; ++x) {
          bool within = y >= reach && y < n + reach && x >= rim && x < n + rim;
          image[y * pitch + x] = within ? value(x, y) : 0;
        }
    });
    spoil_results(team);
  }
  // The largest square of so many pixels whose rows are whole lines.
  static std::size_t edge(std::size_t elements) {
    auto whole = static_cast<std::size_t>(std::sqrt(static_cast<double>(elements))) / 8 * 8;
    if (whole < 16 || whole > 65536)
      throw CaseError(join({"elements='", elements, "' must be 256 (16²) to 4294967296 (65536²)"}));
    return whole;
  }
  // No whole number, which every right result is.
  void spoil_results(Team& team) {
    spoil(result, team, 0.5);
    if (on) there[0]->write();
  }
  std::size_t count_pieces(std::size_t) const { return n; }
  std::size_t share_granularity() const { return there_rows; }

  // Computes `rows` rows of the result; `from` is the pixel of the image at the upper left of the first filter.
  template <std::size_t count, bool streaming_stores>
  void strip(double* __restrict to, const double* __restrict from) const {
    Pack weight[taps][taps];
    for (std::size_t t = 0; t < taps * taps; ++t) weight[t / taps][t % taps] = pack_of(filter[t]);
    for (std::size_t x = 0; x < n; x += pack_doubles) {
      Pack sums[count] = {};
#pragma GCC unroll 8
      for (std::size_t j = 0; j < count + taps - 1; ++j)
#pragma GCC unroll 8
        for (std::size_t i = 0; i < taps; ++i) {
          Pack pixels = load_unaligned<Pack>(from + j * pitch + x + i);
#pragma GCC unroll 8
          for (std::size_t r = 0; r < count; ++r)
            if (r <= j && j - r < taps) sums[r] += weight[j - r][i] * pixels;
        }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < count; ++r)
#pragma GCC unroll 8
        for (std::size_t k = 0; k < pack_doubles; k += streamed_doubles) {
          Streamed part;
          std::memcpy(&part, reinterpret_cast<const char*>(&sums[r]) + k * sizeof(double), sizeof part);
          put<streaming_stores>(to + r * n + x + k, part);
        }
    }
  }
  template <bool streaming_stores>
  void sweep_block(std::size_t first, std::size_t last) const {
    std::size_t y = first;
    const double* from = image.data() + rim - reach;
    for (; y + rows <= last; y += rows) strip<rows, streaming_stores>(result.data() + y * n, from + y * pitch);
    for (; y < last; ++y) strip<1, streaming_stores>(result.data() + y * n, from + y * pitch);
    if (streaming_stores) drain_stores();
  }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(last - first, rows);
    streaming ? sweep_block<true>(first + from, first + to) : sweep_block<false>(first + from, first + to);
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    bool processor = device.is_processor;
    lanes = processor ? 8 : 1, group = processor ? n / lanes : 64, width = (n / lanes + group - 1) / group * group;
    device.build(packs(processor) + define("N", n) + define("PITCH", pitch) + define("WIDTH", width) +
                 define("ROWS", there_rows) + define("TAPS", taps) + define("RIM", rim) + program);
    double* all[] = {result.data(), image.data(), filter.data()};
    std::size_t sizes[] = {result.size(), image.size(), filter.size()};
    for (int i = 0; i < 3; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, all[i], sizes[i] * sizeof(double));
      there[i]->write();
    }
  }
  void queue(std::size_t, std::size_t first, std::size_t last) {
    on->run("convolve", first / there_rows * width, last / there_rows * width, group, there[0]->handle(),
            there[1]->handle(), there[2]->handle());
  }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) { there[0]->read(0, share * n * sizeof(double)); }
  Work work() const {
    double pixels = static_cast<double>(n * n);
    return {{"flops", 49 * pixels}, {"bytes", 16 * pixels}, {"bytes_moved", (streaming ? 16 : 24) * pixels}};
  }
  void corrupt() { result[n * n / 3] += 1; }
  // Whole numbers: every sum is exact. The filter is the product of two, none of them the same when turned.
  static constexpr double down[taps] = {1, -2, 3, 5, -4}, across[taps] = {2, 7, -3, 4, 1};
  static double value(std::size_t x, std::size_t y) {
    return static_cast<double>((x * 37 + y * 101 + x * y % 61) % 251);
  }
  // By its two factors: first down, then across.
  Check check() {
    std::size_t wrong = 0;
    std::vector<double> sums(pitch);
    for (std::size_t y = 0; y < n; ++y) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t j = 0; j < taps; ++j)
        for (std::size_t x = 0; x < pitch; ++x) sums[x] += down[j] * image[(y + j) * pitch + x];
      for (std::size_t x = 0; x < n; ++x) {
        double expected = 0;
        for (std::size_t i = 0; i < taps; ++i) expected += across[i] * sums[x + rim - reach + i];
        wrong += result[y * n + x] != expected;
      }
    }
    return {wrong == 0, join({wrong, " of ", n * n, " pixels are wrong"})};
  }
};

int main() { return serve({kernel<Modes<Convolution>>("convolution")}); }
