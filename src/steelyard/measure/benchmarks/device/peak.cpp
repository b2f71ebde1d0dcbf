// The highest speed of a device's arithmetic: fused operations, matrix units, and the product of the vendor's library.
#include "on_device.h"
#include "vendor_product.h"

using namespace steelyard;

namespace {

// Eight chains of fused operations for each work item.
constexpr const char* chains = R"(
    kernel void fill(GLOBAL REAL* restrict out) { out[get_global_id(0)] = 0; }
    kernel void peak(GLOBAL REAL* restrict out, uint steps) {
      const size_t i = get_global_id(0);
      const REAL a = (REAL)0.75, b = (REAL)0.25;
      REAL x[8];
      #pragma unroll
      for (int k = 0; k < 8; ++k) x[k] = (REAL)(i % 16 + k) / 16;
      for (uint n = 0; n < steps; n += 16) {
        #pragma unroll
        for (int m = 0; m < 16; ++m) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) x[k] = fma(x[k], a, b);
        }
      }
      out[i] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    })";

// The same with pairs of short numbers, which CUDA has in headers of its toolkit only: as instructions of PTX. Each
// step adds one until the format holds no greater odd number.
constexpr const char* pairs = R"(
    kernel void fill(GLOBAL uint* restrict out) { out[get_global_id(0)] = 0; }
    kernel void peak(GLOBAL uint* restrict out, uint steps) {
      uint x[8];
      const uint one = ONES;
      for (int k = 0; k < 8; ++k) x[k] = 0;
      for (uint n = 0; n < steps; n += 16) {
        #pragma unroll
        for (int m = 0; m < 16; ++m) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) asm volatile("fma.rn.FORMAT %0, %0, %1, %1;" : "+r"(x[k]) : "r"(one));
        }
      }
      uint last = x[0];
      for (int k = 1; k < 8; ++k) last = x[k] == last ? last : 0;
      out[get_global_id(0)] = last;
    })";

// Products of small matrices of ones by NVIDIA's matrix units. Each step adds the depth K of a product to the sums.
constexpr const char* matrices = R"(
    kernel void fill(GLOBAL SUM* restrict out) { out[get_global_id(0)] = 0; }
    kernel void peak(GLOBAL SUM* restrict out, uint steps) {
      SUM c[8][SUMS];
      const FACTOR one = ONES;
      for (int k = 0; k < 8; ++k)
        for (int i = 0; i < SUMS; ++i) c[k][i] = 0;
      for (uint n = 0; n < steps; ++n) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) PRODUCT(c[k]);
      }
      SUM last = c[0][0];
      for (int k = 0; k < 8; ++k)
        for (int i = 0; i < SUMS; ++i) last = c[k][i] == last ? last : 0;
      out[get_global_id(0)] = last;
    })";

struct MatrixUnit {
  const char *precision, *shape, *types, *ones;
  int rows, columns, depth, factors_a, factors_b;
  bool is_double() const { return factors_b == 1 || factors_b == 4; }
};
// Source: NVIDIA, PTX ISA, warp-level matrix instructions (mma.sync).
constexpr MatrixUnit units[] = {{"double", "m8n8k4", "f64.f64.f64.f64", "1.0", 8, 8, 4, 1, 1},
                                // For Hopper and Blackwell, whose units are busy only with larger products.
                                {"double", "m16n8k16", "f64.f64.f64.f64", "1.0", 16, 8, 16, 8, 4},
                                {"tf32", "m16n8k8", "f32.tf32.tf32.f32", "0x3F800000u", 16, 8, 8, 4, 2},
                                {"half", "m16n8k16", "f32.f16.f16.f32", "0x3C003C00u", 16, 8, 16, 4, 2},
                                {"bfloat16", "m16n8k16", "f32.bf16.bf16.f32", "0x3F803F80u", 16, 8, 16, 4, 2},
                                {"fp8", "m16n8k32", "f32.e4m3.e4m3.f32", "0x38383838u", 16, 8, 32, 4, 2}};

std::string replace_word(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), by);
  return text;
}

// The instruction as a macro: its sums are %0 and on, its factors all the same register of ones.
std::string matrix_product_code(const MatrixUnit& unit) {
  const bool wide = unit.is_double();
  const int sums = unit.rows == 8 ? 2 : 4;
  auto list = [](int count, auto item) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + item(i);
    return text + "}";
  };
  auto place = [](int i) { return join({"%", i}); };
  auto one = [&](int) { return join({"%", sums}); };
  std::string outputs;
  for (int i = 0; i < sums; ++i) outputs += join({i ? ", " : "", wide ? "\"+d\"" : "\"+f\"", "(c[", i, "])"});
  return join({"#define SUM ",
               wide ? "double" : "float",
               "\n#define FACTOR ",
               wide ? "double" : "uint",
               "\n#define SUMS ",
               sums,
               "\n#define ONES ",
               unit.ones,
               "\n#define PRODUCT(c) asm volatile(\"mma.sync.aligned.",
               unit.shape,
               ".row.col.",
               unit.types,
               " ",
               list(sums, place),
               ", ",
               list(unit.factors_a, one),
               ", ",
               list(unit.factors_b, one),
               ", ",
               list(sums, place),
               ";\" : ",
               outputs,
               " : ",
               wide ? "\"d\"" : "\"r\"",
               "(one))\n"});
}

}  // namespace

