#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/fitting_change.hpp"
#include "experiment/results/mixture_result.hpp"
#include "experiment/results/strategy_result.hpp"
#include "models/parallel_plan.hpp"
#include "scenarios/beside_steps.hpp"
#include "sim/reliability/failure_model.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// Where a report comes from, in enough detail to make it again.
struct RunManifest {
  std::string version;
  std::string command;
  std::string scenario;  ///< path of the scenario file
  std::string scenario_name;
  std::string scenario_description;
  std::string scenario_hash;
  std::string scenario_text;  ///< the scenario as it was read, with changes of the command line
  std::string profile;        ///< name of the framework profile
  std::string profile_hash;
  std::string profile_source;
  std::string hardware;  ///< name of the hardware profile
  std::string hardware_hash;
  std::string level;  ///< how finely steps were simulated: step or op
  std::uint32_t seed = 0;
  std::string model;
  std::string cluster;
  std::string trainer;  ///< whose plans were chosen; empty: any plan might be
  int n_gpus = 0;
  std::optional<double> gpu_hour_price;  ///< none if the scenario gives no price
  std::optional<double> gpu_power_w;     ///< board power; none if the cluster does not state it
  int epochs = 1;
  std::int64_t tokens_per_iteration = 0;
  /// The parallel plan of all groups, except that each group has its own SP degree and checkpointed layers.
  ParallelPlan plan;
  Variability variability;
  std::optional<BesideSteps> beside_steps;  ///< none if a run is its steps alone
  std::optional<FailureModel> failures;     ///< none if the scenario has no failures
  std::vector<std::string> warnings;        ///< what a reader must know before believing the numbers
};

/// The samples of a data set by length.
struct LengthSummary {
  struct Source {
    std::string name;
    std::string hash;
    std::int64_t n_samples = 0;
    std::int64_t n_tokens = 0;
    std::int64_t repeated_samples = 0;  ///< samples that were drawn more than once
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

/// Everything that the formats show.
struct Report {
  RunManifest manifest;
  LengthSummary lengths;
  std::optional<MixtureSummary> mixture;  ///< of `lengths`, which are those of its draws
  std::string baseline;
  std::vector<StrategyResult> runs;
  /// What the strategy that chooses most freely takes where the trainer may be any; none without a trainer,
  /// and where no such plan was found.
  std::optional<StrategyResult> without_trainer;
  /// change_that_fits(), which the caller fills in; none where some run fits.
  std::optional<FittingSearch> fitting;
  /// Lower bounds for the samples as the baseline trains them; the scenario's ZeRO stage comes first.
  std::vector<BoundResult> bounds;

  double total_s = 0;                  ///< how long packsim itself ran on this machine
  std::int64_t peak_memory_bytes = 0;  ///< of packsim itself on this machine
};

}  // namespace packsim
