// The accelerations that many bodies give each other, all pairs of them, by threads, by a device, or by both.
#include "modes.h"
#include "simd.h"

using namespace steelyard;

constexpr double softening = 1e-9;  // squared length: two bodies at one place must not divide by 0

// A first guess of 1/√x, and how many terms of the series below make it a full double: its error e = 1 - x·guess² is
// at most 2^-13 where the processor guesses doubles, and 3·2^-12 where it guesses floats.
#if defined(__AVX512F__)
constexpr int terms = 4;
inline Pack guess(Pack x) {
  return reinterpret_cast<Pack>(_mm512_maskz_rsqrt14_pd(0xff, reinterpret_cast<__m512d>(x)));
}
#elif defined(__AVX__)
constexpr int terms = 6;
inline Pack guess(Pack x) {
  return reinterpret_cast<Pack>(_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(x)))));
}
#else
constexpr int terms = 0;
inline Pack guess(Pack x) {
  for (std::size_t i = 0; i < pack_doubles; ++i) x[i] = 1 / std::sqrt(x[i]);
  return x;
}
#endif

// Returns m / √x³: the guess cubed, times (1 - e)^(-3/2) as its binomial series.
inline Pack pull(Pack mass, Pack x) {
  constexpr double series[] = {0, 3.0 / 2, 15.0 / 8, 35.0 / 16, 315.0 / 128, 693.0 / 256, 3003.0 / 1024};
  Pack y = guess(x), square = y * y, cube = mass * y * square;
  if (terms == 0) return cube;
  Pack e = 1 - x * square, sum = pack_of(series[terms]);
  for (int i = terms - 1; i > 0; --i) sum = sum * e + series[i];
  return cube + cube * e * sum;
}

