// The product of two square matrices: by threads, by a device, by both; and by the site's BLAS.
#include <cmath>

#include "gemm.h"
#include "modes.h"
#include "scattered.h"
#include "site_library.h"

using namespace steelyard;

// Two factors and their product. All entries are multiples of 2^-20 below 1/2, so that sums of up to 2^15 products are
// exact, in whatever order they are added.
struct Matrices {
  static constexpr double unit = 1.0 / (1 << 20);
  static constexpr std::size_t most = std::size_t{1} << 15;
  std::size_t order;
  MemoryPolicy policy;
  Buffer<double> a, b, c;

  Matrices(Params& p, Team& team)
      : order(check_size(p.count("order", 1024))),
        policy(p),
        a(order * order, policy, team),
        b(order * order, policy, team),
        c(order * order, policy, team) {
    team.each([&](Worker w) {
      auto [first, last] = w.part(order * order);
      for (std::size_t i = first; i < last; ++i) a[i] = entry(2 * i), b[i] = entry(2 * i + 1);
    });
    spoil(c, team, static_cast<double>(NAN));
  }
  static std::size_t check_size(std::size_t order) {
    if (order >= 1 && order <= most) return order;
    throw CaseError(
        join({"parameter order='", order, "' must be from 1 to ", most, ": the check is exact only up to this order"}));
  }
  static double entry(std::uint64_t i) {
    return static_cast<double>(static_cast<std::int64_t>(scatter_index(i)) >> 44) * unit;
  }
  Work work() const {
    double n = static_cast<double>(order);
    return {{"flops", 2 * n * n * n}, {"bytes", 24 * n * n}, {"bytes_moved", 32 * n * n}};
  }
  void corrupt() { c[order * (order / 3) + order / 2] += unit * unit; }

  // R. Freivalds: C r = A (B r) for a vector r that the product knows nothing of. In whole numbers modulo 2^64, with
  // odd r, one wrong entry of a row cannot hide.
  Check check() const {
    const std::size_t n = order;
    std::vector<std::uint64_t> r(n), br(n);
    for (std::size_t i = 0; i < n; ++i) r[i] = scatter_index(~i) | 1;
    for (std::size_t i = 0; i < n; ++i) br[i] = times(b.data() + i * n, 1 / unit, r);
    std::size_t wrong = 0, strange = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = c.data() + i * n;
      std::size_t not_whole = 0;
      for (std::size_t j = 0; j < n; ++j) not_whole += !is_whole(row[j] / (unit * unit));
      strange += not_whole;
      wrong += not_whole || times(row, 1 / (unit * unit), r) != times(a.data() + i * n, 1 / unit, br);
    }
    return {wrong == 0, join({wrong, " of ", n,
                              " rows are wrong (by the product with a "
                              "random vector); ",
                              strange, " entries are no possible sum"})};
  }

 private:
  static bool is_whole(double x) { return std::abs(x) < 0x1p53 && x == static_cast<double>(static_cast<long>(x)); }
  static std::uint64_t times(const double* row, double scale, const std::vector<std::uint64_t>& r) {
    std::uint64_t sum = 0;
    for (std::size_t j = 0; j < r.size(); ++j)
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(row[j] * scale)) * r[j];
    return sum;
  }
};

