#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"
#include "packing/policies.hpp"
#include "packing/sequence_parallelism.hpp"
#include "packing/strategy.hpp"
#include "sim/reliability/failure_model.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// A group of packs and how it runs.
struct GroupSpec {
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  std::optional<int> gc_layers;  ///< none: the fewest that fit in memory
};

/// One strategy of a scenario, with every option and policy decided.
struct StrategySpec {
  std::string name;               ///< unique in the scenario
  std::string strategy;           ///< a name of the strategy table
  std::vector<GroupSpec> groups;  ///< ascending capacity; one unless the strategy takes several
  OptionValues options;
  OverLong over_long = OverLong::error;
  Empty empty = Empty::drop;
  std::int64_t window_samples = 0;
  Padding padding = Padding::none;
  std::int64_t pad_multiple_tokens = 1;
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  std::int64_t curriculum_iterations = 0;
  std::optional<int> micro_batches_per_rank;  ///< none: from the scenario's tokens_per_iteration
  /// That a strategy which chooses its groups may choose from; empty: the scenario's.
  std::vector<int> zero_stages = {};
  /// Longest sample of a strategy that chooses its groups; none: what fits.
  std::optional<std::int64_t> longest_tokens = {};
};

/// Where some of the lengths come from.
struct LengthSource {
  std::string path;                   ///< as found on disk
  std::string source;                 ///< as the scenario spells it
  std::optional<std::int64_t> count;  ///< draw so many samples; none: all of them, or by weight
  std::optional<double> weight;       ///< share of LengthSpec::count
};

struct LengthSpec {
  std::vector<LengthSource> mix;
  std::optional<std::int64_t> count;  ///< samples in all, where the mix has weights
  bool with_replacement = false;      ///< a source may be drawn from more often than it has samples
  bool shuffle = true;                ///< the mixed data set, seeded
};

struct TrainingSpec {
  std::int64_t tokens_per_iteration = 0;
  int epochs = 1;
  int zero_stage = 1;
};

/// The plan of a group that checkpoints so many layers.
ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers);

/// A whole experiment, fully typed.
struct Scenario {
  std::string path;
  std::string name;
  std::string description;
  std::uint32_t seed = 1024;
  Transformer model;
  Cluster cluster;
  FrameworkProfile profile;
  HardwareProfile hardware;
  bool is_model_of_profile = true;     ///< whose steps the framework profile was fitted to
  bool is_hardware_of_profile = true;  ///< that the framework profile's factors are on
  ParallelPlan plan;                   ///< of all groups, but for what a group says itself
  LengthSpec lengths;
  TrainingSpec training;
  Variability variability;               ///< none unless the scenario says so
  std::optional<FailureModel> failures;  ///< none: nothing fails
  std::string baseline;                  ///< the name of the strategy that speed-ups refer to
  std::vector<StrategySpec> strategies;

  std::string scenario_hash;  ///< of the file's bytes
  std::string profile_hash;
  std::string hardware_hash;
};

}  // namespace packsim
