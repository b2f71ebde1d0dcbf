// A seven-point stencil over a cube, from one grid to the other and back, by threads, by a device, or by both.
#include <array>
#include <cmath>

#include "choices.h"
#include "modes.h"

using namespace steelyard;

struct Stencil {
  static constexpr std::size_t phases = 1;
  // Diffusion in small steps: the centre counts c0, each of its neighbours c1. c0 + 6·c1 = 1.
  static constexpr double c1 = 0x1p-10, c0 = 1 - 6 * c1;
  // Planes that a thread works at together. One core asks for no more than a few lines of a page ahead, so that reading
  // a single plane leaves the memory half idle; and of five rows that a point needs three or four come from a cache
  // only once (Sapphire Rapids: 0.76 of Triad's traffic with one plane, 0.90 with two, 0.94 with three, 0.89 with
  // four).
  static constexpr std::size_t together = 3;
  // Points that a work item takes: so many rows, through so many planes, each value loaded once.
  static constexpr std::size_t rows = 4, depth = 8;
  // Blocks at the end begin earlier and do some points again.
  static constexpr const char* program = R"(
    kernel void sweep(GLOBAL double* restrict to, GLOBAL const double* restrict u) {
      uint x = get_global_id(0) % WIDTH * LANES, block = get_global_id(0) / WIDTH;
      uint y = min(block % BLOCKS * ROWS, N - 2u - ROWS) + 1, z = min(block / BLOCKS * DEPTH, N - 2u - DEPTH) + 1;
      if (x >= N) return;
      GLOBAL const double* at = u + ((size_t)z * N + y) * N + x;
      GLOBAL double* out = to + (at - u);
      PACK below[ROWS], here[ROWS], above[ROWS];
      #pragma unroll
      for (uint r = 0; r < ROWS; ++r) below[r] = LOAD(at - N * N + r * N), here[r] = LOAD(at + r * N);
      #pragma unroll
      for (uint k = 0; k < DEPTH; ++k, at += N * N, out += N * N) {
        PACK north = LOAD(at - N), south = LOAD(at + ROWS * N);
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) above[r] = LOAD(at + N * N + r * N);
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
          PACK sides = LOAD(at + r * N - 1) + LOAD(at + r * N + 1);
          PACK rest = (r > 0 ? here[r - 1] : north) + (r + 1 < ROWS ? here[r + 1] : south) + (below[r] + above[r]);
          PACK next = C0 * here[r] + C1 * (sides + rest);
          KEEP(next, here[r])
          STORE(next, out + r * N);
        }
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) below[r] = here[r], here[r] = above[r];
      }
    })";
  std::size_t n, plane;  // points of an edge, and of a plane
  MemoryPolicy policy;
  bool streaming;
  std::size_t block;  // rows that half of the second cache holds of `together` planes and their two neighbours
  Team& team;
  std::array<Buffer<double>, 2> grids;
  std::vector<PerThread<std::size_t>> steps;                      // of each worker since the start
  std::size_t device_steps = 0, lanes = 1, group = 0, width = 0;  // width: work items of a row
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[2];

  Stencil(Params& p, Team& t)
      : n(edge(p.count("elements", std::size_t{1} << 24))),
        plane(n * n),
        policy(p),
        streaming(streams(p, 16 * n * plane)),
        block(std::max<std::size_t>(8, cache_bytes(2, 1 << 20) / 2 / ((together + 2) * 8 * n))),
        team(t),
        grids{Buffer<double>(n * plane, policy, t), Buffer<double>(n * plane, policy, t)},
        steps(t.size()) {
    spoil_results(t);
  }
  // The largest cube of so many points whose rows are whole lines.
  static std::size_t edge(std::size_t elements) {
    auto whole = static_cast<std::size_t>(std::cbrt(static_cast<double>(elements)) + 1e-6) / 8 * 8;
    if (whole < 16 || whole > 1024)
      throw CaseError(join({"elements='", elements, "' must be 4096 (16³) to 1073741824 (1024³)"}));
    return whole;
  }

  // The exact solution: a part that no step changes, and a part that each step shrinks by the same factor.
  struct Field {
    double last, lasting;
    std::vector<double> wave;
    Field(std::size_t n, std::size_t steps) : last(static_cast<double>(n - 1)), wave(n) {
      for (std::size_t i = 1; i + 1 < n; ++i) wave[i] = std::sin(M_PI * static_cast<double>(i) / last);
      double loss = 6 * c1 * 2 * std::pow(std::sin(M_PI / (2 * last)), 2);  // 6·c1·(1 - cos(π/last))
      lasting = std::exp(static_cast<double>(steps) * std::log1p(-loss));
    }
    double of(std::size_t x, std::size_t y, std::size_t z) const {
      double a = static_cast<double>(x) / last, b = static_cast<double>(y) / last, c = static_cast<double>(z) / last;
      return 1 + a + 2 * b + 3 * c + a * a + b * b - 2 * c * c + lasting * wave[x] * wave[y] * wave[z];
    }
  };
  // Both grids have the border, the first also the field; what the second holds within is wrong.
  void spoil_results(Team& t) {
    const Field field(n, 0);
    t.each([&](Worker w) {
      auto [first, last] = w.part(n, 1);
      for (std::size_t z = first; z < last; ++z)
        for (std::size_t y = 0; y < n; ++y)
          for (std::size_t x = 0; x < n; ++x) {
            bool within = std::min({x, y, z}) > 0 && std::max({x, y, z}) + 1 < n;
            double value = field.of(x, y, z);
            grids[0][z * plane + y * n + x] = value, grids[1][z * plane + y * n + x] = within ? -1 : value;
          }
    });
    for (auto& s : steps) s.value = 0;
    device_steps = 0;
    if (on) there[0]->write(), there[1]->write();
  }
  std::size_t count_pieces(std::size_t) const { return n - 2; }
  std::size_t share_granularity() const { return depth; }

  // One row in each of some planes, one above the other: what lies between two of them is loaded once for both.
  // `soon` is the row that comes next. Whole packs also where they bypass the caches: a line that is met twice has
  // often left the first cache in between, where the rows of all planes have the same place.
  template <bool streaming_stores, std::size_t planes>
  void row(double* __restrict to, const double* __restrict u, const double* soon) const {
    constexpr std::size_t line = 8, v = pack_doubles;
    const std::size_t width = n, layer = plane;  // copies: the compiler cannot know that no store changes the members
    const std::ptrdiff_t ahead = soon - u;
    auto next = [=](const double* at) {
      auto sides = load_unaligned<Pack>(at - 1) + load_unaligned<Pack>(at + 1);
      auto rest = (load_unaligned<Pack>(at - width) + load_unaligned<Pack>(at + width)) +
                  (load_unaligned<Pack>(at - layer) + load_unaligned<Pack>(at + layer));
      return c0 * load_unaligned<Pack>(at) + c1 * (sides + rest);
    };
    for (std::size_t x = 0; x < width; x += line)
      for (std::size_t z = 0; z < planes; ++z) {
        const double* from = u + z * layer + x;
        double* out = to + z * layer + x;
        __builtin_prefetch(from + layer + ahead);
        if constexpr (!streaming_stores) __builtin_prefetch(out + ahead, 1);
        for (std::size_t k = 0; k < line; k += v) {
          Pack value = next(from + k);
          if (x + k == 0) value[0] = from[0];
          if (x + k + v == width) value[v - 1] = from[line - 1];
          put_pack<streaming_stores>(out + k, value);
        }
      }
  }
  template <bool streaming_stores>
  static void put_pack(double* p, Pack value) {
    if constexpr (!streaming_stores)
      pack_at(p) = value;
    else
#if defined(__AVX512F__)
      _mm512_stream_pd(p, reinterpret_cast<__m512d>(value));
#else
      store_streaming(p, reinterpret_cast<Streamed>(value));
#endif
  }
  // Rows [y0, y1) of the planes from z0 on, so many of them together; returns the first plane that is left.
  template <bool streaming_stores, std::size_t planes>
  std::size_t layers(double* to, const double* u, std::size_t z0, std::size_t z1, std::size_t y0,
                     std::size_t y1) const {
    for (; z0 + planes <= z1; z0 += planes)
      for (std::size_t y = y0; y < y1; ++y) {
        std::size_t at = z0 * plane + y * n;
        row<streaming_stores, planes>(to + at, u + at, y + 1 < y1 ? u + at + n : u + (z0 + planes) * plane + y0 * n);
      }
    return z0;
  }
  // The planes of a block of rows stay in the second cache while the sweep goes on to the next ones.
  template <bool streaming_stores>
  void sweep_block(double* to, const double* u, std::size_t z0, std::size_t z1, std::size_t y0, std::size_t y1) const {
    std::size_t blocks = (y1 - y0 + block - 1) / block;
    for (std::size_t b = 0; b < blocks; ++b) {
      auto [from, end] = Worker{b, blocks}.part(y1 - y0, 1);
      std::size_t rest = layers<streaming_stores, together>(to, u, z0, z1, y0 + from, y0 + end);
      layers<streaming_stores, 1>(to, u, rest, z1, y0 + from, y0 + end);
    }
    if (streaming_stores) drain_stores();
  }
  // Returns how to cut the planes into slabs, and these into strips, so that each worker reads the least.
  static std::size_t count_slabs(std::size_t workers, std::size_t planes, std::size_t lines) {
    std::size_t best = workers, least = ~std::size_t{0};
    for (std::size_t s = workers; s > 0; --s) {
      std::size_t strips = workers / s, reads = ((planes + s - 1) / s + 2) * ((lines + strips - 1) / strips + 2);
      if (workers % s == 0 && reads < least) best = s, least = reads;
    }
    return best;
  }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    std::size_t turn = steps[w.index].value++ % 2, s = count_slabs(w.size, last - first, n - 2), strips = w.size / s;
    auto [z0, z1] = Worker{w.index / strips, s}.part(last - first, 1);
    auto [y0, y1] = Worker{w.index % strips, strips}.part(n - 2, 1);
    auto sweeper = streaming ? &Stencil::sweep_block<true> : &Stencil::sweep_block<false>;
    (this->*sweeper)(grids[1 - turn].data(), grids[turn].data(), first + z0 + 1, first + z1 + 1, y0 + 1, y1 + 1);
    if (first > 0 && w.size > 1) team.barrier().wait();  // what is exchanged is not the first worker's alone
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    bool processor = device.is_processor;
    lanes = processor ? 8 : 1, group = processor ? n / lanes : 64, width = (n / lanes + group - 1) / group * group;
    // The points at the ends of a row are the border: they stay as they are.
    std::string keep = processor ? "#define KEEP(to, old) if (x == 0) to.s0 = old.s0; if (x + 8 == N) to.s7 = old.s7;\n"
                                 : "#define KEEP(to, old) if (x == 0 || x == N - 1) to = old;\n";
    device.build(join({packs(processor), keep, define("N", n), define("ROWS", rows), define("DEPTH", depth),
                       define("WIDTH", width), define("BLOCKS", blocks()), "#define C0 ", c0, "\n#define C1 ", c1, "\n",
                       program}));
    for (std::size_t i = 0; i < 2; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, grids[i].data(), n * plane * sizeof(double));
      there[i]->write();
    }
  }
  std::size_t blocks() const { return (n - 2 + rows - 1) / rows; }
  void queue(std::size_t, std::size_t, std::size_t last) {
    std::size_t turn = device_steps++ % 2, layers = (last + depth - 1) / depth;
    on->run("sweep", 0, layers * blocks() * width, group, there[1 - turn]->handle(), there[turn]->handle());
  }
  // The planes at the border, from each side to the other.
  void exchange_results(std::size_t, std::size_t share) {
    if (share == n - 2) return;
    std::size_t bytes = plane * sizeof(double);
    auto& now = *there[device_steps % 2];
    now.read(share * bytes, (share + 1) * bytes), now.write((share + 1) * bytes, (share + 2) * bytes);
  }
  void fetch(std::size_t share) {
    there[device_steps % 2]->read(plane * sizeof(double), (share + 1) * plane * sizeof(double));
  }
  std::size_t count_made() const { return std::max(steps[0].value, device_steps); }
  Work work() const {
    double points = std::pow(static_cast<double>(n - 2), 3);
    return {{"flops", 8 * points}, {"bytes", 16 * points}, {"bytes_moved", (streaming ? 16 : 24) * points}};
  }
  void corrupt() { grids[count_made() % 2][n * plane / 3] += 1; }
  Check check() {
    if (count_made() == 0) return {false, "no step was made"};
    const Field field(n, count_made());
    const Buffer<double>& now = grids[count_made() % 2];
    double worst = 0;
    for (std::size_t z = 0; z < n; ++z)
      for (std::size_t y = 0; y < n; ++y)
        for (std::size_t x = 0; x < n; ++x)
          worst = std::max(worst, std::abs(now[z * plane + y * n + x] - field.of(x, y, z)));
    // Values are below 16, so that a step rounds by no more than two halves of 2^-49.
    double allowed = (16 + static_cast<double>(count_made())) * 0x1p-49;
    return {worst <= allowed,
            join({"after ", count_made(), " steps the largest error is ", worst, ", allowed ", allowed})};
  }
};

int main() { return serve({kernel<Modes<Stencil>>("stencil")}); }
