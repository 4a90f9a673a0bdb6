#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

inline StrategyResult example_run(const std::string& name, double gpu_days) {
  StrategyResult run;
  run.name = name;
  run.strategy = "isf";
  run.policies.over_long = OverLong::drop;
  run.plan.execution.launch_s = kTorchLaunch_s;
  run.packs = 800;
  run.iterations = 100;
  run.balance = ScheduleMetrics{};
  run.balance->abr = 0.25;
  run.times = RunTimes{};
  run.times->step_mean_s = 1.5;
  run.times->step_p99_s = 2;
  run.times->gpu_days = gpu_days;
  run.times->wall_hours = gpu_days * 24 / 8;
  run.times->shares.by_cause[static_cast<std::size_t>(Cause::linear)] = 0.75;
  run.times->shares.idle = 0.25;
  run.times->steps = {{.first_iteration = 0, .last_iteration = 99, .least = 1, .mean = 1.5, .most = 2}};
  run.speedup = {.value = 1};
  run.groups = {{.capacity_tokens = 131072,
                 .sequence = {.ulysses = 8},
                 .gc_layers = 32,
                 .packs = 800,
                 .iterations = 100,
                 .peak_memory_bytes = 64e9,
                 .gpu_memory_bytes = 80e9,
                 .memory = {.weights_bytes = 40e9, .activations_bytes = 24e9}}};
  run.sampled_iterations = {{.iteration = 7,
                             .capacity_tokens = 131072,
                             .gpus_per_pack = 8,
                             .abr = 0.25,
                             .attention_pairs = {4e9, 8e9}}};
  run.measured.packing_s = 0.125;
  return run;
}

/// A run as the simulator gives it when a group needs 96 GB of 80 GB: its times do not exist.
inline StrategyResult example_misfit(const std::string& name) {
  StrategyResult run = example_run(name, 0);
  run.feasible = false;
  run.times.reset();
  run.speedup.reset();
  run.groups[0].feasible = false;
  run.groups[0].peak_memory_bytes = 96e9;
  return run;
}

/// A baseline of 5 GPU-days and "hbp" with 4.
inline Report example_report() {
  Report report;
  report.manifest.scenario_name = "example";
  report.manifest.model = "llama-3.1-8b";
  report.manifest.cluster = "h100_x8";
  report.manifest.n_gpus = 8;
  report.lengths.n_samples = 2;
  report.lengths.n_tokens = 3;
  report.lengths.histogram = {{0, 1, 1, 1}, {1, 2, 1, 2}};
  report.baseline = "isf";
  report.runs = {example_run("isf", 5), example_run("hbp", 4)};
  report.runs[1].speedup = {.value = 1.25};
  report.total_s = 3;
  return report;
}

/// A mixture of two subsets, one of them with two groups, in two windows.
inline MixtureSummary example_mixture() {
  MixtureSummary mixture{
      .policy = "hbo",
      .policy_summary = "Actors.",
      .policy_source = "a paper",
      .assumptions = {"Rewards are assumed."},
      .update_every_steps = 50,
      .n_updates = 1,
      .n_draws = 6,
      .never_drawn_samples = 1,
      .repeated_draws = 2,
      .subsets = {{"easy", {{2, 20, 3, 0, 10}, {1, 5, 0, 1, 5}}}, {"hard", {{2, 40, 3, 0, 20}}}},
      .windows = {},
      .samples_by_draws = {1, 3, 0, 1}};
  const MixtureProbabilities start{{0.6, 0.4}, {{0.5, 0.5}, {1}}};
  const MixtureProbabilities later{{0.5, 0.5}, {{0.75, 0.25}, {1}}};
  mixture.windows = {{0, 3, 30, 10, 20, 20, start, {}},
                     {50, 3, 50, 20, 20, 20, later, MixtureRewards{{1, 2}, {{2, 1}, {1}}}}};
  return mixture;
}

