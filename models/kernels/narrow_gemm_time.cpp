#include "models/kernels/narrow_gemm_time.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/kernels/kernel_times.hpp"
#include "models/precision.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

// What is fitted to published products (tests/calibration/fp8_rows_test.cpp).
struct NarrowNumbers {
  double exponent = 1;       // of the ratio of peaks
  double output_factor = 1;  // on the time of each result
  double error = 0;          // one standard deviation
};

// cuBLASLt's products reach 1.68 times the flop of bf16, TileLang's 1.87 times: the geometric mean.
constexpr NarrowNumbers kTensorScales = {.exponent = 0.82, .output_factor = 1, .error = 0.1};
// DeepGEMM's.
constexpr NarrowNumbers kBlockScales = {.exponent = 0.79, .output_factor = 3, .error = 0.15};
// Of scales that the tensor core applies, no products are public: as with a scale for each tensor, in doubt.
constexpr NarrowNumbers kMxfp8 = {.exponent = 0.82, .output_factor = 1, .error = 0.2};
constexpr NarrowNumbers kNvfp4 = {.exponent = 0.82, .output_factor = 1, .error = 0.3};

const NarrowNumbers& numbers_of(const PrecisionKind& kind) {
  switch (kind.value) {
    case Precision::fp8_block:
      return kBlockScales;
    case Precision::mxfp8:
      return kMxfp8;
    case Precision::nvfp4:
      return kNvfp4;
    default:
      return kTensorScales;
  }
}

// A model of hot or cold caches will do: products are seldom bound by memory.
const KernelModel* bf16_model(const HardwareProfile& profile) {
  for (const KernelModel* model : profile.models_of("gemm layout=tn")) {
    if (key_value(model->key, "dtype").empty()) return model;
  }
  return nullptr;
}

GemmNumbers in_format(GemmNumbers numbers, const Gpu& gpu, const PrecisionKind& kind) {
  const std::optional<double> bf16_peak = gpu.peak("bf16");
  const std::optional<double> peak = gpu.peak(kind.peak);
  const double peaks = bf16_peak && peak ? *bf16_peak / *peak : kind.value_bytes / kBf16Bytes;
  numbers.s_per_flop *= std::pow(peaks, numbers_of(kind).exponent);
  numbers.s_per_output *= numbers_of(kind).output_factor;
  return numbers;
}

}  // namespace

KernelTime narrow_gemm_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                            GemmShapes& shapes) {
  const KernelCase in_bf16 = kernel.with("dtype", "bf16");
  KernelTime time = kernel_time(profile, in_bf16, shapes);
  const KernelModel* model = bf16_model(profile);
  if (time.evidence == Evidence::missing || model == nullptr)
    return {.time_s = 0, .relative_error = 0, .evidence = Evidence::missing, .basis = time.basis};
  const PrecisionKind& kind = precision_of_dtype(kernel.value("dtype"));
  const GemmNumbers numbers = gemm_numbers(*model);
  const auto model_s = [&](const GemmNumbers& of, double operand_bytes) {
    return gemm_model_s(of, kernel.number("m"), kernel.number("n"), kernel.number("k"), operand_bytes);
  };
  time.time_s *= model_s(in_format(numbers, gpu, kind), kind.value_bytes) / model_s(numbers, kBf16Bytes);
  time.relative_error = together(time.relative_error, numbers_of(kind).error);
  time.evidence = std::max(time.evidence, Evidence::extrapolated);
  time.basis = std::string(kind.peak) + " by the peaks of formats: " + time.basis;
  return time;
}

KernelTime known_kernel_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                             GemmShapes& shapes) {
  const KernelTime time = kernel_time(profile, kernel, shapes);
  const bool is_narrow_gemm =
      kernel.kernel() == "gemm" && is_narrow(precision_of_dtype(kernel.value("dtype")).value);
  return time.evidence == Evidence::missing && is_narrow_gemm ? narrow_gemm_time(profile, gpu, kernel, shapes)
                                                              : time;
}

}  // namespace packsim
