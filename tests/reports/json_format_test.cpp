#include "reports/formats/formats.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "example_report.hpp"
#include "reports/formats/terminal_format.hpp"
#include "reports/verdict/verdict.hpp"

using namespace packsim;
using OrderedJson = nlohmann::ordered_json;

namespace {

std::vector<std::string> keys(const OrderedJson& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("report.json keeps its keys and their order, timings last") {
  const OrderedJson written = OrderedJson::parse(to_json(example_report()));
  CHECK(written["format"] == 3);
  CHECK(keys(written) == std::vector<std::string>{"format", "manifest", "lengths", "mixture", "baseline",
                                                  "verdict", "bounds", "runs", "timings"});
  CHECK(keys(written["verdict"]) == std::vector<std::string>{"advised", "best", "decision", "headline",
                                                             "doubts", "not_compared", "fitting"});
  CHECK(keys(written["runs"][0]) == std::vector<std::string>{"name",
                                                             "strategy",
                                                             "order",
                                                             "last_iteration",
                                                             "padding",
                                                             "over_long",
                                                             "attention",
                                                             "feasible",
                                                             "failure",
                                                             "differences",
                                                             "overlaps_states",
                                                             "packs",
                                                             "iterations",
                                                             "ave_t_tokens",
                                                             "abr",
                                                             "abr_slots",
                                                             "abr_weighted",
                                                             "balanced_fraction",
                                                             "dbr",
                                                             "cr",
                                                             "pr",
                                                             "step_mean_s",
                                                             "step_p99_s",
                                                             "gpu_days",
                                                             "gpu_days_low",
                                                             "gpu_days_high",
                                                             "largest_uncertainty",
                                                             "wall_hours",
                                                             "tokens_per_s_per_gpu",
                                                             "samples_per_s",
                                                             "model_flop_per_s_per_gpu",
                                                             "mfu_fraction",
                                                             "hfu_fraction",
                                                             "gpu_hours",
                                                             "cost",
                                                             "cost_low",
                                                             "cost_high",
                                                             "cost_with_failures",
                                                             "energy_kwh",
                                                             "speedup",
                                                             "speedup_low",
                                                             "speedup_high",
                                                             "bound_gpu_days",
                                                             "above_bound_fraction",
                                                             "gpu_days_without_variability",
                                                             "rewards_gpu_days",
                                                             "gpu_days_with_rewards",
                                                             "whole_gpu_days",
                                                             "whole_gpu_days_low",
                                                             "whole_gpu_days_high",
                                                             "whole_wall_hours",
                                                             "startup_s",
                                                             "first_steps_s",
                                                             "data_wait_s",
                                                             "evaluation_s",
                                                             "checkpoint_s",
                                                             "finish_s",
                                                             "planning_exposed_s",
                                                             "gpu_days_with_planning",
                                                             "gpu_days_with_failures",
                                                             "gpu_days_with_failures_p05",
                                                             "gpu_days_with_failures_p50",
                                                             "gpu_days_with_failures_p95",
                                                             "wall_hours_with_failures",
                                                             "expected_failures",
                                                             "checkpoint_interval_s",
                                                             "effective_fraction",
                                                             "checkpoint_fraction",
                                                             "restart_fraction",
                                                             "lost_fraction",
                                                             "linear_fraction",
                                                             "attention_fraction",
                                                             "recompute_fraction",
                                                             "sequence_fraction",
                                                             "tensor_fraction",
                                                             "expert_fraction",
                                                             "pipeline_fraction",
                                                             "states_fraction",
                                                             "optimizer_fraction",
                                                             "host_fraction",
                                                             "overhead_fraction",
                                                             "idle_fraction",
                                                             "measured_fraction",
                                                             "extrapolated_fraction",
                                                             "transferred_fraction",
                                                             "unmeasured_fraction",
                                                             "mean_reordering_iterations",
                                                             "largest_reordering_iterations",
                                                             "dropped_samples",
                                                             "dropped_tokens",
                                                             "empty_samples",
                                                             "truncated_samples",
                                                             "truncated_tokens",
                                                             "split_samples",
                                                             "own_pack_samples",
                                                             "padded_tokens",
                                                             "repeated_tokens",
                                                             "trained_tokens",
                                                             "largest_iteration_tokens",
                                                             "longest_trained_tokens",
                                                             "curriculum_iterations",
                                                             "later_packs",
                                                             "new_packs",
                                                             "parallelism",
                                                             "groups",
                                                             "plan_search",
                                                             "mixture",
                                                             "loss_bias",
                                                             "step_times",
                                                             "step_quantiles_s",
                                                             "slowest_steps",
                                                             "abr_over_run",
                                                             "evidence_by_cause",
                                                             "sampled_iterations"});
  CHECK(keys(written["runs"][0]["groups"][0]) ==
        std::vector<std::string>{"capacity_tokens", "sp_degree", "cp_degree", "gc_layers", "zero_stage",
                                 "n_dp_ranks", "micro_batches_per_rank", "packs", "iterations", "feasible",
                                 "memory_verdict", "memory_error", "peak_memory_bytes",
                                 "allocated_memory_bytes", "gpu_memory_bytes", "host_memory_bytes",
                                 "memory"});
  CHECK(keys(written["timings"]) == std::vector<std::string>{"total_s", "peak_memory_bytes", "runs"});
}

TEST_CASE("a run has its slowest steps, and the evidence for each cause that has a price") {
  const OrderedJson run = OrderedJson::parse(to_json(priced_report()))["runs"][0];
  CHECK(run["step_quantiles_s"] == OrderedJson({1, 1.5, 2}));
  CHECK(run["slowest_steps"][0]["longest_tokens"] == 900);
  CHECK(run["slowest_steps"][0]["gpus_per_pack"].is_null());
  CHECK(run["abr_over_run"][0]["mean"] == 0.25);
  CHECK(keys(run["evidence_by_cause"]) == std::vector<std::string>{"linear"});
  CHECK(run["evidence_by_cause"]["linear"]["extrapolated_fraction"] == 0.25);
}

TEST_CASE("a lower bound has its ZeRO stage and the parts that it consists of") {
  Report report = example_report();
  CHECK(OrderedJson::parse(to_json(report))["bounds"].empty());
  report.bounds = {example_bound()};
  report.runs[0].bound = BoundGap{.gpu_days = 4, .space = "packs, SP and ZeRO 1", .above_fraction = 0.25};
  const OrderedJson written = OrderedJson::parse(to_json(report));
  CHECK(keys(written["bounds"][0]) ==
        std::vector<std::string>{"zero_stage", "gpu_days", "iterations", "linear_gpu_days",
                                 "attention_gpu_days", "recompute_gpu_days", "exchange_gpu_days",
                                 "overhead_gpu_days", "steps_gpu_days", "waiting_gpu_days"});
  CHECK(written["bounds"][0]["recompute_gpu_days"] == 0.5);
  CHECK(written["runs"][0]["above_bound_fraction"] == 0.25);
  CHECK(written["runs"][1]["above_bound_fraction"].is_null());
}

TEST_CASE("what a run costs is beside its times, and null where no price or power is known") {
  Report report = example_report();
  constexpr double kNever = std::numeric_limits<double>::infinity();
  report.manifest.gpu_hour_price = 2.5;
  report.runs[0].cost = {
      .gpu_hours = 120, .money = 300, .money_low = 280, .money_high = 320, .money_with_failures = kNever};
  report.runs[1].cost = {.gpu_hours = 96, .energy_kwh = 67.2};
  const OrderedJson written = OrderedJson::parse(to_json(report));
  CHECK(written["manifest"]["gpu_hour_price"] == 2.5);
  CHECK(written["manifest"]["gpu_power_w"].is_null());
  const OrderedJson& isf = written["runs"][0];
  CHECK(isf["cost"] == 300);
  CHECK(isf["cost_low"] == 280);
  CHECK(isf["cost_high"] == 320);
  CHECK(isf["cost_with_failures"].is_null());  // never finishes
  CHECK(isf["energy_kwh"].is_null());
  CHECK(written["runs"][1]["gpu_hours"] == 96);
  CHECK(written["runs"][1]["energy_kwh"] == 67.2);
  CHECK(written["runs"][1]["cost"].is_null());
}

TEST_CASE("what normalisers do to a run's loss is in its loss_bias") {
  Report report = example_report();
  report.runs[0].loss_bias = {{.normaliser = "token_mean",
                               .misplaced_fraction = 0.25,
                               .long_sample_weight = 0.5,
                               .least_sum = 0.75,
                               .most_sum = 1}};
  const OrderedJson written = OrderedJson::parse(to_json(report));
  CHECK(written["runs"][0]["loss_bias"] ==
        OrderedJson::parse(R"([{"normaliser": "token_mean", "misplaced_fraction": 0.25,
                                                         "long_sample_weight": 0.5, "least_sum": 0.75,
                                                         "most_sum": 1.0}])"));
  CHECK(written["runs"][1]["loss_bias"].empty());
}

TEST_CASE("how many packs of later epochs are new is null unless epochs are packed anew") {
  Report report = example_report();
  report.runs[0].repacking = Repacking{.later_packs = 5000, .new_packs = 4980};
  const OrderedJson written = OrderedJson::parse(to_json(report));
  CHECK(written["runs"][0]["later_packs"] == 5000);
  CHECK(written["runs"][0]["new_packs"] == 4980);
  CHECK(written["runs"][1]["later_packs"].is_null());
  CHECK(written["runs"][1]["new_packs"].is_null());
}

TEST_CASE("what this machine measured is under timings only") {
  Report slower = example_report();
  slower.total_s = 99;
  slower.peak_memory_bytes = 1 << 20;
  for (StrategyResult& run : slower.runs) {
    run.measured.packing_s = run.measured.simulation_s = 42;
    run.measured.solve_mean_s = run.measured.planning_exposed_s = 7;
  }
  OrderedJson first = OrderedJson::parse(to_json(example_report()));
  OrderedJson second = OrderedJson::parse(to_json(slower));
  CHECK(first["timings"]["runs"][0]["packing_s"] == 0.125);
  CHECK(second["timings"]["runs"][0]["packing_s"] == 42);
  CHECK(!first["timings"]["runs"][0].contains("solve_mean_s"));
  CHECK(second["timings"]["runs"][0]["solve_mean_s"] == 7);
  CHECK(second["timings"]["runs"][0]["planning_exposed_s"] == 7);
  first.erase("timings");
  second.erase("timings");
  CHECK(first.dump() == second.dump());
}

TEST_CASE("times that do not exist are null") {
  Report report = example_report();
  report.runs.push_back(example_misfit("too big"));
  const OrderedJson run = OrderedJson::parse(to_json(report))["runs"][2];
  CHECK(run["feasible"] == false);
  for (const char* key : {"step_mean_s", "step_p99_s", "gpu_days", "wall_hours", "speedup"}) {
    CHECK(run[key].is_null());
  }
  CHECK(run["abr"] == 0.25);
}

TEST_CASE(
    "what a scenario says of variability and failures is in the manifest, and null where it says nothing") {
  const OrderedJson nothing = OrderedJson::parse(to_json(example_report()));
  CHECK(nothing["manifest"]["variability"].is_null());
  CHECK(nothing["manifest"]["failures"].is_null());
  CHECK(nothing["manifest"]["beside_steps"].is_null());
  CHECK(nothing["runs"][0]["whole_gpu_days"].is_null());
  for (const char* key : {"gpu_days_without_variability", "gpu_days_with_failures", "effective_fraction"})
    CHECK(nothing["runs"][0][key].is_null());

  const OrderedJson report = OrderedJson::parse(to_json(failing_report()));
  CHECK(report["manifest"]["variability"].dump() ==
        R"({"rank_spread":0.02,"kernel_spread":0.05,"slow_ranks":[{"rank":3,"factor":1.15}],"seed":9})");
  CHECK(
      report["manifest"]["failures"].dump() ==
      R"({"unit_mtbf_hours":50000.0,"unit_gpus":8,"checkpoint_interval_s":1800.0,"checkpoint_write_s":40.0,)"
      R"("checkpoint_blocking_fraction":0.25,"detection_s":60.0,"reschedule_s":300.0,"load_s":90.0,)"
      R"("spares":{"units":2,"repair_s":43200.0}})");
  CHECK(report["runs"][1]["gpu_days_with_failures"] == 4.5);
  CHECK(report["runs"][1]["expected_failures"] == 0.25);
  // No end is to be expected of the first run.
  CHECK(report["runs"][0]["gpu_days_with_failures"].is_null());
}

TEST_CASE("what a run takes beside its steps is in the manifest, the whole run, and the verdict") {
  Report report = example_report();
  report.manifest.beside_steps = BesideSteps{
      .startup_s = 600,
      .evaluation = BesideSteps::Evaluation{.every_iterations = 50, .duration_s = {}, .tokens = 2000}};
  report.runs[1].whole = WholeRun{.startup_s = 600, .evaluation_s = 30, .wall_hours = 12.2, .gpu_days = 4.06};
  const OrderedJson written = OrderedJson::parse(to_json(report));
  CHECK(written["manifest"]["beside_steps"].dump() ==
        R"({"startup_s":600.0,"first_steps_s":0.0,"data_wait_s":0.0,)"
        R"("evaluation":{"every_iterations":50,"duration_s":null,"tokens":2000.0},)"
        R"("checkpoint":null,"finish_s":0.0})");
  CHECK(written["runs"][1]["whole_gpu_days"] == 4.06);
  CHECK(written["runs"][1]["evaluation_s"] == 30);
  CHECK_THAT(verdict(report).cost, Catch::Contains(" With start-up and evaluation: 4.06 GPU-days, 12.2 h."));
  // isf, which is next, has its GPU-days of steps beside those of the whole run.
  report.runs[0].whole = WholeRun{.startup_s = 600, .wall_hours = 15.2, .gpu_days = 5.06};
  CHECK_THAT(verdict(report).doubts.front(),
             Catch::StartsWith("isf is next with 5.00 GPU-days of steps, 25.0% more"));
  report.runs[1].whole = WholeRun{.wall_hours = 12, .gpu_days = 4};
  CHECK_THAT(verdict(report).cost, !Catch::Contains("With"));
  CHECK_THAT(to_terminal(report, {.wide = true}),
             Catch::Contains("start-up 600 s; evaluation of 2.00k tokens every 50 iterations"));
}

TEST_CASE("numbers are written in the shortest form that reads back the same") {
  Report report = example_report();
  report.runs[0].balance->abr = 0.1;
  report.runs[0].balance->cr = 1.0 / 3.0;
  const std::string text = to_json(report);
  CHECK(text.find("\"abr\": 0.1,") != std::string::npos);
  CHECK(OrderedJson::parse(text)["runs"][0]["cr"] == 1.0 / 3.0);
}

TEST_CASE("names that are not UTF-8 do not stop the report") {
  Report report = example_report();
  report.runs[0].name = "a\xFFz";
  CHECK(OrderedJson::parse(to_json(report))["runs"][0]["name"] == "a\xEF\xBF\xBDz");
}
