#include "calibration/fit/steps/validate_steps.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/compare_profiles.hpp"
#include "calibration/fit/curves/hardware_fit.hpp"
#include "tests/calibration/synthetic.hpp"

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

TEST_CASE("Framework numbers are fitted to the marked rows alone, and tried on the others") {
  // Truth: 1.1 x kernels + 20 ms a micro-batch + 50 ms a step.
  Synthetic rows(3, 0.002, 0);
  int i = 0;
  for (const int n : {1, 2, 4}) {
    for (const int tokens : {100, 300, 1000, 3000}) {
      std::string packs;
      for (int k = 0; k < n; ++k) packs += (k > 0 ? "/1x" : "1x") + std::to_string(tokens);
      const double truth_s = 1.1 * n * tokens * 1e-3 + 0.02 * n + 0.05;
      rows.add(step_text(packs), i % 2 == 0 ? truth_s : truth_s, i % 2 == 0 ? "fit" : "held");
      ++i;
    }
  }
  const StepValidation validation =
      validate_steps(copies_only(), rows.measurements, kernels_of,
                     {.is_fit_row = [](const Measurement& row) { return row.library == "fit"; }});
  REQUIRE(validation.framework);
  const FrameworkNumbers& numbers = *validation.framework;
  CHECK(std::abs(numbers.kernel_factor.value - 1.1) <= 4 * numbers.kernel_factor.standard_error + 1e-3);
  CHECK(std::abs(numbers.micro_batch_s.value - 0.02) <= 4 * numbers.micro_batch_s.standard_error + 1e-3);
  CHECK(std::abs(numbers.step_s.value - 0.05) <= 4 * numbers.step_s.standard_error + 1e-3);
  CHECK(validation.with_framework_fit.n == 6);
  CHECK(validation.with_framework_held_out.n == 6);
  CHECK(validation.with_framework_held_out.worst < 0.02);
  CHECK(validation.with_framework_left_out.n == 6);
  CHECK(validation.kernels_alone.worst > 0.1);
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
