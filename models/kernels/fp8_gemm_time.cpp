#include "models/kernels/fp8_gemm_time.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/kernels/kernel_times.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

// What is fitted to published products (tests/calibration/fp8_rows_test.cpp).
struct Fp8Numbers {
  double exponent = 1;       // of the ratio of peaks
  double output_factor = 1;  // on the time of each result
  double error = 0;          // one standard deviation
};

// cuBLASLt's products reach 1.68 times the flop of bf16, TileLang's 1.87 times: the geometric mean.
constexpr Fp8Numbers kTensorScales = {.exponent = 0.82, .output_factor = 1, .error = 0.1};
// DeepGEMM's.
constexpr Fp8Numbers kBlockScales = {.exponent = 0.79, .output_factor = 3, .error = 0.15};

// A model of hot or cold caches will do: products are seldom bound by memory.
const KernelModel* bf16_model(const HardwareProfile& profile) {
  for (const KernelModel* model : profile.models_of("gemm layout=tn")) {
    if (key_value(model->key, "dtype").empty()) return model;
  }
  return nullptr;
}

GemmNumbers in_fp8(GemmNumbers numbers, const Gpu& gpu, const Fp8Numbers& fp8) {
  const std::optional<double> bf16_peak = gpu.peak("bf16");
  const std::optional<double> fp8_peak = gpu.peak("fp8");
  const double peaks = bf16_peak && fp8_peak ? *bf16_peak / *fp8_peak : 0.5;
  numbers.s_per_flop *= std::pow(peaks, fp8.exponent);
  numbers.s_per_output *= fp8.output_factor;
  return numbers;
}

}  // namespace

KernelTime fp8_gemm_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                         GemmShapes& shapes) {
  const KernelCase in_bf16 = kernel.with("dtype", "bf16");
  KernelTime time = kernel_time(profile, in_bf16, shapes);
  const KernelModel* model = bf16_model(profile);
  if (time.evidence == Evidence::missing || model == nullptr)
    return {.time_s = 0, .relative_error = 0, .evidence = Evidence::missing, .basis = time.basis};
  const Fp8Numbers& fp8 = kernel.value("dtype") == "fp8_block" ? kBlockScales : kTensorScales;
  const GemmNumbers numbers = gemm_numbers(*model);
  const auto model_s = [&](const GemmNumbers& of, double operand_bytes) {
    return gemm_model_s(of, kernel.number("m"), kernel.number("n"), kernel.number("k"), operand_bytes);
  };
  time.time_s *= model_s(in_fp8(numbers, gpu, fp8), 1) / model_s(numbers, kBf16Bytes);
  time.relative_error = together(time.relative_error, fp8.error);
  time.evidence = std::max(time.evidence, Evidence::extrapolated);
  time.basis = "fp8 by the peaks of formats: " + time.basis;
  return time;
}

KernelTime known_kernel_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                             GemmShapes& shapes) {
  const KernelTime time = kernel_time(profile, kernel, shapes);
  const bool is_fp8_gemm = kernel.kernel() == "gemm" && kernel.value("dtype").starts_with("fp8");
  return time.evidence == Evidence::missing && is_fp8_gemm ? fp8_gemm_time(profile, gpu, kernel, shapes)
                                                           : time;
}

}  // namespace packsim
