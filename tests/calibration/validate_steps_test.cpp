#include "calibration/fit/steps/validate_steps.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/compare_profiles.hpp"
#include "calibration/fit/curves/hardware_fit.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/calibration/synthetic.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

// A profile in which copying n bytes takes n / 1 TB/s and nothing else is known.
HardwareProfile copies_only(double bytes_per_s = 1e12) {
  HardwareProfile profile;
  profile.curves = {{.key = "copy kind=device cache=cold",
                     .size_name = "bytes",
                     .points = {{1e6, 1e6 / bytes_per_s, 0.01, 1}, {1e13, 1e13 / bytes_per_s, 0.01, 1}},
                     .fixed_s = {"fixed_s", 0, 0},
                     .size_per_s = {"size_per_s", bytes_per_s, 0}}};
  return profile;
}

// Every pack a copy that takes as many milliseconds as it has tokens.
std::vector<KernelUse> kernels_of(const KernelCase& step) {
  std::vector<KernelUse> kernels;
  for (const Documents& pack : step.packs("packs")) {
    kernels.push_back({KernelCase::parse("copy kind=device bytes=" +
                                         std::to_string(pack.tokens() * 500'000'000) + " cache=cold"),
                       1, "forward"});
  }
  return kernels;
}

std::string step_text(const std::string& packs, int sp = 1, int gc_layers = 0) {
  return "step model=llama3.1-8b layers=4 gc_layers=" + std::to_string(gc_layers) +
         " sp=" + std::to_string(sp) + " dp=1 zero=1 packs=" + packs;
}

using packsim_test::kData;

const FrameworkFactors kTruth{.linear_factor = 1.2,
                              .attention_factor = 1.5,
                              .micro_batch_s = 0.010,
                              .step_s = 0.030,
                              .reserved_bytes = 3e9,
                              .logits_bytes_per_vocab_entry = 12};

Transformer model_of(const std::string& name) {
  return load_model(name, kData);
}

Cluster one_node() {
  return load_cluster_type("h100-sxm-80gb", kData);
}

bool is_marked(const Measurement& row) {
  return row.library == "fit";
}

// Twelve steps on one GPU. Every second one is marked and is what kTruth says, within rounding; the others
// take a tenth longer and need a tenth more memory, and of the last one the peak is not known.
struct FrameworkSteps {
  HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows{1, 0, 0};

  FrameworkSteps() {
    // Every pair is one of few and one of many tokens or micro-batches, so that both halves tell all numbers.
    const std::vector<std::string> packs = {
        "1x4096",        "1x2048",  "4x2048",        "4x4096", "1x16384",        "1x8192/2x4096",
        "1x8192/1x8192", "1x12288", "1x4096/1x4096", "2x8192", "4x4096/1x16384", "1x2048/1x2048+1x64"};
    for (std::size_t i = 0; i < packs.size(); ++i)
      rows.add(step_text(packs[i], 1, i % 4 < 2 ? 0 : 4), 1, i % 2 == 0 ? "fit" : "held");
    const std::vector<MeasuredStep> steps = measured_steps(rows.measurements, model_of, one_node(), hardware);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Measurement& row = rows.measurements.rows[i];
      const double factor = is_marked(row) ? 1 : 1.1;
      row.samples_s = {factor * steps[i].terms.time_s(time_factors(kTruth))};
      if (i + 1 < steps.size()) row.peak_memory_bytes = factor * allocated_bytes(steps[i]);
    }
  }

  Measurements marked() const {
    Measurements marked = rows.measurements;
    std::erase_if(marked.rows, [](const Measurement& row) { return !is_marked(row); });
    return marked;
  }

  StepValidation validate(StepValidationOptions options) const {
    options.model = model_of;
    options.cluster = one_node();
    return validate_steps(hardware, rows.measurements, kernels_of, options);
  }
};

}  // namespace

TEST_CASE("Steps are held against the sum of their kernels") {
  Synthetic rows(1, 0, 0);
  rows.add(step_text("1x100"), 0.1);
  rows.add(step_text("1x100/1x300"), 0.5);  // the kernels take 0.4 s
  rows.add(step_text("1x1000"), 0.8);       // 1 s
  const StepValidation validation = validate_steps(copies_only(), rows.measurements, kernels_of);
  REQUIRE(validation.rows.size() == 3);
  CHECK(validation.rows[0].error == Approx(0).margin(1e-9));
  CHECK(validation.rows[1].error == Approx(-0.2));
  CHECK(validation.rows[2].error == Approx(0.25));
  CHECK(validation.kernels_alone.n == 3);
  CHECK(validation.kernels_alone.median == Approx(0.2));
  CHECK(validation.kernels_alone.p90 == Approx(0.25));
  CHECK(validation.kernels_alone.worst_step == rows.measurements.rows[2].kernel.text());
  CHECK(validation.kernels_alone.mean == Approx(0.05 / 3));
  CHECK_FALSE(validation.framework);
}