struct NBody {
  static constexpr std::size_t phases = 1, group = 256;
  static constexpr const char* program = R"(
    kernel void pull(GLOBAL const double* restrict x, GLOBAL const double* restrict y, GLOBAL const double* restrict z,
                     GLOBAL const double* restrict m, GLOBAL double* restrict ax, GLOBAL double* restrict ay,
                     GLOBAL double* restrict az, ulong tiles, double softening) {
      local double4 tile[256];
      size_t i = get_global_id(0), l = get_local_id(0);
      double px = x[i], py = y[i], pz = z[i], sx = 0, sy = 0, sz = 0;
      for (ulong t = 0; t < tiles; ++t) {
        tile[l] = MAKE4(x[t * 256 + l], y[t * 256 + l], z[t * 256 + l], m[t * 256 + l]);
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll 8
        for (int k = 0; k < 256; ++k) {
          double4 other = tile[k];
          double dx = other.x - px, dy = other.y - py, dz = other.z - pz;
          double r = rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, softening)))), s = other.w * r * r * r;
          sx = fma(s, dx, sx), sy = fma(s, dy, sy), sz = fma(s, dz, sz);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      ax[i] = sx, ay[i] = sy, az[i] = sz;
    })";
  enum { X, Y, Z, M, AX, AY, AZ, columns };
  std::size_t bodies, padded;  // bodies without mass fill the last group
  MemoryPolicy policy;
  std::vector<Buffer<double>> of;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[columns];

  NBody(Params& p, Team& team)
      : bodies(p.count("bodies", 8192)), padded((bodies + group - 1) / group * group), policy(p) {
    if (bodies < 2) throw CaseError(join({"parameter bodies='", bodies, "' must be at least 2"}));
    for (int i = 0; i < columns; ++i) of.emplace_back(padded, policy, team);
    // Anywhere in a cube, with masses that add up to about one.
    for (std::size_t i = 0; i < padded; ++i) {
      for (int c : {X, Y, Z}) of[c][i] = random(3 * i + static_cast<std::size_t>(c));
      of[M][i] = i < bodies ? (0.5 + random(3 * padded + i)) / static_cast<double>(bodies) : 0;
    }
    spoil_results(team);
  }
  void spoil_results(Team& team) {
    for (int c : {AX, AY, AZ}) {
      spoil(of[c], team, 0.0);
      if (on) there[c]->write();
    }
  }
  std::size_t count_pieces(std::size_t) const { return bodies; }
  std::size_t share_granularity() const { return group; }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    constexpr std::size_t wide = 4 * pack_doubles;
    auto [from, to] = w.part(last - first, pack_doubles);
    std::size_t i = first + from, end = first + to;
    for (; i + wide <= end; i += wide) accelerate<4>(i);
    for (; i < end; i += pack_doubles) accelerate<1>(i);
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    device.build(program);
    for (int i = 0; i < columns; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, of[i].data(), padded * sizeof(double));
      there[i]->write();
    }
  }
  void queue(std::size_t, std::size_t first, std::size_t last) {
    auto handle = [&](int i) { return there[i]->handle(); };
    on->run("pull", first, (last + group - 1) / group * group, group, handle(X), handle(Y), handle(Z), handle(M),
            handle(AX), handle(AY), handle(AZ), std::uint64_t{padded / group}, softening);
  }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) {
    for (int c : {AX, AY, AZ}) there[c]->read(0, share * sizeof(double));
  }
  Work work() const {
    double n = static_cast<double>(bodies);
    return {{"flops", 20 * n * n}, {"bytes", 56 * n}, {"bytes_moved", 80 * n}};  // 4 columns read, 3 written
  }
  void corrupt() { of[AY][bodies / 3] += 1e-3; }

  Check check() {
    double worst = 0, momentum[3] = {}, whole = 0;
    for (std::size_t k = 0, i = 0; k < 128; i = ++k * bodies / 128) worst = std::max(worst, difference(i));
    for (std::size_t i = 0; i < bodies; ++i)
      for (int c = 0; c < 3; ++c) {
        momentum[c] += of[M][i] * of[AX + c][i];
        whole += of[M][i] * std::abs(of[AX + c][i]);
      }
    double rest = std::max({std::abs(momentum[0]), std::abs(momentum[1]), std::abs(momentum[2])}) / whole;
    // Comparisons are so that what is not a number fails.
    return {worst <= 1e-12 && rest <= 1e-10,
            join({"the forces add up to ", rest, " of their sizes' sum, and differ by at most ", worst,
                  " from those calculated one by one for 128 bodies"})};
  }

 private:
  // Uniform in [0, 1): the 52 upper bits of a mixed counter.
  static double random(std::size_t i) {
    std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return static_cast<double>((z ^ (z >> 32)) >> 12) * 0x1p-52;
  }
  // N registers full of bodies from body `i` on, pulled by all.
  template <int N>
  void accelerate(std::size_t i) {
    const double *x = of[X].data(), *y = of[Y].data(), *z = of[Z].data(), *m = of[M].data();
    Pack px[N], py[N], pz[N], sx[N] = {}, sy[N] = {}, sz[N] = {};
    for (int k = 0; k < N; ++k) {
      px[k] = pack_at(x + i + k * pack_doubles), py[k] = pack_at(y + i + k * pack_doubles);
      pz[k] = pack_at(z + i + k * pack_doubles);
    }
    for (std::size_t j = 0; j < bodies; ++j)
      for (int k = 0; k < N; ++k) {
        Pack dx = x[j] - px[k], dy = y[j] - py[k], dz = z[j] - pz[k];
        Pack s = pull(pack_of(m[j]), dx * dx + (dy * dy + (dz * dz + softening)));
        sx[k] += s * dx, sy[k] += s * dy, sz[k] += s * dz;
      }
    for (int k = 0; k < N; ++k) {
      pack_at(of[AX].data() + i + k * pack_doubles) = sx[k], pack_at(of[AY].data() + i + k * pack_doubles) = sy[k];
      pack_at(of[AZ].data() + i + k * pack_doubles) = sz[k];
    }
  }
  // Relative error of body i's acceleration, against plain division and square root.
  double difference(std::size_t i) const {
    double sum[3] = {}, size = 0, wrong = 0;
    for (std::size_t j = 0; j < bodies; ++j) {
      double d[3], r = softening;
      for (int c = 0; c < 3; ++c) d[c] = of[c][j] - of[c][i], r += d[c] * d[c];
      for (int c = 0; c < 3; ++c) {
        sum[c] += of[M][j] / (r * std::sqrt(r)) * d[c];
        size += of[M][j] / (r * std::sqrt(r)) * std::abs(d[c]);
      }
    }
    for (int c = 0; c < 3; ++c) wrong = std::max(wrong, std::abs(of[AX + c][i] - sum[c]));
    return std::isfinite(wrong) ? wrong / size : 1;
  }
};

int main() { return serve({kernel<Modes<NBody>>("nbody")}); }
