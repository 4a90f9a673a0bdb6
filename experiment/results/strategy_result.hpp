#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/iteration_sizes.hpp"
#include "experiment/results/mixture_result.hpp"
#include "experiment/results/plan_search.hpp"
#include "experiment/results/planned_group.hpp"
#include "experiment/results/step_timeline.hpp"
#include "models/cause.hpp"
#include "models/step/time_errors.hpp"
#include "packing/policies/policy_table.hpp"
#include "packing/schedule/metrics.hpp"

namespace packsim {

/// A value of consecutive iterations, such as the step time, for charts over the run.
struct IterationBin {
  std::int64_t first_iteration = 0;
  std::int64_t last_iteration = 0;
  double least = 0;
  double mean = 0;
  double most = 0;
};

/// One of the slowest steps of a run, and what it trains.
struct SlowStep {
  std::int64_t iteration = 0;
  double step_s = 0;
  double abr = 0;
  std::int64_t tokens = 0;                ///< of the data, without padding
  std::int64_t longest_tokens = 0;        ///< its longest sample
  std::optional<int> gpus_per_pack = {};  ///< none if SP degrees differ
};

/// The attention work of every DP rank in one iteration, or of every GPU if SP degrees differ in it.
struct SampledIteration {
  std::int64_t iteration = 0;
  std::int64_t capacity_tokens = 0;  ///< largest capacity of its groups
  std::optional<int> gpus_per_pack;  ///< none if SP degrees differ
  double abr = 0;
  std::vector<double> attention_pairs;  ///< [n_dp_ranks], or [n_gpus] if SP degrees differ
};

/// The effect of a loss normaliser on the packs of a run (docs/metrics.md). Every token except the first of a
/// sample has loss, unless a schedule file says which tokens have loss.
struct LossBiasResult {
  std::string normaliser;
  /// Share of the loss weight that would be on other tokens if all loss tokens weighed the same.
  double misplaced_fraction = 0;
  /// Weight of a token of the longest samples over the mean weight of a token.
  double long_sample_weight = 1;
  double least_sum = 1;  ///< smallest sum of an iteration's weights
  double most_sum = 1;   ///< largest sum of an iteration's weights
};

/// Shares of the GPU time of a run by what it is spent on. They add up to 1. Communication that computation
/// hides is in none of them.
struct TimeShares {
  std::array<double, kNCauses> by_cause = {};
  double idle = 0;

