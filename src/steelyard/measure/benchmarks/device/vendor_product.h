// The product of two matrices by the vendor's library.
#pragma once
#include "on_device.h"
#include "vendor_library.h"

namespace steelyard {

// The product of two matrices of ones by cuBLAS or rocBLAS; of numbers of 8 bits by cuBLASLt.
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
    if (device->language != "CUDA" && !is_of_amd())
      throw CaseError("the libraries are those of NVIDIA and AMD: the device must be one of CUDA or HIP");
    if (is_of_amd() && kind_.amd_type == 0)
      throw CaseError(
          join({"precision='", kind_.precision, "': only cuBLAS has this product, and the device is AMD's"}));
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
    must(library().call(is_of_amd() ? "rocblas_create_handle" : "cublasCreate_v2", &handle_));
    must(library().call(is_of_amd() ? "rocblas_set_stream" : "cublasSetStream_v2", handle_, device->queue()));
  }
  ~Library() {
    if (!is_light()) library().call(is_of_amd() ? "rocblas_destroy_handle" : "cublasDestroy_v2", handle_);
    if (!is_light() || !handle_) return;
    for (accelerator::Handle layout : {factor_, result_}) small_library().call("cublasLtMatrixLayoutDestroy", layout);
    small_library().call("cublasLtMatmulDescDestroy", product_);
    small_library().call("cublasLtDestroy", handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void run(Worker, std::size_t operations) {
    run_timed(operations, [&] { multiply(); });
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
    const std::vector<char> found = fetch_from_device<char>(c_.handle(), n_ * n_ * kind_.sum_bytes);
    std::size_t wrong = 0;
    const double right = static_cast<double>(n_);
    for (std::size_t i = 0; i < n_ * n_; ++i) {
      const double value = read_number(found.data() + i * kind_.sum_bytes);
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
    int amd_type, amd_compute;
  };
  // library_types.h and cublas_api.h, then rocblas-types.h: the types of data and of the arithmetic (0: not there).
  static constexpr Kind kinds[] = {{"double", "0x3FF0000000000000ul", 8, 1, 70, 8, 152, 152},
                                   {"single", "0x3F800000u", 4, 0, 68, 4, 151, 151},
                                   {"tf32", "0x3F800000u", 4, 0, 77, 4, 0, 0},
                                   {"half", "0x3C00", 2, 2, 68, 2, 150, 151},
                                   {"bfloat16", "0x3F80", 2, 14, 68, 2, 168, 151},
                                   {"fp8", "0x38", 1, 28, 68, 2, 0, 0}};
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // as NVIDIA advises for Hopper
  bool is_light() const { return kind_.bytes == 1; }
  bool is_of_amd() const { return device->language == "HIP"; }
  const VendorLibrary& library() const {
    if (is_of_amd()) {
      static const VendorLibrary rocblas("STEELYARD_ROCBLAS", {"librocblas.so", "librocblas.so.5", "librocblas.so.4"},
                                         "AMD's library rocBLAS is not on this machine. It is a part of ROCm");
      return rocblas;
    }
    static const VendorLibrary cublas(
        "STEELYARD_CUBLAS", {"libcublas.so", "libcublas.so.13", "libcublas.so.12"},
        "NVIDIA's library cuBLAS is not on this machine. Install it: steelyard device install cublas");
    return cublas;
  }
  // It lies beside cuBLAS, which brings it along.
  const VendorLibrary& small_library() const {
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
    auto ask = [this](const char* name, auto... arguments) { must(small_library().call(name, arguments...)); };
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
    small_library().call("cublasLtMatmulPreferenceDestroy", wish);
    if (count == 0) throw CaseError(join({"cuBLASLt has no product of ", kind_.precision, " for ", device->named()}));
  }
  void must(int code) const {
    if (code != 0)
      throw CaseError(
          join({device->named(), " failed: ", is_of_amd() ? "rocBLAS" : "cuBLAS", " returned the error ", code}));
  }
  void multiply() {
    constexpr int plain = 0, usual = -1;
    const double one = 1, none = 0;
    const float single_one = 1, single_none = 0;
    const bool wide = kind_.bytes == 8;
    if (is_light()) {
      const void* factors = a_.handle();
      must(small_library().call(
          "cublasLtMatmul", handle_, product_, static_cast<const void*>(&single_one), factors, factor_, factors,
          factor_, static_cast<const void*>(&single_none), static_cast<const void*>(c_.handle()), result_, c_.handle(),
          result_, static_cast<const void*>(chosen_), workspace_.handle(), workspace_bytes, device->queue()));
      return;
    }
    const int n = static_cast<int>(n_);
    const void *alpha = wide ? static_cast<const void*>(&one) : &single_one,
               *beta = wide ? static_cast<const void*>(&none) : &single_none;
    const void* factors = a_.handle();
    if (is_of_amd()) {
      constexpr int untransposed = 111, standard = 0;
      constexpr std::int32_t first_solution = 0;
      constexpr std::uint32_t no_flags = 0;
      const int type = kind_.amd_type;
      must(library().call("rocblas_gemm_ex", handle_, untransposed, untransposed, n, n, n, alpha, factors, type, n,
                          factors, type, n, beta, static_cast<const void*>(c_.handle()), type, n, c_.handle(), type, n,
                          kind_.amd_compute, standard, first_solution, no_flags));
      return;
    }
    must(library().call("cublasGemmEx", handle_, plain, plain, n, n, n, alpha, factors, kind_.type, n, factors,
                        kind_.type, n, beta, c_.handle(), kind_.type, n, kind_.compute, usual));
  }
  double read_number(const char* at) const {
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

}  // namespace steelyard
