#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/steps/framework_fit.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;

// What this project measured, and the profiles that it was fitted to.
struct MeasuredGpu {
  std::string name;  // files of calibration/measured begin with it
  std::string cluster;
  double peak_flop_per_s;
  double peak_bytes_per_s;
  std::string hardware() const { return name + "-measured"; }
  std::string framework() const { return "pytorch-" + name; }
};
const std::vector<MeasuredGpu> kGpus = {{"h100", "h100-sxm-80gb", 989.4e12, 3.35e12},
                                        {"h200", "h200-sxm-141gb", 989.4e12, 4.8e12}};

Measurements measured(const std::string& gpu, const std::string& name) {
  return read_measurements(packsim_test::source_dir() + "/calibration/measured/" + gpu + "-" + name +
                           ".jsonl")
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

Errors errors_of(const FrameworkProfile& profile, const std::string& cluster_name,
                 const Measurements& steps) {
  const Cluster cluster = load_cluster_type(cluster_name, kData);
  const HardwareProfile hardware = profile_on(load_hardware_profile(profile.hardware, kData), cluster);
  Errors errors;
  for (const MeasuredStep& step : measured_steps(steps, shipped_model, cluster, hardware)) {
    errors.time.push_back(
        std::abs(step.terms.time_s(time_factors(profile.factors)) / step.row->median_s() - 1));
    errors.memory.push_back(std::abs(allocated_bytes(step) / step.row->peak_memory_bytes.value() - 1));
  }
  std::ranges::sort(errors.time);
  std::ranges::sort(errors.memory);
  return errors;
}

double middle(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace

TEST_CASE("Measured steps that went into no fit are predicted to 3 % in the median and 8 % at worst") {
  for (const MeasuredGpu& gpu : kGpus) {
    CAPTURE(gpu.name);
    const FrameworkProfile profile = load_profile(gpu.framework(), kData);
    const Measurements held_out = measured(gpu.name, "steps-held-out");
    // The profile was fitted to other steps.
    for (const Measurement& fitted : measured(gpu.name, "steps-fit").rows)
      for (const Measurement& row : held_out.rows) CHECK(row.kernel.text() != fitted.kernel.text());
    const Errors errors = errors_of(profile, gpu.cluster, held_out);
    REQUIRE(errors.time.size() == 18);
    CHECK(middle(errors.time) < 0.03);
    CHECK(errors.time.back() < 0.08);
    // Peak memory by the styles of the plan; no number was fitted.
    CHECK(middle(errors.memory) < 0.05);
    CHECK(errors.memory.back() < 0.065);  // one step misses the target of 5 %
  }
}

TEST_CASE("Steps of an H200 are predicted from what was measured on an H100 and the data sheets of both") {
  const FrameworkProfile h100 = load_profile("pytorch-h100", kData);
  for (const char* const list : {"steps-fit", "steps-held-out"}) {
    const Errors errors = errors_of(h100, "h200-sxm-141gb", measured("h200", list));
    CAPTURE(list);
    REQUIRE(errors.time.size() == 18);
    CHECK(middle(errors.time) < 0.03);
    CHECK(errors.time.back() < 0.11);
  }
}

TEST_CASE("The shipped profiles of PyTorch are what their steps say") {
  for (const MeasuredGpu& gpu : kGpus) {
    CAPTURE(gpu.name);
    const FrameworkProfile shipped = load_profile(gpu.framework(), kData);
    const FrameworkFit fit = fit_framework_profile(measured(gpu.name, "steps-fit"), shipped_model,
                                                   load_cluster_type(gpu.cluster, kData),
                                                   load_hardware_profile(gpu.hardware(), kData));
    CHECK(shipped.hardware == gpu.hardware());
    CHECK(fit.profile.factors.linear_factor == Approx(shipped.factors.linear_factor).epsilon(1e-4));
    CHECK(fit.profile.factors.attention_factor == Approx(shipped.factors.attention_factor).epsilon(1e-4));
    CHECK(fit.profile.factors.micro_batch_s == Approx(shipped.factors.micro_batch_s).epsilon(1e-3));
    CHECK(fit.profile.execution == shipped.execution);
  }
}

TEST_CASE("FlashAttention-2 takes as much longer than cuDNN in steps as by itself") {
  // The factor of the steps on cuDNN's kernels, and the two libraries on the same long documents.
  const Measurements cudnn = measured("h100", "kernels");
  double logs = 0;
  int n = 0;
  for (const Measurement& torch : measured("h100", "pytorch").rows) {
    if (torch.kernel.kernel() != "attention") continue;
    if (torch.kernel.documents("docs").longest_tokens() < 2048) continue;
    for (const Measurement& row : cudnn.rows) {
      if (row.kernel.text() != torch.kernel.text()) continue;
      logs += std::log(torch.median_s() / row.median_s());
      ++n;
    }
  }
  REQUIRE(n >= 20);
  CHECK(load_profile("pytorch-h100", kData).factors.attention_factor ==
        Approx(std::exp(logs / n)).epsilon(0.15));
}

TEST_CASE("No measured kernel is faster than its GPU's data sheet allows, and large ones come near") {
  for (const MeasuredGpu& gpu : kGpus) {
    double fastest_product = 0;
    double fastest_copy = 0;
    for (const Measurement& row : measured(gpu.name, "kernels").rows) {
      CAPTURE(row.place);
      const double flop_per_s = kernel_flop(row.kernel) / row.median_s();
      CHECK(flop_per_s < gpu.peak_flop_per_s);
      fastest_product = std::max(fastest_product, flop_per_s);
      const std::string_view kind = row.kernel.kernel();
      if (kind != "adamw" && !(kind == "copy" && row.kernel.value("kind") == "device")) continue;
      const double bytes_per_s = kernel_bytes(row.kernel) / row.median_s();
      CHECK(bytes_per_s < gpu.peak_bytes_per_s);
      fastest_copy = std::max(fastest_copy, bytes_per_s);
    }
    CAPTURE(gpu.name);
    CHECK(fastest_product > 0.6 * gpu.peak_flop_per_s);
    CHECK(fastest_copy > 0.85 * gpu.peak_bytes_per_s);
  }
}
