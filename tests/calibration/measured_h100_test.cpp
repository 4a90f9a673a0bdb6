#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/steps/framework_fit.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;

Measurements measured(const std::string& name) {
  return read_measurements(packsim_test::source_dir() + "/calibration/measured/h100-" + name + ".jsonl")
      .measurements;
}

Transformer shipped_model(const std::string& name) {
  return load_model(name, kData);
}

// Sorted |predicted / measured - 1|.
struct Errors {
  std::vector<double> time;
  std::vector<double> memory;
};

Errors errors_of(const FrameworkProfile& profile, const Measurements& steps) {
  const HardwareProfile hardware = load_hardware_profile(profile.hardware, kData);
  Errors errors;
  for (const MeasuredStep& step :
       measured_steps(steps, shipped_model, load_cluster_type("h100-sxm-80gb", kData), hardware)) {
    errors.time.push_back(
        std::abs(step.terms.time_s(time_factors(profile.factors)) / step.row->median_s() - 1));
    errors.memory.push_back(std::abs(
        peak_memory_of(step, profile.factors).total_bytes() / step.row->peak_memory_bytes.value() - 1));
  }
  std::ranges::sort(errors.time);
  std::ranges::sort(errors.memory);
  return errors;
}

double middle(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace

TEST_CASE("Steps of an H100 that went into no fit are predicted to 3 % in the median and 8 % at worst") {
  const FrameworkProfile profile = load_profile("pytorch-h100", kData);
  const Measurements held_out = measured("steps-held-out");
  // The profile was fitted to other steps.
  for (const Measurement& fitted : measured("steps-fit").rows)
    for (const Measurement& row : held_out.rows) CHECK(row.kernel.text() != fitted.kernel.text());
  const Errors errors = errors_of(profile, held_out);
  REQUIRE(errors.time.size() == 18);
  CHECK(middle(errors.time) < 0.03);
  CHECK(errors.time.back() < 0.08);
  // Peak memory by no fitted number: both of the profile are 0.
  CHECK(profile.factors.reserved_bytes == 0);
  CHECK(profile.factors.logits_bytes_per_vocab_entry == 0);
  CHECK(middle(errors.memory) < 0.05);
  CHECK(errors.memory.back() < 0.065);  // one step misses the target of 5 %
}

TEST_CASE("The shipped profile of PyTorch is what its steps say") {
  const FrameworkProfile shipped = load_profile("pytorch-h100", kData);
  const FrameworkFit fit =
      fit_framework_profile(measured("steps-fit"), shipped_model, load_cluster_type("h100-sxm-80gb", kData),
                            load_hardware_profile("h100-measured", kData));
  CHECK(shipped.hardware == "h100-measured");
  CHECK(fit.profile.factors.linear_factor == Approx(shipped.factors.linear_factor).epsilon(1e-4));
  CHECK(fit.profile.factors.attention_factor == Approx(shipped.factors.attention_factor).epsilon(1e-4));
  CHECK(fit.profile.factors.micro_batch_s == Approx(shipped.factors.micro_batch_s).epsilon(1e-3));
  CHECK(fit.profile.execution == shipped.execution);
}

TEST_CASE("FlashAttention-2 takes as much longer than cuDNN in steps as by itself") {
  // The factor of the steps on cuDNN's kernels, and the two libraries on the same long documents.
  const Measurements cudnn = measured("kernels");
  double logs = 0;
  int n = 0;
  for (const Measurement& torch : measured("attention-pytorch").rows) {
    if (torch.kernel.documents("docs").longest_tokens() < 2048) continue;
    for (const Measurement& row : cudnn.rows) {
      if (row.kernel.text() != torch.kernel.text()) continue;
      logs += std::log(torch.median_s() / row.median_s());
      ++n;
    }
  }
  REQUIRE(n >= 15);
  CHECK(load_profile("pytorch-h100", kData).factors.attention_factor ==
        Approx(std::exp(logs / n)).epsilon(0.15));
}

TEST_CASE("No kernel measured on the H100 is faster than its data sheet allows, and large ones come near") {
  constexpr double kPeakFlopPerS = 989.4e12;
  constexpr double kPeakBytesPerS = 3.35e12;
  double fastest_product = 0;
  double fastest_copy = 0;
  for (const Measurement& row : measured("kernels").rows) {
    CAPTURE(row.place);
    const double flop_per_s = kernel_flop(row.kernel) / row.median_s();
    CHECK(flop_per_s < kPeakFlopPerS);
    fastest_product = std::max(fastest_product, flop_per_s);
    const std::string_view kind = row.kernel.kernel();
    if (kind != "adamw" && !(kind == "copy" && row.kernel.value("kind") == "device")) continue;
    const double bytes_per_s = kernel_bytes(row.kernel) / row.median_s();
    CHECK(bytes_per_s < kPeakBytesPerS);
    fastest_copy = std::max(fastest_copy, bytes_per_s);
  }
  CHECK(fastest_product > 0.6 * kPeakFlopPerS);
  CHECK(fastest_copy > 0.85 * kPeakBytesPerS);
}