/// What it means for a run of 100 iterations.
inline StrategyMixture example_strategy_mixture() {
  StrategyMixture mixture{.packs = "window",
                          .plan = "prior",
                          .follows_rewards = true,
                          .moves = true,
                          .fill_fraction = 0.9,
                          .windows = {{0, 50, 3, 1, 0.8, 0.25, 0, 2, 9}, {50, 50, 4, 0, 0.95, 0.5, 0, 3, 0}},
                          .probes = {{"as the scenario says", 4, 8, 0.25, 0.05, 0.04, 0.125},
                                     {"spread over ranks", 4, 16, 0.5, 0.1, 0, 0.033}},
                          .still = StillMixture{4, 1000, 0.1, 0, 0.9}};
  return mixture;
}

/// The same with all that only some reports have: money, evidence, a mixture, and one step rank by rank.
inline Report priced_report() {
  Report report = example_report();
  report.mixture = example_mixture();
  for (StrategyResult& run : report.runs) run.mixture = example_strategy_mixture();
  for (StrategyResult& run : report.runs) {
    run.cost = RunCost{.gpu_hours = 24 * run.times->gpu_days,
                       .money = 48 * run.times->gpu_days,
                       .money_low = 40 * run.times->gpu_days,
                       .money_high = 60 * run.times->gpu_days};
    run.times->evidence_by_cause[static_cast<std::size_t>(Cause::linear)] = {.measured = 0.5,
                                                                             .extrapolated = 0.25};
    run.times->step_quantiles_s = {1, 1.5, 2};
    run.times->slowest_steps = {
        {.iteration = 7, .step_s = 2, .abr = 0.25, .tokens = 1000, .longest_tokens = 900}};
    run.times->timelines = {
        {.which = "slowest",
         .iteration = 7,
         .step_s = 2,
         .n_lanes = 1,
         .lanes = {{.gpus = {.rank = 0, .stage = 0, .first_gpu = 0, .n_gpus = 8},
                    .spans = {{Activity::forward, 0, 100}, {Activity::waiting, 100, 500}}}}}};
    run.abr_over_run = {{.first_iteration = 0, .last_iteration = 99, .least = 0, .mean = 0.25, .most = 0.5}};
  }
  return report;
}

/// 3.2 GPU-days under ZeRO 1, a part of each kind.
inline BoundResult example_bound() {
  BoundResult bound{.zero_stage = 1, .gpu_days = 3.2, .iterations = 90, .steps_gpu_days = 0.2};
  const auto set = [&](Cause cause, double gpu_days) {
    bound.pack_gpu_days[static_cast<std::size_t>(cause)] = gpu_days;
  };
  set(Cause::linear, 1.6);
  set(Cause::attention, 0.4);
  set(Cause::recompute, 0.5);
  set(Cause::sequence, 0.15);
  set(Cause::states, 0.05);
  set(Cause::overhead, 0.3);
  return bound;
}

/// The same of a scenario with variability and failures. The baseline never ends.
inline Report failing_report() {
  Report report = example_report();
  report.manifest.variability = {
      .rank_spread = 0.02, .kernel_spread = 0.05, .slow_ranks = {{3, 1.15}}, .seed = 9};
  report.manifest.failures = FailureModel{.unit_mtbf_h = 50000,
                                          .unit_gpus = 8,
                                          .checkpoint_interval_s = 1800.0,
                                          .checkpoint_write_s = 40,
                                          .checkpoint_blocking_fraction = 0.25,
                                          .detection_s = 60,
                                          .reschedule_s = 300,
                                          .load_s = 90,
                                          .spares = SparePool{.n_units = 2, .repair_s = 43200}};
  for (StrategyResult& run : report.runs) {
    run.times->gpu_days_without_variability = run.times->gpu_days / 1.08;
    run.failures = FailureCost{.checkpoint_interval_s = 1800};
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  FailureCost& endless = *report.runs[0].failures;
  endless.gpu_days = endless.gpu_days_p95 = endless.n_failures = kNever;
  FailureCost& cost = *report.runs[1].failures;
  cost.gpu_days = 4.5;
  cost.gpu_days_p05 = 4.25;
  cost.gpu_days_p95 = 5.25;
  cost.n_failures = 0.25;
  cost.effective_fraction = 0.888;
  return report;
}

}  // namespace packsim
