#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "packing/sequence_parallelism.hpp"
#include "sim/reliability/failure_model.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// Where a report comes from: enough to make it again.
struct RunManifest {
  std::string version;
  std::string command;
  std::string scenario;  ///< path as given
  std::string scenario_name;
  std::string scenario_description;
  std::string scenario_hash;
  std::string profile;  ///< name
  std::string profile_hash;
  std::string profile_source;
  std::string hardware;  ///< name
  std::string hardware_hash;
  std::string level;  ///< of detail: step or op
  std::uint32_t seed = 0;
  std::string model;
  std::string cluster;
  int n_gpus = 0;
  int epochs = 1;
  std::int64_t tokens_per_iteration = 0;
  ParallelPlan plan;  ///< of all groups, but for their own degrees and checkpointed layers
  Variability variability;
  std::optional<FailureModel> failures;  ///< none: nothing fails
  std::vector<std::string> warnings;     ///< what a reader must know before believing the numbers
};

/// The samples of a data set by length.
struct LengthSummary {
  struct Source {
    std::string name;
    std::string hash;
    std::int64_t n_samples = 0;
    std::int64_t n_tokens = 0;
    std::int64_t repeated_samples = 0;  ///< drawn more than once
  };
  std::vector<Source> sources;
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t median_tokens = 0;
  std::int64_t p99_tokens = 0;
  std::int64_t longest_tokens = 0;
  double mean_tokens = 0;
  struct Bin {
    std::int64_t from_tokens = 0;  ///< lengths in (from, to]
    std::int64_t to_tokens = 0;
    std::int64_t n_samples = 0;
    std::int64_t n_tokens = 0;
  };
  std::vector<Bin> histogram;
};

/// How a group of packs was run, and whether it fits.
struct GroupResult {
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  int zero_stage = 1;
  int n_dp_ranks = 1;
  int micro_batches_per_rank = 1;  ///< 0 where it is not the same in every iteration
  std::int64_t packs = 0;
  std::int64_t iterations = 0;  ///< over all epochs
  bool feasible = true;
  double peak_memory_bytes = 0;
  double gpu_memory_bytes = 0;
  MemoryPeak memory = {};
};

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

/// Of numbers that a run does not have.
inline constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

/// One strategy's result. Ratios are fractions; docs/metrics.md defines them.
struct StrategyResult {
  std::string name;
  std::string strategy;
  std::string order;  ///< policies, by name
  std::string last_iteration;
  std::string padding;
  std::string over_long;
  bool feasible = true;
  std::vector<GroupResult> groups;

  std::int64_t packs = 0;       ///< of one epoch
  std::int64_t iterations = 0;  ///< over all epochs
  double abr = 0;
  double abr_slots = 0;
  double abr_weighted = 0;
  double cr = 0;
  double dbr = 0;
  double pr = 0;
  double ave_t_tokens = 0;

  double step_mean_s = 0;
  double step_p99_s = 0;
  double gpu_days = 0;
  double gpu_days_low = 0;  ///< nine runs of ten are between low and high
  double gpu_days_high = 0;
  std::string most_doubtful;  ///< the measurement that would narrow that most; empty: none
  double wall_hours = 0;
  double speedup = 0;  ///< over the baseline's wall time

  /// GPU time by cause, the share of all; communication that computation hides is in none. They add up to 1.
  double linear_fraction = 0;
  double attention_fraction = 0;
  double recompute_fraction = 0;
  double sequence_fraction = 0;  ///< exchange of Ulysses or ring
  double tensor_fraction = 0;    ///< of tensor parallelism
  double expert_fraction = 0;    ///< of experts
  double pipeline_fraction = 0;  ///< from stage to stage
  double states_fraction = 0;    ///< of gradients and weights
  double optimizer_fraction = 0;
  double overhead_fraction = 0;
  double idle_fraction = 0;

  /// Of the run on GPUs and kernels without variability; not there where the scenario has none.
  double gpu_days_without_variability = kNotThere;

  /// GPU-days that no schedule stays below which trains the same samples, each whole (docs/bound.md), and how
  /// much more the run takes, without variability. Not there where last iterations leave packs out, or a
  /// sample fits in no pack.
  double bound_gpu_days = kNotThere;
  double above_bound_fraction = kNotThere;

