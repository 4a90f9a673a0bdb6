#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/planned_group.hpp"
#include "models/cause.hpp"
#include "packing/policies.hpp"
#include "packing/schedule/metrics.hpp"

namespace packsim {

/// Step times of neighbouring iterations, for the chart.
struct StepTimeBin {
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
  double min_s = 0;
  double mean_s = 0;
  double max_s = 0;
};

/// The attention work of every rank in one iteration; where SP degrees differ, of every GPU.
struct SampledIteration {
  std::int64_t iteration = 0;
  std::int64_t capacity_tokens = 0;  ///< the largest of its groups
  std::optional<int> gpus_per_pack;  ///< none where they differ
  double abr = 0;
  std::vector<double> attention_pairs;  ///< [n_dp_ranks], or [n_gpus] where SP degrees differ
};

/// What a normaliser does to the loss of a run's packs (docs/metrics.md), every token but the first of a
/// sample having loss.
struct LossBiasResult {
  std::string normaliser;
  double misplaced_fraction = 0;  ///< share of the weight that is on other tokens than in a mean over all
  double long_sample_weight = 1;  ///< of a token of the longest samples, in mean weights
  double least_sum = 1;           ///< of an iteration's weights
  double most_sum = 1;
};

/// What the GPU time of a run is spent on. All shares add up to 1. Communication that computation hides is in
/// none of them.
struct TimeShares {
  std::array<double, kNCauses> by_cause = {};
  double idle = 0;

  double of(Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

/// How well a time is known: the share of it whose prices rest on each kind of evidence.
struct EvidenceShares {
  double measured = 0;  ///< measured, or interpolated between measurements
  double extrapolated = 0;
  double missing = 0;  ///< nothing was measured: a rough estimate
};

/// What a run takes, by the simulator. Failures and planning are left out.
struct RunTimes {
  double step_mean_s = 0;
  double step_p99_s = 0;
  double wall_hours = 0;
  double gpu_days = 0;
  double gpu_days_low = 0;  ///< nine runs of ten are between low and high
  double gpu_days_high = 0;
  std::optional<std::string> largest_uncertainty;  ///< the measurement that would narrow that interval most
  TimeShares shares;
  EvidenceShares evidence;
  /// The same run on GPUs and kernels without variability; none where the scenario has no variability.
  std::optional<double> gpu_days_without_variability;
  std::vector<StepTimeBin> steps;
};

/// How far a run is from the least GPU time that any schedule of the same whole samples takes
/// (docs/bound.md).
struct BoundGap {
  double gpu_days = 0;  ///< the lower bound
  std::optional<double>
      above_fraction;  ///< how much more the run takes, without variability; none without times
};

/// How far a strategy that forms whole iterations moves samples from the iteration of their place in the
/// seeded shuffle.
struct Reordering {
  double mean_iterations = 0;
  std::int64_t largest_iterations = 0;
};

/// The cost of planning global batches while the run trains, at a set time for each plan.
struct PlanningCost {
  double exposed_s = 0;  ///< mean time in an iteration that GPUs wait for its plan
  double gpu_days = 0;   ///< of the run with these waits
};

/// What failures make of a run, spare units included. Infinite where the run would never finish.
struct FailureCost {
  /// Shares of the wall time beside effective_fraction; the four add up to 1.
  struct Losses {
    double checkpoint_fraction = 0;  ///< training stands still for a checkpoint
    double restart_fraction = 0;
    double lost_fraction = 0;  ///< work that a failure destroyed
  };

  double gpu_days = 0;      ///< expected
  double gpu_days_p05 = 0;  ///< 5 % of runs take less
  double gpu_days_p50 = 0;
  double gpu_days_p95 = 0;
  double wall_hours = 0;              ///< expected
  double n_failures = 0;              ///< expected
  double checkpoint_interval_s = 0;   ///< the scenario's, or the best one
  double effective_fraction = 0;      ///< share of the wall time that is work which lasts
  std::optional<Losses> losses = {};  ///< none where the run would never finish
};

/// Samples and tokens that are not trained exactly once an epoch. Samples are those of one epoch, tokens
/// those of all.
struct DataCounts {
  std::int64_t dropped_samples = 0;  ///< over-long
  std::int64_t dropped_tokens = 0;   ///< of over-long samples, and of packs that last iterations leave out
  std::int64_t empty_samples = 0;
  std::int64_t truncated_samples = 0;
  std::int64_t truncated_tokens = 0;
  std::int64_t split_samples = 0;
  std::int64_t own_pack_samples = 0;
  std::int64_t repeated_tokens = 0;  ///< trained twice to fill last iterations
  std::int64_t padded_tokens = 0;
  std::int64_t trained_tokens = 0;  ///< repeats included, padding not
};

/// What a run of packsim itself took on this machine; no part of a result.
struct MeasuredTimes {
  double packing_s = 0;
  double simulation_s = 0;
  /// Of a strategy that solves integer programs: mean seconds for the plan of a global batch.
  std::optional<double> solve_mean_s;
  /// PlanningCost::exposed_s at the measured solve times; none where the scenario sets a solve time.
  std::optional<double> planning_exposed_s;
};

/// What one strategy does with a scenario's data, and what that takes. docs/metrics.md defines the ratios.
struct StrategyResult {
  std::string name = {};      ///< unique in the scenario
  std::string strategy = {};  ///< of the strategy table
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  Padding padding = Padding::none;
  OverLong over_long = OverLong::error;

  bool feasible = true;  ///< every group fits in memory
  std::vector<PlannedGroup> groups = {};
  std::int64_t packs = 0;                  ///< of one epoch
  std::int64_t iterations = 0;             ///< over all epochs
  std::int64_t curriculum_iterations = 0;  ///< of the short group alone, at the start
  DataCounts counts = {};

  std::optional<ScheduleMetrics> balance = {};  ///< none where no iteration is trained
  std::optional<RunTimes> times = {};           ///< none where the run does not fit, or trains nothing
  std::optional<double> speedup = {};           ///< wall time of the baseline over this one's
  /// None where last iterations leave packs out, or a sample fits in no pack.
  std::optional<BoundGap> bound = {};
  std::optional<Reordering> reordering = {};  ///< none for strategies that shuffle packs
  std::optional<PlanningCost> planning = {};  ///< none where no time is set for plans
  std::optional<FailureCost> failures = {};   ///< none where the scenario has no failures

  std::vector<LossBiasResult> loss_bias = {};  ///< [n_normalisers]; empty where nothing is trained
  std::vector<SampledIteration> sampled_iterations = {};
  MeasuredTimes measured = {};
};

/// A lower bound under one ZeRO stage, and what it consists of.
struct BoundResult {
  int zero_stage = 1;
  double gpu_days = 0;          ///< all below added up
  std::int64_t iterations = 0;  ///< the fewest, over all epochs
  std::array<double, kNCauses> pack_gpu_days =
      {};                       ///< by cause; recomputation that memory forces, exchange that nothing hides
  double steps_gpu_days = 0;    ///< of every step: optimizer, framework, gradients and weights
  double waiting_gpu_days = 0;  ///< GPUs wait for samples that take longer than their step's share
};

}  // namespace packsim
