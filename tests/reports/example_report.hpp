#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "experiment/report.hpp"

namespace packsim {

inline StrategyResult example_run(const std::string& name, double gpu_days) {
  StrategyResult run;
  run.name = name;
  run.strategy = "isf";
  run.order = "shuffled";
  run.last_iteration = "repeat";
  run.padding = "none";
  run.over_long = "drop";
  run.packs = 800;
  run.iterations = 100;
  run.abr = 0.25;
  run.step_mean_s = 1.5;
  run.step_p99_s = 2;
  run.gpu_days = gpu_days;
  run.wall_hours = gpu_days * 24 / 8;
  run.speedup = 1;
  run.linear_fraction = 0.75;
  run.idle_fraction = 0.25;
  run.groups = {{.capacity_tokens = 131072,
                 .sequence = {.ulysses = 8},
                 .gc_layers = 32,
                 .packs = 800,
                 .iterations = 100,
                 .peak_memory_bytes = 64e9,
                 .gpu_memory_bytes = 80e9,
                 .memory = {.weights_bytes = 40e9, .activations_bytes = 24e9}}};
  run.step_times = {{.first_iteration = 0, .last_iteration = 99, .min_s = 1, .mean_s = 1.5, .max_s = 2}};
  run.sampled_iterations = {{.iteration = 7,
                             .capacity_tokens = 131072,
                             .gpus_per_pack = 8,
                             .abr = 0.25,
                             .attention_pairs = {4e9, 8e9}}};
  run.packing_s = 0.125;
  return run;
}

/// A run as the simulator gives it when a group needs 96 GB of 80 GB: its times do not exist.
inline StrategyResult example_misfit(const std::string& name) {
  StrategyResult run = example_run(name, std::numeric_limits<double>::quiet_NaN());
  run.feasible = false;
  run.step_mean_s = run.step_p99_s = run.wall_hours = run.speedup = std::numeric_limits<double>::quiet_NaN();
  run.gpu_days_low = run.gpu_days_high = std::numeric_limits<double>::quiet_NaN();
  run.groups[0].feasible = false;
  run.groups[0].peak_memory_bytes = 96e9;
  run.step_times.clear();
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
  report.runs[1].speedup = 1.25;
  report.total_s = 3;
  return report;
}

/// 3.2 GPU-days under ZeRO 1, a part of each kind.
inline BoundResult example_bound() {
  return {.zero_stage = 1,
          .gpu_days = 3.2,
          .iterations = 90,
          .linear_gpu_days = 1.6,
          .attention_gpu_days = 0.4,
          .recompute_gpu_days = 0.5,
          .exchange_gpu_days = 0.2,
          .overhead_gpu_days = 0.3,
          .steps_gpu_days = 0.2,
          .waiting_gpu_days = 0};
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
    run.gpu_days_without_variability = run.gpu_days / 1.08;
    run.checkpoint_interval_s = 1800;
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  StrategyResult& endless = report.runs[0];
  endless.gpu_days_with_failures = endless.gpu_days_with_failures_p95 = endless.expected_failures = kNever;
  endless.effective_fraction = 0;
  StrategyResult& run = report.runs[1];
  run.gpu_days_with_failures = 4.5;
  run.gpu_days_with_failures_p05 = 4.25;
  run.gpu_days_with_failures_p95 = 5.25;
  run.expected_failures = 0.25;
  run.effective_fraction = 0.888;
  return report;
}

}  // namespace packsim
