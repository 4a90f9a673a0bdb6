// Steps of plain transformers on an H100 as a user's timer writes them: a fit to some of them predicts the
// others, packed or not.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "calibration/fit/steps/framework_fit.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "models/plan/plan_key.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using nlohmann::json;
using packsim_test::kData;

// Twenty steps of Qwen2.5-0.5B: samples alone, and packs of 4K to 16K tokens.
class TransformersRows {
 public:
  TransformersRows()
      : all_(json::parse(std::ifstream(packsim_test::source_dir() + "/validation/transformers_steps.json"))),
        hardware_(load_hardware_profile("h100-measured", kData)),
        node_(load_cluster_type("h100-sxm-80gb", kData)),
        model_(load_model(folder_.write("model.json", all_["models"][0]["model"].dump()), kData)) {}

  // The rows of these runs, such as "a1-none".
  Measurements of(const std::vector<std::string>& runs) const {
    ParallelPlan plan = default_plan();
    plan.execution = {.launch_s = 3.2e-5,  // that host took for a linear layer
                      .kernels = &kEagerKernels,
                      .loss = &kUpcastLoss,
                      .optimizer = &kAdamWBf16,
                      .bucket_elements = 25'000'000,
                      .recompute_stops_early = true,
                      .plain_gradients = true};
    Measurements rows{.sources = {{.id = "",
                                   .gpu = "NVIDIA H100 80GB HBM3",
                                   .provenance = {},
                                   .licence = {},
                                   .details = {},
                                   .plan = plan}},
                      .rows = {},
                      .skipped = {}};
    for (const json& step : all_["steps"]) {
      const auto id = step["id"].get<std::string>();
      const bool is_one = std::ranges::any_of(
          runs, [&](const std::string& run) { return id.find("/" + run) != std::string::npos; });
      if (is_one) rows.rows.push_back(row_of(step));
    }
    return rows;
  }
  FrameworkFit fit(const Measurements& rows) const {
    return fit_framework_profile(
        rows, [&](const std::string&) { return model_; }, node_, hardware_);
  }
  // The median of |predicted / measured - 1|.
  double median_error(const FrameworkProfile& profile, const Measurements& rows) const {
    std::vector<double> errors;
    for (const MeasuredStep& step : measured_steps(
             rows, [&](const std::string&) { return model_; }, node_, hardware_)) {
      const double predicted_s = step.time_s(time_factors(profile.factors), profile.execution.launch_s);
      errors.push_back(std::abs(predicted_s / step.row->median_s() - 1));
    }
    return median(errors);
  }

 private:
  static Measurement row_of(const json& step) {
    std::string packs;
    for (const json& batch : step["micro_batches"]) {
      for (int i = 0; i < batch["count"].get<int>(); ++i)
        packs += (packs.empty() ? "" : "/") + batch["documents"].get<std::string>();
    }
    return {.kernel = KernelCase::parse("step model=m layers=24 gc_layers=0 sp=1 dp=1 zero=0 packs=" + packs),
            .library = "torch",
            .source = "",
            .samples_s = {step["published"]["step_time_s"].get<double>()},
            .parts_s = {},
            .flags = {},
            .note = {}};
  }

  TempFolder folder_;
  json all_;
  HardwareProfile hardware_;
  Cluster node_;
  Transformer model_;
};

}  // namespace

TEST_CASE("A fit to packed steps says what samples alone take, and a fit to these what packed steps take") {
  const TransformersRows steps;
  const Measurements packed = steps.of({"a1-bfd8k", "a1-bfd16k"});
  const Measurements alone = steps.of({"a1-none"});
  REQUIRE(packed.rows.size() == 10);
  REQUIRE(alone.rows.size() == 5);
  const FrameworkFit of_packed = steps.fit(packed);
  const FrameworkFit of_alone = steps.fit(alone);
  REQUIRE((of_packed.launch && of_alone.launch));
  CAPTURE(of_packed.launch->value, of_alone.launch->value);
  // By a fit to all nine runs (docs/accuracy/transformers.md).
  const double launch_s = load_profile("transformers-h100", kData).execution.launch_s;
  CHECK(of_packed.launch->value == Approx(launch_s).epsilon(0.1));
  CHECK(of_alone.launch->value == Approx(launch_s).epsilon(0.1));
  CHECK(of_packed.mean_error < 0.03);
  CHECK(steps.median_error(of_packed.profile, alone) < 0.125);
  CHECK(steps.median_error(of_alone.profile, packed) < 0.125);
  CHECK(steps.median_error(of_alone.profile, steps.of({"a1-bfd4k"})) < 0.05);
}
