// The highest speed of a device's arithmetic: fused operations, matrix units, and the product of the vendor's library.
#include "on_device.h"
#include "vendor_library.h"

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

struct Matrix {
  const char *precision, *shape, *types, *ones;
  int rows, columns, depth, factors_a, factors_b;
  bool is_double() const { return factors_b == 1 || factors_b == 4; }
};
// Source: NVIDIA, PTX ISA, warp-level matrix instructions (mma.sync).
constexpr Matrix units[] = {{"double", "m8n8k4", "f64.f64.f64.f64", "1.0", 8, 8, 4, 1, 1},
                            // Of Hopper and Blackwell, whose units are busy with greater products only.
                            {"double", "m16n8k16", "f64.f64.f64.f64", "1.0", 16, 8, 16, 8, 4},
                            {"tf32", "m16n8k8", "f32.tf32.tf32.f32", "0x3F800000u", 16, 8, 8, 4, 2},
                            {"half", "m16n8k16", "f32.f16.f16.f32", "0x3C003C00u", 16, 8, 16, 4, 2},
                            {"bfloat16", "m16n8k16", "f32.bf16.bf16.f32", "0x3F803F80u", 16, 8, 16, 4, 2},
                            {"fp8", "m16n8k32", "f32.e4m3.e4m3.f32", "0x38383838u", 16, 8, 32, 4, 2}};

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), by);
  return text;
}

