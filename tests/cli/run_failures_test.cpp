#include "experiment/costs/run_failures.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "sim/reliability/expected_run.hpp"
#include "sim/reliability/simulate_runs.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace packsim {
namespace {

// 64 GPUs that fail every 640 h: the run fails every 10 h.
Scenario scenario_of(const FailureModel& model) {
  Scenario scenario;
  scenario.cluster.nodes = 8;
  scenario.cluster.gpus_per_node = 8;
  scenario.seed = 11;
  scenario.failures = model;
  return scenario;
}

const FailureModel kModel{.unit_mtbf_h = 640, .checkpoint_write_s = 60, .detection_s = 60, .load_s = 540};
constexpr double kWork_s = 5 * 86400;

TEST_CASE("a run without failures has nothing of them") {
  Scenario scenario = scenario_of(kModel);
  scenario.failures.reset();
  CHECK_FALSE(failure_cost(scenario, kWork_s));
}

TEST_CASE("what failures make of a run is the closed form's, in GPU-days and shares that add up to 1") {
  const FailureCost result = failure_cost(scenario_of(kModel), kWork_s).value();
  const ReliabilityResult expected = expected_run(kWork_s, 64, kModel);
  CHECK(result.gpu_days == expected.gpu_days);
  CHECK(result.gpu_days_p05 == expected.quantiles.p05_s * 64 / 86400);
  CHECK(result.gpu_days_p50 == expected.quantiles.p50_s * 64 / 86400);
  CHECK(result.gpu_days_p95 == expected.quantiles.p95_s * 64 / 86400);
  CHECK(result.wall_hours * 64 / 24 == Approx(result.gpu_days));
  CHECK(result.n_failures == expected.n_failures);
  CHECK(result.checkpoint_interval_s == expected.checkpoint_interval_s);
  CHECK(result.effective_fraction == Approx(kWork_s / expected.expected_wall_s));
  CHECK(result.effective_fraction + result.losses->checkpoint_fraction + result.losses->restart_fraction +
            result.losses->lost_fraction ==
        Approx(1).epsilon(1e-12));
}

TEST_CASE("with a pool of spare units the run is simulated, and its spares are paid for") {
  // As many spares as are ever needed make the closed form's run, plus the spares.
  FailureModel model = kModel;
  model.spares = SparePool{.n_units = 64, .repair_s = 3600};
  const FailureCost result = failure_cost(scenario_of(model), kWork_s).value();
  const double expected = 2 * expected_run(kWork_s, 64, kModel).gpu_days;
  // 10 000 runs know the mean to a hundredth of the spread, which here is under 2 % of it.
  CHECK(result.gpu_days == Approx(expected).epsilon(4 * 0.01 * 0.02));
  // The same seed gives the same runs.
  const FailureCost again = failure_cost(scenario_of(model), kWork_s).value();
  CHECK(again.gpu_days == result.gpu_days);
  // One spare and repairs of two days, in which five units fail: the run waits.
  model.spares = SparePool{.n_units = 1, .repair_s = 2 * 86400};
  const FailureCost waiting = failure_cost(scenario_of(model), kWork_s).value();
  CHECK(waiting.wall_hours > 1.5 * result.wall_hours);
}

TEST_CASE("a run that cannot finish takes infinite time") {
  FailureModel never = kModel;
  never.checkpoint_interval_s = 1e8;
  FailureModel no_repair = kModel;
  no_repair.spares = SparePool{.n_units = 2, .repair_s = 40 * 86400};
  for (const auto& [model, work_s] : {std::pair(never, 1e8), std::pair(no_repair, kWork_s)}) {
    const FailureCost result = failure_cost(scenario_of(model), work_s).value();
    CHECK(std::isinf(result.gpu_days));
    CHECK(std::isinf(result.gpu_days_p95));
    CHECK(std::isinf(result.n_failures));
    CHECK(result.effective_fraction == 0);
    CHECK_FALSE(result.losses);
  }
}

TEST_CASE("variability and failures go from a scenario to every report, whatever the threads", "[threads]") {
  const TemporaryFolder folder;
  const std::string start = R"({
    "format": 1, "name": "small", "seed": 3, "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 131072, "epochs": 2, "zero_stage": 1},
    "lengths": {"mix": [{"source": "gsm8k.csv", "count": 5000}]},
    "packing": {"over_long": "truncate"},
    "strategies": [{"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2},
                   {"strategy": "ffd", "capacity_tokens": 8192}])";
  write_text(folder / "even.json", start + "}");
  write_text(folder / "slow.json",
             start + R"(, "variability": {"slow_ranks": [{"rank": 5, "factor": 1.5}]}})");
  write_text(folder / "all.json", start + R"(,
    "variability": {"rank_spread": 0.02, "kernel_spread": 0.05},
    "failures": {"mtbf_hours": 100, "unit": "node", "checkpoint": {"write_s": 5},
                 "restart": {"detection_s": 10, "reschedule_s": 20, "load_s": 30},
                 "spares": {"units": 1, "repair_hours": 2}}})");
  const auto report_of = [&](const std::string& arguments) {
    const ProgramRun run = run_shell(folder, "packsim compare " + arguments + " --json");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    json report = json::parse(run.out);
    report.erase("timings");
    report["manifest"].erase("command");
    return report;
  };
  const json even = report_of("even.json");
  const json slow = report_of("slow.json");
  const json all = report_of("all.json");
  CHECK(all == report_of("all.json --threads 2"));
  for (std::size_t i = 0; i < 2; ++i) {
    // The equal GPUs of a scenario with variability are those of one without.
    for (const json& report : {slow, all})
      CHECK(report["runs"][i]["gpu_days_without_variability"] == even["runs"][i]["gpu_days"]);
    const double ratio =
        slow["runs"][i]["gpu_days"].get<double>() / even["runs"][i]["gpu_days"].get<double>();
    // Computation takes half as long again, exchanges what they take.
    CHECK(ratio > 1.2);
    CHECK(ratio < 1.5);
    CHECK(all["runs"][i]["gpu_days"] > even["runs"][i]["gpu_days"]);
    CHECK(all["runs"][i]["gpu_days_with_failures"] > all["runs"][i]["gpu_days"]);
    CHECK(slow["runs"][i]["gpu_days_with_failures"].is_null());
  }
  const ProgramRun check = run_shell(folder, "packsim check all.json");
  CHECK(check.out.find("\nvariability: GPUs spread by 2.0%, kernels by 5.0%; seed 3\n") != std::string::npos);
  CHECK(check.out.find("\nfailures: a unit of 8 GPUs fails every 100 h; ") != std::string::npos);
}

}  // namespace
}  // namespace packsim
