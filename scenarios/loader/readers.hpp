#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/plan_key.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/price_list.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

// Each reads one kind of object and leaves what is wrong with it in the reader's problems.

/// Reads the whole file, whatever is wrong with parts of it; paths may be relative to its folder. problems:
/// the reader's.
Scenario read_scenario(JsonReader reader, const std::string& folder, const DataPaths& data,
                       Problems& problems);
/// One of our model files, or a Hugging Face config.json.
Transformer read_model(JsonReader reader);
/// What a file of models/gpus says.
Gpu read_gpu(JsonReader reader);
/// The type of a cluster, with the GPU that it names: a file of models/gpus, or a path, which may be relative
/// to the cluster's file. How many nodes there are is the scenario's to say. problems: the reader's.
Cluster read_cluster_type(JsonReader reader, const DataPaths& data, Problems& problems);
/// What a scenario's cluster has in other numbers than its type: GPUs of a node, memory of a GPU, links. Its
/// name then says so. What the type has to allow is not checked where it could not be read.
void read_cluster_changes(JsonReader& of_cluster, bool type_is_read, Cluster& cluster);
FrameworkProfile read_profile(JsonReader reader);
/// A file of models/trainers, with the files of models/trainers/settings that it names: shipped names, or
/// paths, which may be relative to the trainer's file. problems: the reader's.
Trainer read_trainer(JsonReader reader, const DataPaths& data, Problems& problems);
/// A file of models/trainers/settings.
SettingsFile read_settings_file(JsonReader reader);
/// A hardware profile alone.
HardwareProfile read_hardware_profile(JsonReader reader);
/// The same with the data sheet of its GPU and the profile that it names for missing kernels: a shipped name,
/// or a path, which may be relative to the profile's file. problems: the reader's.
HardwareProfile read_hardware_profile(JsonReader reader, const DataPaths& data, Problems& problems);
/// What `packsim recommend --prices` takes.
PriceList read_price_list(JsonReader reader);
TrainingSpec read_training(JsonReader reader);
/// The value of the option, or the one before if it is missing.
OptionValue read_option_value(JsonReader& reader, const Option& option, const OptionValue& before);
/// Reads one key of a plan. If it is missing or refused, the plan stays as it is.
void read_plan_value(JsonReader& reader, const PlanKey& key, ParallelPlan& plan);
/// "parallelism": what is not said by a group (PlanPart::group). Keys that are missing leave the plan as it
/// is.
ParallelPlan read_parallelism(JsonReader reader, ParallelPlan plan);
/// "variability": of the cluster's n_gpus GPUs. seed: the scenario's, unless it says its own.
Variability read_variability(JsonReader reader, std::uint32_t seed, int n_gpus);
/// "what_if" of a scenario whose other members have been read: exchange and waits that cost nothing.
void read_what_if(JsonReader reader, Scenario& scenario);
/// has_mixture: whether sources may have groups and weights of a mixture.
LengthSpec read_length_spec(JsonReader reader, const std::string& scenario_folder, const DataPaths& data,
                            bool has_mixture);

/// "mixing" of a scenario whose lengths have been read: nothing of a silent reader. problems: the reader's.
std::optional<MixingSpec> read_mixing(JsonReader reader, const LengthSpec& lengths,
                                      const TrainingSpec& training, std::uint32_t seed,
                                      const std::string& scenario_folder, const DataPaths& data,
                                      Problems& problems);
/// A file of JSON lines with what a mixture did in a training: `{"step": 200, "probabilities": {"subsets":
/// {"easy": 0.6, ...}, "groups": {"easy": [0.5, 0.5], ...}}, "rewards": {"subsets": ..., "groups": ...}}`.
/// Either member, and the groups of either, may be missing. Fills in what a mixture of these subsets takes
/// from it: the rows with probabilities, and those with rewards.
void read_mixing_trace(const std::string& path, const LengthSpec& lengths, Problems& problems,
                       MixingSpec& mixing);

/// What the plan of a strategy has to fit. A null pointer where that could not be read itself.
struct PlanContext {
  const Transformer* model = nullptr;
  const Cluster* cluster = nullptr;
  ParallelPlan plan = {};                      ///< the scenario's
  std::vector<std::string> refused_keys = {};  ///< of the plan
  const Trainer* trainer = nullptr;            ///< null: any plan
  bool has_mixture = false;                    ///< whether the scenario has "mixing"
};

/// The most seconds that a scenario says of anything.
inline constexpr double kMostSeconds = 1e9;

/// How a checkpoint is written.
struct CheckpointWrite {
  double write_s = 0;
  double blocking_fraction = 1;       ///< FailureModel::checkpoint_blocking_fraction
  std::optional<double> load_s = {};  ///< to read it again, where that follows from its size

  double blocking_s() const { return blocking_fraction * write_s; }
};

/// The keys of "checkpoint" that say how one is written. context: the model that it holds.
CheckpointWrite read_checkpoint_write(JsonReader& reader, const PlanContext& context);
/// "failures": nothing of a silent reader. context: the cluster whose nodes fail, and the model that a
/// checkpoint holds.
std::optional<FailureModel> read_failures(JsonReader reader, const PlanContext& context);
/// "beside_steps": nothing of a silent reader. has_failures: whether the scenario has failures, whose
/// checkpoints are counted with them.
std::optional<BesideSteps> read_beside_steps(JsonReader reader, const PlanContext& context,
                                             bool has_failures);
/// The members "packing" and "strategies" of a scenario.
std::vector<StrategySpec> read_strategies(JsonReader& scenario, std::uint32_t seed,
                                          const PlanContext& context);

}  // namespace packsim
