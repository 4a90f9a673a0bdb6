#include "experiment/results/time_ratio.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "experiment/compare_strategies.hpp"
#include "tests/experiment/thinned_scenarios.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

// ISF and HBP at the plans of the paper, on a part of its data.
Scenario given_plans(const TempFolder& folder) {
  Scenario scenario =
      thinned_scenario(packsim_test::source_dir() + "/scenarios/llama3.1-8b-hybrid-128k.json", 6, folder);
  std::erase_if(scenario.strategies,
                [](const StrategySpec& spec) { return spec.name != "isf" && spec.name != "hbp"; });
  return scenario;
}

Report times_of(const Scenario& scenario) {
  return compare_strategies(scenario, {.n_threads = 1, .only_times = true});
}

double log_ratio(const Report& report) {
  return std::log(gpu_day_ratio(report.runs[0], report.runs[1]).value);
}

}  // namespace

TEST_CASE("the ratio of two runs moves with each factor as their errors say") {
  const TempFolder folder;
  const Scenario scenario = given_plans(folder);
  const double before = log_ratio(times_of(scenario));
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    CAPTURE(kFrameworkNumbers[k].name);
    // The factor of exchanges that is known less well has them all, though these are inside nodes.
    if (kFrameworkNumbers[k].value == &FrameworkFactors::exchange_between_factor) continue;
    constexpr double kError = 0.1;
    Scenario moved = scenario;
    moved.profile.left_out_error.reset();
    moved.profile.log_covariance.assign(kNTimeFactors * kNTimeFactors, 0);
    moved.profile.log_covariance[k * kNTimeFactors + k] = kError * kError;
    const Report report = times_of(moved);
    const std::string term = "factors of profile " + moved.profile.name + ", " + std::to_string(k);
    const auto error_of = [&](std::size_t run) {
      const auto& shared = report.runs[run].times->errors.shared;
      const auto error = shared.find(term);
      return error == shared.end() ? 0.0 : error->second;
    };
    moved.profile.factors.*kFrameworkNumbers[k].value *= std::exp(kError);
    CHECK(log_ratio(times_of(moved)) - before == Approx(error_of(0) - error_of(1)).margin(0.004));
  }
}

TEST_CASE("a run over itself is 1, and nothing is known of a ratio whose runs' errors are not known") {
  const TempFolder folder;
  Report report = times_of(given_plans(folder));
  const TimeRatio itself = gpu_day_ratio(report.runs[0], report.runs[0]);
  CHECK((itself.value == 1 && itself.low == 1 && itself.high == 1));
  const TimeRatio ratio = gpu_day_ratio(report.runs[0], report.runs[1]);
  CHECK(ratio.low < ratio.value);
  CHECK(ratio.low * ratio.high == Approx(ratio.value * ratio.value));
  // The baseline is the first: its times over the other's.
  REQUIRE(report.baseline == report.runs[0].name);
  CHECK(report.runs[1].speedup->value == Approx(ratio.value).epsilon(0.01));
  CHECK(report.runs[1].speedup->high / report.runs[1].speedup->low == Approx(ratio.high / ratio.low));
  report.runs[1].times->errors = {};
  CHECK_FALSE(gpu_day_ratio(report.runs[0], report.runs[1]).is_known());
}