  /// Of a strategy that forms iterations: how far samples are from the one of their place in the seeded
  /// shuffle. Not there for others, which shuffle packs.
  double mean_move_iterations = kNotThere;
  double largest_move_iterations = kNotThere;

  /// Of a run whose global batches are planned while it trains, in a set time each: mean seconds that the
  /// GPUs wait for the plan of an iteration, and the GPU-days with these waits. Not there for other runs. All
  /// other times are those of a run whose plans are ready.
  double planning_exposed_s = kNotThere;
  double gpu_days_with_planning = kNotThere;

  /// Of a run that may fail, spare units included; not there where the scenario has no failures, infinite
  /// where no end is to be expected. Means, and the times by which 5, 50 and 95 % of runs are done. All other
  /// times are those of a run on which nothing fails.
  double gpu_days_with_failures = kNotThere;
  double gpu_days_with_failures_p05 = kNotThere;
  double gpu_days_with_failures_p50 = kNotThere;
  double gpu_days_with_failures_p95 = kNotThere;
  double wall_hours_with_failures = kNotThere;
  double expected_failures = kNotThere;
  double checkpoint_interval_s = kNotThere;  ///< that was used
  double effective_fraction = kNotThere;     ///< shares of the wall time, which add up to 1: work
  double checkpoint_fraction = kNotThere;    ///< standing still for checkpoints
  double restart_fraction = kNotThere;
  double lost_fraction = kNotThere;  ///< work that a failure destroyed

  /// How well the time is known: shares of it by what the prices of its kernels rest on.
  double measured_fraction = 0;  ///< measured or interpolated
  double extrapolated_fraction = 0;
  double guessed_fraction = 0;  ///< nothing measured

  /// Samples and tokens that were not trained exactly once an epoch. Over-long and empty samples are counted
  /// for one epoch; what the last iterations leave out or repeat, and padding, over all epochs.
  std::int64_t dropped_samples = 0;
  std::int64_t dropped_tokens = 0;  ///< over-long samples times epochs, and packs of last iterations
  std::int64_t empty_samples = 0;
  std::int64_t truncated_samples = 0;
  std::int64_t truncated_tokens = 0;  ///< times epochs
  std::int64_t split_samples = 0;
  std::int64_t own_pack_samples = 0;
  std::int64_t repeated_tokens = 0;
  std::int64_t padded_tokens = 0;
  std::int64_t trained_tokens = 0;
  std::int64_t curriculum_iterations = 0;

  std::vector<LossBiasResult> loss_bias;  ///< [n_normalisers]; empty where nothing is trained

  std::vector<StepTimeBin> step_times;
  std::vector<SampledIteration> sampled_iterations;

  double packing_s = 0;  ///< measured on this machine; not part of the result
  double simulation_s = 0;
  /// Of a strategy that solves integer programs: mean seconds of this machine's for a global batch, and,
  /// where no time is set for them, planning_exposed_s with these.
  double solve_mean_s = kNotThere;
  double measured_planning_exposed_s = kNotThere;
};

/// A lower bound under one ZeRO stage, and what it consists of.
struct BoundResult {
  int zero_stage = 1;
  double gpu_days = 0;          ///< all below added up
  std::int64_t iterations = 0;  ///< the fewest, over all epochs
  double linear_gpu_days = 0;
  double attention_gpu_days = 0;
  double recompute_gpu_days = 0;  ///< that memory forces
  double exchange_gpu_days = 0;   ///< that nothing hides, inside ranks
  double overhead_gpu_days = 0;   ///< of the framework, in micro-batches
  double steps_gpu_days = 0;      ///< optimizer, framework and states of every step
  double waiting_gpu_days = 0;    ///< for samples that take longer than their step's share
};

/// Everything that the formats show.
struct Report {
  RunManifest manifest;
  LengthSummary lengths;
  std::string baseline;
  std::vector<StrategyResult> runs;
  /// Of the samples as the baseline trains them; the scenario's ZeRO stage first.
  std::vector<BoundResult> bounds;

  double total_s = 0;  ///< measured on this machine, like the two below
  std::int64_t peak_memory_bytes = 0;
};

}  // namespace packsim
