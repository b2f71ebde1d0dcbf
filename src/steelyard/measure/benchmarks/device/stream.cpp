// The bandwidth of a device's memory: STREAM's four kernels, reads alone, and writes alone.
#include "on_device.h"

using namespace steelyard;

namespace {

constexpr const char* program = R"(
    #define INDEX(k) (get_group_id(0) * (size_t)(GROUP * EACH) + (k) * GROUP + get_local_id(0))
    kernel void fill(GLOBAL REAL* restrict a, GLOBAL REAL* restrict b, GLOBAL REAL* restrict c) {
      size_t i = get_global_id(0);
      a[i] = 0, b[i] = i % 1021 + 1, c[i] = i % 509 + 1;
    }
    kernel void turn(GLOBAL REAL* restrict a, GLOBAL const REAL* restrict b, GLOBAL const REAL* restrict c) {
      const REAL s = 3;
      #pragma unroll
      for (uint k = 0; k < EACH; ++k) {
        size_t i = INDEX(k);
        a[i] = BODY;
      }
    }
    // Each group leaves the sum of what it read: one number. It reads DEEP parts, so that adding up costs little.
    kernel void read(GLOBAL REAL* restrict a, GLOBAL const REAL* restrict b, GLOBAL const REAL* restrict c) {
      local REAL sums[GROUP];
      const uint l = get_local_id(0);
      REAL sum = 0;
      const size_t first = get_group_id(0) * (size_t)(GROUP * EACH * DEEP) + l;
      #pragma unroll
      for (uint k = 0; k < EACH * DEEP; ++k) sum += b[first + k * GROUP];
      sums[l] = sum;
      for (uint n = GROUP / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < n) sums[l] += sums[l + n];
      }
      if (l == 0) a[get_group_id(0)] = sums[0];
    }
    kernel void wrong(GLOBAL const REAL* restrict a, GLOBAL uint* restrict found) {
      const size_t i = get_global_id(0);
      const REAL s = 3, b = i % 1021 + 1, c = i % 509 + 1;
      if (a[i] != RIGHT) atomic_inc(found);
    })";

struct KernelBody {
  const char *name, *body, *right;
  double arrays, flops;
};
constexpr KernelBody bodies[] = {{"copy", "b[i]", "b", 2, 0},
                                 {"scale", "s * b[i]", "s * b", 2, 1},
                                 {"add", "b[i] + c[i]", "b + c", 3, 1},
                                 {"triad", "b[i] + s * c[i]", "b + s * c", 3, 2},
                                 {"write", "s", "s", 1, 0},
                                 {"read", "0", "0", 1, 1}};

}  // namespace

template <int which>
class Stream : public OnDevice {
 public:
  Stream(Params& p, Team& team)
      : OnDevice(p, team),
        real_(p.choice("precision", "double", {"double", "single"}) == "double" ? 8 : 4),
        group_(p.count("group", 256)),
        each_(p.count("each", 4)),
        elements_(rounded(p.count("elements", std::size_t{1} << 27))),
        a_(*device, elements_ * real_),
        b_(*device, elements_ * real_),
        c_(*device, elements_ * real_) {
    const KernelBody& body = bodies[which];
    device->build(
        join({"#define REAL ", real_ == 8 ? "double" : "float", "\n#define GROUP ", group_, "\n#define EACH ", each_,
              "\n#define DEEP ", deep, "\n#define BODY ", body.body, "\n#define RIGHT ", body.right, "\n", program}));
    device->run("fill", 0, elements_, group_, a_.handle(), b_.handle(), c_.handle());
    device->finish();
  }
  void run(Worker, std::size_t operations) {
    run_timed(operations, [&] {
      device->run(reads ? "read" : "turn", 0, elements_ / each_ / deep, group_, a_.handle(), b_.handle(), c_.handle());
    });
  }
  Work work() const {
    const double n = static_cast<double>(elements_), bytes = bodies[which].arrays * n * static_cast<double>(real_);
    return {{"bytes", bytes}, {"bytes_moved", bytes}, {"flops", bodies[which].flops * n}};
  }
  void corrupt() {
    std::vector<char> number(real_);
    device->copy_to(a_.handle(), number.data(), elements_ / part() / 3 * real_, real_, false);
    device->finish();
  }
  Check check() {
    end_clock();
    if (reads) return real_ == 8 ? check_sums<double>() : check_sums<float>();
    DeviceMemory found(*device, sizeof(std::uint32_t));
    const std::uint32_t none = 0;
    device->copy_to(found.handle(), &none, 0, sizeof none, false);
    device->run("wrong", 0, elements_, group_, a_.handle(), found.handle());
    const std::uint32_t wrong = fetch_from_device<std::uint32_t>(found.handle(), 1).front();
    return {wrong == 0, join({wrong, " of ", elements_, " elements are wrong"})};
  }

 private:
  static constexpr bool reads = which == 5;
  static constexpr std::size_t deep = reads ? 4 : 1;
  std::size_t part() const { return group_ * each_ * deep; }  // of a group
  std::size_t rounded(std::size_t elements) const {
    if (group_ == 0 || group_ > device->widest || (group_ & (group_ - 1)) != 0)
      throw CaseError(join({"group='", group_, "' must be a power of two up to ", device->widest}));
    if (each_ == 0 || each_ > 64) throw CaseError(join({"each='", each_, "' must be from 1 to 64"}));
    return std::max<std::size_t>(1, elements / part()) * part();
  }
  template <class Real>
  Check check_sums() {
    const std::size_t groups = elements_ / part();
    const std::vector<Real> sums = fetch_from_device<Real>(a_.handle(), groups);
    std::size_t wrong = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      double right = 0;
      for (std::size_t i = g * part(); i < (g + 1) * part(); ++i) right += static_cast<double>(i % 1021 + 1);
      // Single precision holds whole numbers up to 2^24 only.
      wrong += std::abs(static_cast<double>(sums[g]) - right) > (sizeof(Real) == 4 ? 1e-5 * right : 0);
    }
    return {wrong == 0, join({wrong, " of ", groups, " sums are wrong"})};
  }

  std::size_t real_, group_, each_, elements_;
  DeviceMemory a_, b_, c_;
};

int main() {
  return serve({kernel<Stream<0>>("copy"), kernel<Stream<1>>("scale"), kernel<Stream<2>>("add"),
                kernel<Stream<3>>("triad"), kernel<Stream<4>>("write"), kernel<Stream<5>>("read")});
}
