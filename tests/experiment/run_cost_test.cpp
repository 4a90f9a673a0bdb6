// GPU-hours, money and energy of a run, as sums on paper.

#include "experiment/costs/run_cost.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

// 5 GPU-days, which are 120 GPU-hours, known to 4.75 to 5.5.
RunTimes five_gpu_days() {
  RunTimes times;
  times.gpu_days = 5;
  times.gpu_days_low = 4.75;
  times.gpu_days_high = 5.5;
  return times;
}

}  // namespace

TEST_CASE("GPU-hours times the price are the cost, and times the board power the energy") {
  Cluster cluster;
  cluster.gpu_hour_price = 2.5;
  cluster.gpu.power_w = 700;
  const RunCost cost = run_cost(cluster, five_gpu_days(), {}, {});
  CHECK(cost.gpu_hours == Approx(120));
  CHECK(cost.money.value() == Approx(120 * 2.5));
  CHECK(cost.money_low.value() == Approx(114 * 2.5));   // 4.75 x 24 = 114
  CHECK(cost.money_high.value() == Approx(132 * 2.5));  // 5.5 x 24 = 132
  CHECK(cost.energy_kwh.value() == Approx(84));         // 120 h x 0.7 kW
  CHECK_FALSE(cost.money_with_failures);
}

TEST_CASE("without a price there is no money, without a power no energy") {
  const RunCost cost = run_cost({}, five_gpu_days(), {}, FailureCost{.gpu_days = 6});
  CHECK(cost.gpu_hours == Approx(120));
  CHECK_FALSE(cost.money);
  CHECK_FALSE(cost.money_low);
  CHECK_FALSE(cost.money_high);
  CHECK_FALSE(cost.money_with_failures);
  CHECK_FALSE(cost.energy_kwh);
}

TEST_CASE("what a run takes beside its steps is paid for") {
  Cluster cluster;
  cluster.gpu_hour_price = 2.5;
  cluster.gpu.power_w = 700;
  const WholeRun whole{.gpu_days = 6, .gpu_days_low = 5.75, .gpu_days_high = 6.5};
  const RunCost cost = run_cost(cluster, five_gpu_days(), whole, {});
  CHECK(cost.gpu_hours == Approx(144));  // 6 x 24
  CHECK(cost.money.value() == Approx(144 * 2.5));
  CHECK(cost.money_low.value() == Approx(138 * 2.5));
  CHECK(cost.money_high.value() == Approx(156 * 2.5));
  CHECK(cost.energy_kwh.value() == Approx(144 * 0.7));
}

TEST_CASE("failures cost the price of their GPU-days, without end if the run never ends") {
  Cluster cluster;
  cluster.gpu_hour_price = 2;
  CHECK(run_cost(cluster, five_gpu_days(), {}, FailureCost{.gpu_days = 6}).money_with_failures.value() ==
        Approx(6 * 24 * 2));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  CHECK(run_cost(cluster, five_gpu_days(), {}, FailureCost{.gpu_days = kNever}).money_with_failures ==
        kNever);
}

TEST_CASE("a scenario's price and failures reach its results") {
  const TempFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 64; ++i) lengths += "8192\n";
  folder.write("lengths.csv", lengths);
  const Scenario scenario = load_scenario(folder.write("job.json", R"({"format": 1, "name": "job",
    "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 2, "gpu_hour_price": 3},
    "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 131072, "epochs": 2, "zero_stage": 3},
    "lengths": {"mix": [{"source": "lengths.csv"}]},
    "failures": {"mtbf_hours": 100, "unit": "gpu", "checkpoint": {"write_s": 20},
                 "restart": {"detection_s": 60, "reschedule_s": 300, "load_s": 60}},
    "strategies": [{"strategy": "bfd", "capacity_tokens": 8192}]})"),
                                          packsim_test::kData);
  const Report report = compare_strategies(scenario);
  CHECK(report.manifest.gpu_hour_price == 3);
  CHECK(report.manifest.gpu_power_w == 700);
  const StrategyResult& run = report.runs.front();
  REQUIRE(run.cost);
  // 16 GPUs for the wall time.
  CHECK(run.cost->gpu_hours == Approx(16 * run.times->wall_hours));
  CHECK(run.cost->money.value() == Approx(3 * 16 * run.times->wall_hours));
  CHECK(run.cost->money_low.value() < *run.cost->money);
  CHECK(run.cost->money_high.value() > *run.cost->money);
  CHECK(run.cost->money_with_failures.value() == Approx(3 * 24 * run.failures->gpu_days));
  CHECK(*run.cost->money_with_failures > *run.cost->money);
  CHECK(run.cost->energy_kwh.value() == Approx(0.7 * 16 * run.times->wall_hours));
}

}  // namespace packsim