// The common part of both kinds of loops: all work items do the same, for `steps` steps.
class Loops : public OnDevice {
 public:
  Loops(Params& p, Team& team)
      : OnDevice(p, team),
        group_(device->is_processor ? 1 : 256),
        items_(device->units * (device->is_processor ? 16 : 2048)),
        // Long enough for its start and its end to be a small part: some milliseconds of a GPU.
        steps_((std::max<std::size_t>(1, p.count("steps", 4096)) + 15) / 16 * 16),
        out_(*device, items_ * sizeof(double)) {}
  void run(Worker, std::size_t operations) {
    run_timed(operations,
              [&] { device->run("peak", 0, items_, group_, out_.handle(), static_cast<std::uint32_t>(steps_)); });
  }
  void corrupt() { corrupt_ = true; }

 protected:
  void begin(const std::string& program) {
    device->build(program);
    device->run("fill", 0, items_, group_, out_.handle());
    device->finish();
  }
  // Compares what each work item found with what it must find.
  template <class T>
  Check compare(const std::function<T(std::size_t)>& right) {
    end_clock();
    std::vector<T> found = fetch_from_device<T>(out_.handle(), items_);
    if (corrupt_) found[items_ / 3] = T(7);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < items_; ++i) wrong += found[i] != right(i);
    return {wrong == 0, join({wrong, " of ", items_, " results are wrong"})};
  }
  std::size_t group_, items_, steps_;

 private:
  DeviceMemory out_;
  bool corrupt_ = false;
};

class VectorUnits : public Loops {
 public:
  VectorUnits(Params& p, Team& team)
      : Loops(p, team), precision_(p.choice("precision", "double", {"double", "single", "half", "bfloat16"})) {
    if (!is_short()) {
      begin(join({"#define REAL ", precision_ == "double" ? "double" : "float", "\n", chains}));
      return;
    }
    if (device->language != "CUDA")
      throw CaseError(join({"precision='", precision_, "' is measured on devices of CUDA only"}));
    begin("#define ONES " + std::string(is_half() ? "0x3C003C00u\n" : "0x3F803F80u\n") +
          replace_word(pairs, "FORMAT", is_half() ? "f16x2" : "bf16x2"));
  }
  Work work() const {
    return {{"flops", (is_short() ? 4.0 : 2.0) * 8 * static_cast<double>(steps_) * static_cast<double>(items_)}};
  }
  Check check() {
    if (precision_ == "double") return compare<double>([this](std::size_t i) { return end_of<double>(i); });
    if (precision_ == "single") return compare<float>([this](std::size_t i) { return end_of<float>(i); });
    // 11 and 8 bits hold all whole numbers up to 2048 and 256.
    const std::size_t last = std::min<std::size_t>(steps_, is_half() ? 2048 : 256);
    const std::uint32_t bits = result_bits(last);
    return compare<std::uint32_t>([bits](std::size_t) { return bits | bits << 16; });
  }

 private:
  bool is_half() const { return precision_ == "half"; }
  bool is_short() const { return is_half() || precision_ == "bfloat16"; }
  // A whole number as a half or a bfloat16.
  std::uint32_t result_bits(std::size_t number) const {
    const int exponent = std::ilogb(static_cast<double>(number)), digits = is_half() ? 10 : 7,
              bias = is_half() ? 15 : 127;
    const double rest = std::ldexp(static_cast<double>(number), -exponent) - 1;
    return static_cast<std::uint32_t>(exponent + bias) << digits | static_cast<std::uint32_t>(std::ldexp(rest, digits));
  }
  template <class T>
  T end_of(std::size_t i) const {
    T x[8];
    for (std::size_t k = 0; k < 8; ++k) {
      x[k] = static_cast<T>(i % 16 + k) / 16;
      // The chain converges: after so many steps nothing changes.
      for (std::size_t n = 0; n < std::min<std::size_t>(steps_, 512); ++n) x[k] = std::fma(x[k], T(0.75), T(0.25));
    }
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  }
  std::string precision_;
};

class MatrixUnits : public Loops {
 public:
  MatrixUnits(Params& p, Team& team) : Loops(p, team) {
    const std::string precision = p.choice("precision", "half", {"double", "tf32", "half", "bfloat16", "fp8"});
    const bool greater = device->capability == 90 || device->capability == 100;  // others have few units for them
    unit_ = *std::find_if(std::begin(units), std::end(units), [&](const MatrixUnit& u) {
      return precision == u.precision && (precision != "double" || (u.rows == 16) == greater);
    });
    if (device->language != "CUDA")
      throw CaseError(
          "the matrix units are measured on devices of CUDA only; the library of the vendor uses them, too");
    begin(matrix_product_code(unit_) + matrices);
  }
  Work work() const {
    const double product = 2.0 * unit_.rows * unit_.columns * unit_.depth;
    return {{"flops", product * 8 * static_cast<double>(steps_) * static_cast<double>(items_) / 32}};
  }
  Check check() {
    const double right = static_cast<double>(steps_) * unit_.depth;
    if (unit_.is_double()) return compare<double>([right](std::size_t) { return right; });
    return compare<float>([right](std::size_t) { return static_cast<float>(right); });
  }

 private:
  MatrixUnit unit_{};
};

int main() { return serve({kernel<VectorUnits>("vector"), kernel<MatrixUnits>("matrix"), kernel<Library>("library")}); }