struct Matmul : Matrices {
  static constexpr std::size_t phases = 1, side = 64, group = 128;
  // Each group makes a tile of 64 × 64, each of its items 8 × 4 entries of that; both factors pass through local
  // memory.
  static constexpr const char* program = R"(
    KERNEL_OF(128, multiply)(GLOBAL double* restrict c, GLOBAL const double* restrict a, GLOBAL const double* restrict b, uint n) {
      local double left[64][17], right[16][64];
      const uint item = get_local_id(0), tile = get_global_id(0) / 128, across = (n + 63) / 64;
      const uint top = tile / across * 64, start = tile % across * 64, x = item % 16, y = item / 16;
      double sum[8][4];
      #pragma unroll
      for (uint i = 0; i < 8; ++i)
        #pragma unroll
        for (uint j = 0; j < 4; ++j) sum[i][j] = 0;
      for (uint from = 0; from < n; from += 16) {
        #pragma unroll
        for (uint s = 0; s < 8; ++s) {
          uint row = s * 8 + y, k = from + x;
          left[row][x] = top + row < n && k < n ? a[(size_t)(top + row) * n + k] : 0;
        }
        #pragma unroll
        for (uint s = 0; s < 8; ++s) {
          uint k = s * 2 + item / 64, column = item % 64;
          right[k][column] = from + k < n && start + column < n ? b[(size_t)(from + k) * n + start + column] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (uint k = 0; k < 16; ++k)
          #pragma unroll
          for (uint i = 0; i < 8; ++i)
            #pragma unroll
            for (uint j = 0; j < 4; ++j) sum[i][j] = fma(left[y + 8 * i][k], right[k][x + 16 * j], sum[i][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      for (uint i = 0; i < 8; ++i)
        for (uint j = 0; j < 4; ++j) {
          uint row = top + y + 8 * i, column = start + x + 16 * j;
          if (row < n && column < n) c[(size_t)row * n + column] = sum[i][j];
        }
    }
    #ifdef PROCESSOR
    // A strip of 64 rows by one item, the right factor packed in its caches.
    kernel void multiply_strip(GLOBAL double* restrict c, GLOBAL const double* restrict a, GLOBAL const double* restrict b,
                               uint n) {
      double right[256 * 16];
      const uint top = get_global_id(0) * 64, bottom = min(top + 64, n);
      for (uint from = 0; from < n; from += 256) {
        const uint depth = min(256u, n - from);
        for (uint start = 0; start < n; start += 16) {
          const uint width = min(16u, n - start);
          for (uint k = 0; k < depth; ++k)
            for (uint j = 0; j < 16; ++j)
              right[k * 16 + j] = j < width ? b[(size_t)(from + k) * n + start + j] : 0;
          for (uint row = top; row < bottom; row += 8) {
            const uint rows = min(8u, bottom - row);
            GLOBAL const double* left = a + (size_t)row * n + from;
            double8 sum[8][2];
            #pragma unroll
            for (uint i = 0; i < 8; ++i) sum[i][0] = 0, sum[i][1] = 0;
            const size_t step = rows == 8 ? n : 0;  // short strips compute their first row again and again
            for (uint k = 0; k < depth; ++k) {
              const double8 first = vload8(2 * k, right), second = vload8(2 * k + 1, right);
              #pragma unroll
              for (uint i = 0; i < 8; ++i) {
                const double8 x = left[i * step + k];
                sum[i][0] = fma(x, first, sum[i][0]), sum[i][1] = fma(x, second, sum[i][1]);
              }
            }
            if (rows == 8 && width == 16) {
              #pragma unroll
              for (uint i = 0; i < 8; ++i) {
                GLOBAL double* to = c + (size_t)(row + i) * n + start;
                vstore8(from ? vload8(0, to) + sum[i][0] : sum[i][0], 0, to);
                vstore8(from ? vload8(1, to) + sum[i][1] : sum[i][1], 1, to);
              }
            } else {
              for (uint i = 0; i < rows; ++i)
                for (uint j = 0; j < width; ++j) {
                  double one = 0;
                  for (uint k = 0; k < depth; ++k) one = fma(left[i * (size_t)n + k], right[k * 16 + j], one);
                  size_t at = (size_t)(row + i) * n + start + j;
                  c[at] = from ? c[at] + one : one;
                }
            }
          }
        }
      }
    }
    #endif)";
  Team& team;
  gemm::Tiling cut;
  Buffer<double> right;
  std::vector<Buffer<double>> left;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[3];

  Matmul(Params& p, Team& t)
      : Matrices(p, t),
        team(t),
        cut(order),
        right(cut.packed(), policy, team),
        left(Buffer<double>::one_each(gemm::block_rows * cut.depth, policy, team, team.size())) {}
  void spoil_results(Team&) {
    spoil(c, team, static_cast<double>(NAN));
    if (on) there[0]->write();
  }
  std::size_t count_pieces(std::size_t) const { return order; }  // rows
  std::size_t share_granularity() const { return side; }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = w.part(cut.panels, 1);
    gemm::pack_right(cut, b.data(), right.data(), from, to);
    team.barrier().wait();
    gemm::multiply(cut, gemm::find_part(w, cut, first, last), a.data(), right.data(), left[w.index].data(), c.data());
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    device.build(program);
    Buffer<double>* all[] = {&c, &a, &b};
    for (int i = 0; i < 3; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, all[i]->data(), order * order * sizeof(double));
      there[i]->write();
    }
  }
  void queue(std::size_t, std::size_t first, std::size_t last) {
    if (on->is_processor)
      return on->run("multiply_strip", first / side, gemm::divide_up(last, side), 1, there[0]->handle(),
                     there[1]->handle(), there[2]->handle(), static_cast<std::uint32_t>(order));
    std::size_t items = gemm::divide_up(order, side) * group;  // for a row of tiles
    on->run("multiply", first / side * items, gemm::divide_up(last, side) * items, group, there[0]->handle(),
            there[1]->handle(), there[2]->handle(), static_cast<std::uint32_t>(order));
  }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) { there[0]->read(0, share * order * sizeof(double)); }
};

// The same product by the library that the site has for it; of the team only the first calls it.
struct Blas : Matrices {
  // The Fortran interface, which every BLAS has: all arguments by reference, and the lengths of the letters at the end.
  using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                     const int*, const double*, const int*, const double*, double*, const int*, std::size_t,
                     std::size_t);
  Team& team;
  Dgemm* dgemm;

  Blas(Params& p, Team& t) : Matrices(p, t), team(t) {
    p.choice("mode", "threads", {"threads"});
    with_started_threads(team, [&] {
      static SiteLibrary library("BLAS", "STEELYARD_BLAS", {"libopenblas.so.0", "libmkl_rt.so", "libblas.so.3"},
                                 "dgemm_");
      dgemm = library.find<Dgemm>("dgemm_");
      bool told = false;
      for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"})
        if (auto* tell = library.find<void(int)>(name)) tell(static_cast<int>(team.size())), told = true;
      if (!told && team.size() > 1)
        throw CaseError(join(
            {"Steelyard cannot set the number of threads of this site's BLAS: threads='", team.size(), "' must be 1"}));
      multiply();
    });
    spoil(c, team, static_cast<double>(NAN));
  }
  ~Blas() { let_threads_sleep(team); }
  // Fortran sees each matrix transposed: C' = B' A'.
  void multiply() {
    const int n = static_cast<int>(order);
    const double one = 1, zero = 0;
    dgemm("N", "N", &n, &n, &n, &one, b.data(), &n, a.data(), &n, &zero, c.data(), &n, 1, 1);
  }
  void run(Worker w, std::size_t operations) {
    if (w.index != 0) return;
    for (std::size_t i = 0; i < operations; ++i) multiply(), clobber();
  }
};

int main() { return serve({kernel<Modes<Matmul>>("matmul"), kernel<Blas>("blas")}); }