  double of(Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

/// How well a time is known: shares of the time by the evidence for its prices.
struct EvidenceShares {
  double measured = 0;  ///< measured, or interpolated between measurements
  double extrapolated = 0;
  double transferred = 0;  ///< measured on another GPU or over other links, and scaled to these
  double missing = 0;      ///< not measured, but a rough estimate
};

/// How well a run uses its GPUs (docs/metrics.md). Tokens count as often as they are trained, without
/// padding.
struct Utilisation {
  double tokens_per_s_per_gpu = 0;
  /// Samples of all GPUs together. A sample that is cut counts where its first piece is trained.
  double samples_per_s = 0;
  /// Three times the forward flop of the model, attention over half of each document's square.
  double model_flop_per_s_per_gpu = 0;
  /// Model flop utilisation: the rate above over the GPU's peak; none if the cluster does not state the peak.
  std::optional<double> mfu_fraction = {};
  /// Hardware flop utilisation: the same with the flop of recomputation and padding.
  std::optional<double> hfu_fraction = {};
};

/// A ratio of the times of two runs.
struct TimeRatio {
  double value = 0;
  double low = 0;  ///< low to high is meant to hold nine of ten true ratios; both 0 where nothing is known
  double high = 0;

  bool is_known() const { return low > 0; }
  bool may_be_1() const { return low <= 1 && high >= 1; }
};

/// Simulated times of a run, without failures and planning.
struct RunTimes {
  double step_mean_s = 0;
  double step_p99_s = 0;
  double wall_hours = 0;
  double gpu_days = 0;
  double gpu_days_low = 0;  ///< low to high is meant to hold nine of ten true values
  double gpu_days_high = 0;
  TimeErrors errors = {};                          ///< what the interval is made of
  std::optional<std::string> largest_uncertainty;  ///< the main reason why this interval is not narrower
  TimeShares shares;
  EvidenceShares evidence;
  /// The same shares of each cause, as parts of all GPU time. All 0 for causes that have no price of their
  /// own.
  std::array<EvidenceShares, kNCauses> evidence_by_cause = {};
  Utilisation utilisation;
  /// The same run if all GPUs and kernels take the times of the cost model; none if the scenario has no
  /// variability.
  std::optional<double> gpu_days_without_variability;
  std::vector<IterationBin> steps;       ///< seconds
  std::vector<double> step_quantiles_s;  ///< ascending (step_quantiles())
  std::vector<SlowStep> slowest_steps;   ///< the slowest first
  std::vector<StepTimeline> timelines;   ///< of a step of median time, and of the slowest
};

/// How far a run is above the lower bound: the least GPU time that any schedule of the same whole samples can
/// take (docs/bound.md).
struct BoundGap {
  double gpu_days = 0;  ///< the lower bound
  std::string space;    ///< of the plans for which it holds: "packs, SP, TP 1-8, PP 1 and ZeRO 1-3"
  /// How much more the run takes, without variability; none without times.
  std::optional<double> above_fraction;
};

/// What packing anew in each epoch changes: packs, counted before last iterations drop or repeat any.
struct Repacking {
  std::int64_t later_packs = 0;  ///< packs of the epochs after the first
  /// Later packs that hold other samples than every pack of an earlier epoch.
  std::int64_t new_packs = 0;
};

/// How far a strategy that forms whole iterations moves samples: the distance from the iteration in which the
/// seeded shuffle puts a sample.
struct Reordering {
  double mean_iterations = 0;
  std::int64_t largest_iterations = 0;
};

/// The cost of planning global batches while the run trains, if each plan takes the time that the scenario
/// sets.
struct PlanningCost {
  double exposed_s = 0;  ///< mean time that GPUs wait for the plan of an iteration
  double gpu_days = 0;   ///< GPU-days of the run with these waits
};

/// A run with what it takes beside its steps (Scenario::beside_steps), without failures.
struct WholeRun {
  // Seconds of the whole run.
  double startup_s = 0;
  double first_steps_s = 0;
  double data_wait_s = 0;
  double evaluation_s = 0;
  double checkpoint_s = 0;
  double finish_s = 0;

  /// Of the steps and all of these.
  double wall_hours = 0;
  double gpu_days = 0;
  /// Low to high is meant to hold nine of ten true GPU-days; 0 where no such interval is known. What the
  /// scenario says in seconds is taken as certain.
  double gpu_days_low = 0;
  double gpu_days_high = 0;
};

/// Cost of a run with failures, including its spare units and what it takes beside its steps. Times are
/// infinite if the run would never finish.
struct FailureCost {
  /// Shares of the wall time in addition to effective_fraction; the four shares add up to 1.
  struct Losses {
    double checkpoint_fraction = 0;  ///< training waits for a checkpoint
    double restart_fraction = 0;
    double lost_fraction = 0;  ///< work that a failure destroyed
  };

  double gpu_days = 0;      ///< expected
  double gpu_days_p05 = 0;  ///< 5 % of runs take less
  double gpu_days_p50 = 0;
  double gpu_days_p95 = 0;
  double wall_hours = 0;              ///< expected
  double n_failures = 0;              ///< expected
  double checkpoint_interval_s = 0;   ///< the scenario's, or the one with the least expected time
  double effective_fraction = 0;      ///< share of the wall time that is work which is not lost
  std::optional<Losses> losses = {};  ///< none if the run would never finish
};

/// What a run costs, with what it takes beside its steps (docs/metrics.md). Money is in the currency of the
/// cluster's gpu_hour_price, and none if the cluster has no price.
struct RunCost {
  double gpu_hours = 0;
  std::optional<double> money = {};
  std::optional<double> money_low = {};  ///< low to high follow the interval of the GPU-days
  std::optional<double> money_high = {};
  /// Money for the expected GPU-days with failures: infinite if the run would never finish, none without
  /// failures.
  std::optional<double> money_with_failures = {};
  /// Energy of the GPUs at their board power; none if the cluster does not state it.
  std::optional<double> energy_kwh = {};
};

/// Samples and tokens that are not trained exactly once in an epoch. Samples are counted in one epoch, tokens
/// over all epochs.
struct DataCounts {
  std::int64_t dropped_samples = 0;  ///< over-long samples that were left out
  /// Tokens of over-long samples and of packs that last iterations leave out.
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;
  std::int64_t truncated_samples = 0;
  std::int64_t truncated_tokens = 0;
  std::int64_t split_samples = 0;
  std::int64_t own_pack_samples = 0;
  std::int64_t repeated_tokens = 0;  ///< tokens that are trained again to fill last iterations
  std::int64_t padded_tokens = 0;
  std::int64_t trained_tokens = 0;            ///< with repeated tokens, without padding
  std::int64_t largest_iteration_tokens = 0;  ///< of one iteration, with repeated tokens, without padding
  std::int64_t longest_tokens = 0;  ///< of the longest sample that is packed, or piece of a cut sample

  /// What is left of the data set after dropping and truncating, over all epochs.
  std::int64_t unrepeated_tokens() const { return trained_tokens - repeated_tokens; }
};

/// Times that packsim itself took on this machine. They are not part of a result.
struct MeasuredTimes {
  double packing_s = 0;
  double simulation_s = 0;
  /// Mean seconds to plan a global batch, for a strategy that solves integer programs.
  std::optional<double> solve_mean_s;
  /// PlanningCost::exposed_s with the measured solve times; none if the scenario sets a solve time.
  std::optional<double> planning_exposed_s;
};

/// The result of one strategy on a scenario's data. docs/metrics.md defines the ratios.
struct StrategyResult {
  std::string name = {};      ///< unique in the scenario
  std::string strategy = {};  ///< Strategy::name
  Policies policies = {};

  /// Why there is nothing below; none if the strategy could be planned and simulated.
  std::optional<std::string> failure = {};
  /// How the job that this run trains differs from the one that was asked for (set_differences()). Empty: the
  /// run may be compared with other runs of which this is empty.
  std::vector<std::string> differences = {};

  bool feasible = true;  ///< whether every group fits in memory
  /// The parallel plan of its groups, but for their degrees of sequences and checkpointed layers.
  ParallelPlan plan = {};
  /// ZeRO stages from which the plan was chosen, ascending; empty if the scenario gives the stage.
  std::vector<int> choice_of_zero_stages = {};
  /// How the plan was found; none if the scenario gives it.
  std::optional<PlanSearch> search = {};
  /// Whether gradients and weights travel while the GPUs compute.
  bool overlaps_states = false;
  std::vector<PlannedGroup> groups = {};
  /// Number of packs of one epoch; where each epoch is packed anew, of all epochs.
  std::int64_t packs = 0;
  std::int64_t iterations = 0;             ///< number of iterations over all epochs
  std::int64_t curriculum_iterations = 0;  ///< short iterations at the start
  DataCounts counts = {};
  IterationSizes sizes = {};

  std::optional<ScheduleMetrics> balance = {};  ///< none if no iteration is trained
  /// None if the run does not fit in memory or no iteration is trained.
  std::optional<RunTimes> times = {};
  /// Wall time of the baseline over that of this run, each divided by the tokens that the run trains at least
  /// once in an epoch.
  std::optional<TimeRatio> speedup = {};
  /// None if last iterations leave packs out, a sample fits in no pack, or iterations are larger than the
  /// scenario asks for.
  std::optional<BoundGap> bound = {};
  /// None unless the scenario asks to pack anew in each epoch and the run has several.
  std::optional<Repacking> repacking = {};
  std::optional<Reordering> reordering = {};    ///< none for strategies that shuffle packs
  std::optional<PlanningCost> planning = {};    ///< none if the scenario sets no time for plans
  std::optional<WholeRun> whole = {};           ///< none unless the scenario has beside_steps
  std::optional<FailureCost> failures = {};     ///< none if the scenario has no failures
  std::optional<RunCost> cost = {};             ///< none without times
  std::optional<StrategyMixture> mixture = {};  ///< none unless the scenario has a mixture

  /// [n_normalisers]; empty if nothing is trained or it is not asked for.
  std::vector<LossBiasResult> loss_bias = {};
  std::vector<SampledIteration> sampled_iterations = {};
  std::vector<IterationBin> abr_over_run = {};
  MeasuredTimes measured = {};

  /// Tokens of the data, repeated ones included. iterations: above 0.
  double mean_iteration_tokens() const {
    return static_cast<double>(counts.trained_tokens) / static_cast<double>(iterations);
  }
};

/// A lower bound under one ZeRO stage, and the three parts of which it is the sum (docs/bound.md).
struct BoundResult {
  int zero_stage = 1;
  double gpu_days = 0;          ///< the lower bound
  std::int64_t iterations = 0;  ///< the fewest iterations that can train the samples, over all epochs
  /// GPU-days of the packs by cause, with the least recomputation that fits in memory and without
  /// communication that computation may hide.
  std::array<double, kNCauses> pack_gpu_days = {};
  /// GPU-days that every step takes in addition to its packs: the optimizer, the framework's overhead, and
  /// gradients and weights that computation cannot hide.
  double steps_gpu_days = 0;
  /// GPU-days in which GPUs wait for samples that take longer than an equal share of their step.
  double waiting_gpu_days = 0;
};

}  // namespace packsim
