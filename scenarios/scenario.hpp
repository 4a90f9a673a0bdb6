#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/parallel_plan.hpp"
#include "models/plan/trainer.hpp"
#include "models/transformer.hpp"
#include "packing/policies/policy_table.hpp"
#include "packing/sequence_parallelism.hpp"
#include "packing/strategy.hpp"
#include "scenarios/beside_steps.hpp"
#include "scenarios/mixing_spec.hpp"
#include "sim/reliability/failure_model.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// A group of packs and how it runs.
struct GroupSpec {
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  std::optional<int> gc_layers;  ///< if not set, the fewest that fit in memory

  bool operator==(const GroupSpec&) const = default;
};

/// One strategy of a scenario, with every option and policy decided.
struct StrategySpec : Policies {
  std::string name;      ///< unique in the scenario
  std::string strategy;  ///< Strategy::name
  /// Groups in ascending order of capacity; one, unless the strategy takes several.
  std::vector<GroupSpec> groups;
  OptionValues options;
  /// The parallel plan of its groups, except for what a GroupSpec says; if not set, the scenario's.
  std::optional<ParallelPlan> plan = {};
  /// Whether packsim searches the strategy's plan (find_plan()). `groups` is then empty or, for hbp, has
  /// groups that are tried too.
  bool searches_plan = false;
  /// Seconds by the clock that the search may take; none: as long as it takes.
  std::optional<double> search_time_limit_s = {};
  // Values to try where the plan is searched, and ZeRO stages also by a strategy that chooses its groups;
  // empty: those of the dimension (scenarios/search_space).
  std::vector<int> zero_stages = {};
  std::vector<int> shard_degrees = {};
  std::vector<int> tp_degrees = {};
  std::vector<int> pp_degrees = {};
  std::vector<int> virtual_stage_counts = {};
  std::vector<int> ep_degrees = {};
  std::vector<int> cp_exchanges = {};
  std::vector<int> checkpointing_kinds = {};
  std::vector<int> offloads = {};
  std::vector<int> mlp_tile_counts = {};
  std::vector<int> loss_tile_counts = {};
  std::vector<int> precisions = {};
  /// Longest sample, for the same strategies; if not set, the longest that fits in memory. The loader sets it
  /// to the largest capacity of the scenario's other strategies where the file does not.
  std::optional<std::int64_t> longest_tokens = {};
};

/// The row of the strategy table that it names.
const Strategy& strategy_of(const StrategySpec& spec);
/// Whether the strategy forms whole iterations; otherwise it only packs.
bool forms_iterations(const StrategySpec& spec);
/// Whether the strategy chooses its groups by its own prices.
bool chooses_groups(const StrategySpec& spec);
/// Whether the scenario leaves the groups of the strategy open: they are chosen when it is planned.
bool has_open_groups(const StrategySpec& spec);

/// The samples of a source.
struct SourceLengths {
  std::string hash;  ///< of the file's bytes; without a file, of the lengths' (32 bits each)
  std::vector<std::int32_t> lengths_tokens;  ///< [n_samples], in the order of the source
};

/// A source of lengths.
struct LengthSource {
  std::string path;    ///< as found on disk
  std::string source;  ///< as the scenario spells it
  /// Number of samples to draw; if not set, all of them, or as many as the weight says.
  std::optional<std::int64_t> count;
  std::optional<double> weight;              ///< share of LengthSpec::count to draw from this source
  std::string name = {};                     ///< of the subset under MixingSpec; unique there
  GroupCut groups = {};                      ///< only under MixingSpec, as the next one
  std::optional<double> mixing_weight = {};  ///< of the subset, for policies with weights
  /// Lengths that replace the file (with_lengths()); null: read the file at `path`.
  std::shared_ptr<const SourceLengths> given = {};
};

struct LengthSpec {
  std::vector<LengthSource> mix;
  std::optional<std::int64_t> count;  ///< total number of samples, if the mix has weights
  bool with_replacement = false;      ///< whether a sample of a source may be drawn more than once
  /// Whether to shuffle the mixed data set, with the scenario's seed.
  bool shuffle = true;
};

/// Whether sample i of the job is the i-th of the length files, one file after another.
bool keeps_data_order(const LengthSpec& lengths);

struct TrainingSpec {
  std::int64_t tokens_per_iteration = 0;
  int epochs = 1;
  int zero_stage = 1;
};

/// The parallel plan of a group with this number of checkpointed layers.
ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers);

/// A strategy with mistakes.
struct RefusedStrategy {
  std::string name;
  std::vector<std::string> messages;
};

/// A whole scenario after reading and checking.
struct Scenario {
  std::string path;
  std::string name;
  std::string description;
  std::uint32_t seed = 1024;
  Transformer model;
  Cluster cluster;
  FrameworkProfile profile;
  HardwareProfile hardware;
  /// Whether the framework profile was fitted to steps of this model.
  bool is_model_of_profile = true;
  /// Whether the framework profile's factors are relative to this hardware profile.
  bool is_hardware_of_profile = true;
  ParallelPlan plan;  ///< of all groups, except for what a GroupSpec says
  /// What plans have to run in; null: any plan may be chosen.
  std::shared_ptr<const Trainer> trainer = {};
  LengthSpec lengths;
  std::optional<MixingSpec> mixing;  ///< if not set, every sample is trained once in each epoch
  TrainingSpec training;
  Variability variability;                  ///< no variability unless the scenario has some
  std::optional<FailureModel> failures;     ///< if not set, nothing fails
  std::optional<BesideSteps> beside_steps;  ///< if not set, a run is its steps alone
  /// False: a what-if in which no rank waits for another (SimulationOptions::ranks_wait). Exchange that is
  /// free in a what-if is in profile.factors.
  bool ranks_wait = true;
  std::string baseline;  ///< the name of the strategy that speed-ups refer to
  std::vector<StrategySpec> strategies;
  /// Strategies that were left out, as the cluster or the model does not allow them
  /// (MistakenStrategies::leave_out).
  std::vector<RefusedStrategy> refused_strategies;

  /// Hash of the bytes of the scenario file, or of what a command line has made of it.
  std::string scenario_hash;
  std::string scenario_text;                           ///< the same as indented JSON, without comments
  std::shared_ptr<const nlohmann::ordered_json> json;  ///< what was read
  std::string profile_hash;
  std::string hardware_hash;
  /// The files that it names, such as models, clusters and profiles, with the hash of their bytes.
  std::map<std::string, std::string> files;
};

/// The parallel plan of the strategy's groups, except for what a GroupSpec says.
const ParallelPlan& base_plan(const Scenario& scenario, const StrategySpec& spec);
/// Whether the scenario's trainer has one degree of sequences in a run.
bool has_one_degree(const Scenario& scenario);
/// Whether any strategy of the scenario has one.
bool has_pipeline(const Scenario& scenario);

/// How `what_if.free` names waits of ranks for each other; exchange has the names of its causes.
inline constexpr std::string_view kFreeWaiting = "waiting";
/// What costs nothing, as `what_if.free` names it; nothing unless the scenario is a what-if.
std::vector<std::string_view> free_names(const Scenario& scenario);

}  // namespace packsim