TEST_CASE("Steps with missing kernels are told and left out of the summary") {
  Synthetic rows(1, 0, 0);
  rows.add(step_text("1x100"), 0.1);
  const StepValidation validation = validate_steps({}, rows.measurements, kernels_of);
  CHECK(validation.n_incomplete == 1);
  CHECK(validation.kernels_alone.n == 0);
  CHECK(validation.rows[0].predicted.missing.size() == 1);
}

TEST_CASE(
    "The framework profile is that of `calibrate fit`, of the marked rows alone, and predicts the others") {
  const FrameworkSteps made_up;
  const StepValidation validation = made_up.validate({.is_fit_row = is_marked});
  const FrameworkFit fit = fit_framework_profile(made_up.marked(), model_of, one_node(), made_up.hardware);
  REQUIRE(validation.framework_fit);
  CHECK(framework_profile_json(*validation.framework_fit) == framework_profile_json(fit));
  // The held-out steps take a tenth longer than the marked ones say, and need a tenth more memory.
  CHECK(validation.with_framework.fitted.n == 6);
  CHECK(validation.with_framework.fitted.worst < 0.001);
  CHECK(validation.with_framework.held_out.n == 6);
  CHECK(validation.with_framework.held_out.mean == Approx(1 / 1.1 - 1).epsilon(0.01));
  CHECK(validation.memory.fitted.worst < 0.001);
  CHECK(validation.memory.held_out.n == 5);  // of one the peak was not measured
  CHECK(validation.memory.held_out.mean == Approx(1 / 1.1 - 1).epsilon(0.01));
  std::size_t n_fitted = 0;
  for (const StepError& row : validation.rows) {
    if (!row.fit_row) continue;
    const FrameworkFitRow& fitted = fit.rows[n_fitted++];
    CHECK(row.step == fitted.step);
    CHECK(row.with_framework_s == Approx(fitted.predicted_s));
    CHECK(row.left_out_error == Approx(fitted.left_out_s / fitted.measured_s - 1).margin(1e-12));
  }
  CHECK(validation.with_framework.left_out.n == 6);
  CHECK(validation.memory.left_out.n == 6);
}

TEST_CASE("A given framework profile is judged on every step, and none of them changes it") {
  const FrameworkSteps made_up;
  FrameworkProfile framework;
  framework.name = "given";
  framework.factors = kTruth;
  const StepValidation validation = made_up.validate({.framework = framework});
  CHECK(validation.framework->name == "given");
  CHECK_FALSE(validation.framework_fit);
  CHECK(validation.with_framework.fitted.n == 0);
  CHECK(validation.with_framework.left_out.n == 0);
  CHECK(validation.with_framework.held_out.n == 12);
  CHECK(validation.with_framework.held_out.worst == Approx(1 - 1 / 1.1));
  CHECK(validation.memory.held_out.n == 11);
  for (const StepError& row : validation.rows) {
    const double truth = row.library == "fit" ? 0 : 1 / 1.1 - 1;
    CHECK(row.with_framework_error == Approx(truth).margin(1e-9));
    if (row.measured_memory_bytes) CHECK(row.with_framework_memory_error == Approx(truth).margin(1e-9));
  }
}

TEST_CASE("A framework profile is not fitted to three steps") {
  FrameworkSteps made_up;
  made_up.rows.measurements.rows.resize(6);
  CHECK_THROWS_WITH(made_up.validate({.is_fit_row = is_marked}),
                    "expected 4 measured steps or more for a framework profile, got 3");
}

TEST_CASE("Flagged steps are counted in one note, and each keeps its flags") {
  Synthetic rows(1, 0, 0);
  for (const std::string packs : {"1x100", "1x200", "1x300"}) rows.add(step_text(packs), 0.1);
  CHECK(validate_steps(copies_only(), rows.measurements, kernels_of).notes.empty());
  rows.measurements.rows[0].flags = {"noisy", "throttled"};
  rows.measurements.rows[2].flags = {"throttled"};
  const StepValidation validation = validate_steps(copies_only(), rows.measurements, kernels_of);
  CHECK(validation.notes ==
        std::vector<std::string>{"2 of 3 steps are flagged throttled, 1 noisy: their clocks or times moved "
                                 "during the samples"});
  CHECK(validation.rows[0].flags == std::vector<std::string>{"noisy", "throttled"});
}

TEST_CASE("Two profiles are compared where both were measured") {
  HardwareProfile slow = copies_only(1e12);
  HardwareProfile fast = copies_only(2e12);
  fast.curves[0].points[1].size = 1e10;
  fast.curves[0].points[1].time_s = 5e-3;
  slow.curves.push_back({.key = "launch_gap", .size_name = "launches", .points = {{1, 1e-6, 0, 1}}});
  const ProfileComparison comparison = compare_profiles(slow, fast);
  REQUIRE(comparison.curves.size() == 1);
  CHECK(comparison.curves[0].mean == Approx(0.5));
  CHECK(comparison.curves[0].from == 1e6);
  CHECK(comparison.curves[0].to == 1e10);
  CHECK(comparison.curves[0].n == 2);
  CHECK(comparison.families[0].key == "copy kind=device");
  CHECK(comparison.only_in_a == std::vector<std::string>{"launch_gap"});
  CHECK(comparison.only_in_b.empty());
}