// The instruction as a macro: its sums are %0 and on, its factors all the same register of ones.
std::string product_of(const Matrix& unit) {
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

// What both kinds of loops have in common: all work items do the same, for `steps` steps.
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
    turn(operations,
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
    std::vector<T> found = fetched<T>(out_.handle(), items_);
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

class Vector : public Loops {
 public:
  Vector(Params& p, Team& team)
      : Loops(p, team), precision_(p.choice("precision", "double", {"double", "single", "half", "bfloat16"})) {
    if (!is_short()) {
      begin(join({"#define REAL ", precision_ == "double" ? "double" : "float", "\n", chains}));
      return;
    }
    if (device->language != "CUDA")
      throw CaseError(join({"precision='", precision_, "' is measured on devices of CUDA only"}));
    begin("#define ONES " + std::string(is_half() ? "0x3C003C00u\n" : "0x3F803F80u\n") +
          replaced(pairs, "FORMAT", is_half() ? "f16x2" : "bf16x2"));
  }
  Work work() const {
    return {{"flops", (is_short() ? 4.0 : 2.0) * 8 * static_cast<double>(steps_) * static_cast<double>(items_)}};
  }
  Check check() {
    if (precision_ == "double") return compare<double>([this](std::size_t i) { return end_of<double>(i); });
    if (precision_ == "single") return compare<float>([this](std::size_t i) { return end_of<float>(i); });
    // 11 and 8 bits hold all whole numbers up to 2048 and 256.
    const std::size_t last = std::min<std::size_t>(steps_, is_half() ? 2048 : 256);
    const std::uint32_t bits = bits_of(last);
    return compare<std::uint32_t>([bits](std::size_t) { return bits | bits << 16; });
  }

 private:
  bool is_half() const { return precision_ == "half"; }
  bool is_short() const { return is_half() || precision_ == "bfloat16"; }
  // A whole number as a half or a bfloat16.
  std::uint32_t bits_of(std::size_t number) const {
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
    unit_ = *std::find_if(std::begin(units), std::end(units), [&](const Matrix& u) {
      return precision == u.precision && (precision != "double" || (u.rows == 16) == greater);
    });
    if (device->language != "CUDA")
      throw CaseError(
          "the matrix units are measured on devices of CUDA only; the library of the vendor uses them, too");
    begin(product_of(unit_) + matrices);
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
  Matrix unit_{};
};

// The product of two matrices of ones by cuBLAS; of numbers of 8 bits by cuBLASLt, which alone has them.
class Library : public OnDevice {
 public:
  Library(Params& p, Team& team)
      : OnDevice(p, team),
        n_(p.count("order", 8192)),
        kind_(*std::find_if(
            std::begin(kinds), std::end(kinds),
            [name = p.choice("precision", "double", {"double", "single", "tf32", "half", "bfloat16", "fp8"})](
                const Kind& kind) { return name == kind.precision; })),
        a_(*device, n_ * n_ * kind_.bytes),
        c_(*device, n_ * n_ * kind_.sum_bytes),
        workspace_(*device, is_light() ? workspace_bytes : 1) {
    if (device->language != "CUDA") throw CaseError("the library is that of NVIDIA: the device must be one of CUDA");
    if (n_ == 0 || n_ > 46'340) throw CaseError(join({"order='", n_, "' must be from 1 to 46340"}));
    const auto word = [](std::size_t bytes) {
      return bytes == 8 ? "ulong" : bytes == 4 ? "uint" : bytes == 2 ? "unsigned short" : "unsigned char";
    };
    device->build(join({"kernel void fill(GLOBAL ", word(kind_.bytes), "* restrict a, GLOBAL ", word(kind_.sum_bytes),
                        "* restrict c) {\n  a[get_global_id(0)] = ", kind_.one, ", c[get_global_id(0)] = 0;\n}\n"}));
    device->run("fill", 0, n_ * n_, 0, a_.handle(), c_.handle());
    device->finish();
    if (is_light()) {
      describe();
      return;
    }
    must(library().call("cublasCreate_v2", &handle_));
    must(library().call("cublasSetStream_v2", handle_, device->queue()));
  }
  ~Library() {
    if (!is_light()) library().call("cublasDestroy_v2", handle_);
    if (!is_light() || !handle_) return;
    for (accelerator::Handle layout : {factor_, result_}) light().call("cublasLtMatrixLayoutDestroy", layout);
    light().call("cublasLtMatmulDescDestroy", product_);
    light().call("cublasLtDestroy", handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void run(Worker, std::size_t operations) {
    turn(operations, [&] { multiply(); });
  }
  Work work() const {
    const double n = static_cast<double>(n_);
    return {{"flops", 2 * n * n * n}};
  }
  void corrupt() {
    const std::uint64_t none = 0;
    device->copy_to(c_.handle(), &none, n_ * n_ / 3 * kind_.sum_bytes, kind_.sum_bytes, false);
    device->finish();
  }
  Check check() {
    end_clock();
    const std::vector<char> found = fetched<char>(c_.handle(), n_ * n_ * kind_.sum_bytes);
    std::size_t wrong = 0;
    const double right = static_cast<double>(n_);
    for (std::size_t i = 0; i < n_ * n_; ++i) {
      const double value = number(found.data() + i * kind_.sum_bytes);
      wrong += std::abs(value - right) > (kind_.sum_bytes == 2 ? right / 128 : 0);
    }
    return {wrong == 0, join({wrong, " of ", n_ * n_, " entries are wrong"})};
  }

 private:
  struct Kind {
    const char *precision, *one;
    std::size_t bytes;
    int type, compute;
    std::size_t sum_bytes;
  };
  // library_types.h and cublas_api.h: the types of data and of the arithmetic.
  static constexpr Kind kinds[] = {{"double", "0x3FF0000000000000ul", 8, 1, 70, 8},
                                   {"single", "0x3F800000u", 4, 0, 68, 4},
                                   {"tf32", "0x3F800000u", 4, 0, 77, 4},
                                   {"half", "0x3C00", 2, 2, 68, 2},
                                   {"bfloat16", "0x3F80", 2, 14, 68, 2},
                                   {"fp8", "0x38", 1, 28, 68, 2}};
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // as NVIDIA advises for Hopper
  bool is_light() const { return kind_.bytes == 1; }
  static const VendorLibrary& library() {
    static const VendorLibrary cublas(
        "STEELYARD_CUBLAS", {"libcublas.so", "libcublas.so.13", "libcublas.so.12"},
        "NVIDIA's library cuBLAS is not on this machine. Install it: steelyard device install cublas");
    return cublas;
  }
  // It lies beside cuBLAS, which brings it along.
  static const VendorLibrary& light() {
    library();
    static const VendorLibrary found("STEELYARD_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                                     "NVIDIA's library cuBLASLt is not on this machine");
    return found;
  }
  // The product, and the algorithm that the library chooses for it. Numbers are those of cublasLt.h and
  // library_types.h.
  void describe() {
    constexpr int bfloat16 = 14, single = 0, transposed_first = 3, fast_sums = 25, most_workspace = 1;
    const std::int32_t transposed = 1;
    const std::int8_t yes = 1;
    auto ask = [this](const char* name, auto... arguments) { must(light().call(name, arguments...)); };
    auto set = [&](int what, const void* value, std::size_t bytes) {
      ask("cublasLtMatmulDescSetAttribute", product_, what, value, bytes);
    };
    const std::uint64_t n = n_;
    accelerator::Handle wish = nullptr;
    ask("cublasLtCreate", &handle_);
    ask("cublasLtMatmulDescCreate", &product_, kind_.compute, single);
    set(transposed_first, &transposed, sizeof transposed);
    set(fast_sums, &yes, sizeof yes);
    ask("cublasLtMatrixLayoutCreate", &factor_, kind_.type, n, n, static_cast<std::int64_t>(n));
    ask("cublasLtMatrixLayoutCreate", &result_, bfloat16, n, n, static_cast<std::int64_t>(n));
    ask("cublasLtMatmulPreferenceCreate", &wish);
    ask("cublasLtMatmulPreferenceSetAttribute", wish, most_workspace, static_cast<const void*>(&workspace_bytes),
        sizeof workspace_bytes);
    int count = 0;
    ask("cublasLtMatmulAlgoGetHeuristic", handle_, product_, factor_, factor_, result_, result_, wish, 1,
        static_cast<void*>(chosen_), &count);
    light().call("cublasLtMatmulPreferenceDestroy", wish);
    if (count == 0) throw CaseError(join({"cuBLASLt has no product of ", kind_.precision, " for ", device->named()}));
  }
  void must(int code) const {
    if (code != 0) throw CaseError(join({device->named(), " failed: cuBLAS returned the error ", code}));
  }
  void multiply() {
    constexpr int plain = 0, usual = -1;
    const double one = 1, none = 0;
    const float single_one = 1, single_none = 0;
    const bool wide = kind_.bytes == 8;
    if (is_light()) {
      const void* factors = a_.handle();
      must(light().call("cublasLtMatmul", handle_, product_, static_cast<const void*>(&single_one), factors, factor_,
                        factors, factor_, static_cast<const void*>(&single_none), static_cast<const void*>(c_.handle()),
                        result_, c_.handle(), result_, static_cast<const void*>(chosen_), workspace_.handle(),
                        workspace_bytes, device->queue()));
      return;
    }
    const int n = static_cast<int>(n_);
    const void *alpha = wide ? static_cast<const void*>(&one) : &single_one,
               *beta = wide ? static_cast<const void*>(&none) : &single_none;
    must(library().call("cublasGemmEx", handle_, plain, plain, n, n, n, alpha, static_cast<const void*>(a_.handle()),
                        kind_.type, n, static_cast<const void*>(a_.handle()), kind_.type, n, beta, c_.handle(),
                        kind_.type, n, kind_.compute, usual));
  }
  double number(const char* at) const {
    if (kind_.sum_bytes == 8) return read<double>(at);
    if (kind_.sum_bytes == 4) return static_cast<double>(read<float>(at));
    const std::uint16_t bits = read<std::uint16_t>(at);
    const int digits = kind_.type == 2 ? 10 : 7, bias = kind_.type == 2 ? 15 : 127;
    return std::ldexp(1 + std::ldexp(bits & ((1 << digits) - 1), -digits), (bits >> digits) - bias);
  }
  template <class T>
  static T read(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  std::size_t n_;
  const Kind kind_;
  DeviceMemory a_, c_, workspace_;
  accelerator::Handle handle_ = nullptr;
  accelerator::Handle product_ = nullptr, factor_ = nullptr, result_ = nullptr;  // of cuBLASLt
  std::uint64_t chosen_[12] = {};  // cublasLtMatmulHeuristicResult_t: the algorithm is at its begin
};

int main() { return serve({kernel<Vector>("vector"), kernel<MatrixUnits>("matrix"), kernel<Library>("library")}); }
