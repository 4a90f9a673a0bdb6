#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "models/plan/plan_key.hpp"
#include "models/plan/settings_file.hpp"
#include "packing/policies/policies.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// The numbers of layers that a trainer can checkpoint.
enum class LayerCounts : std::uint8_t { all_or_none, every_nth, any_of_whole, any };
inline constexpr std::array<PolicyName<LayerCounts>, 4> kLayerCountNames = {{
    {LayerCounts::all_or_none, "all_or_none", "all layers or none"},
    {LayerCounts::every_nth, "every_nth", "the first of every n layers, for any n, or none"},
    {LayerCounts::any_of_whole, "any_of_whole",
     "any number if layers are checkpointed whole, else all layers or none"},
    {LayerCounts::any, "any", "any number"},
}};

/// How the numbers of micro-batches of a trainer's ranks and steps may differ.
enum class MicroBatchCounts : std::uint8_t { run, step, any };
inline constexpr std::array<PolicyName<MicroBatchCounts>, 3> kMicroBatchCountNames = {{
    {MicroBatchCounts::run, "run", "one number for all ranks and all steps of a run"},
    {MicroBatchCounts::step, "step", "one number for all ranks of a step"},
    {MicroBatchCounts::any, "any", "each rank of each step has its own"},
}};

/// Whether the packs of a run may have several pack lengths, or several degrees of sequences.
enum class Variety : std::uint8_t { one, many };
inline constexpr std::array<PolicyName<Variety>, 2> kVarietyNames = {{
    {Variety::one, "one", "one in a run"},
    {Variety::many, "many", "several in a run"},
}};

/// What goes to host memory together or not at all.
enum class OffloadedTogether : std::uint8_t { none, gradients, states };
inline constexpr std::array<PolicyName<OffloadedTogether>, 3> kOffloadedTogetherNames = {{
    {OffloadedTogether::none, "none", "nothing"},
    {OffloadedTogether::gradients, "gradients", "gradients with the optimizer, from ZeRO 2 on"},
    {OffloadedTogether::states, "states", "optimizer, gradients and, under ZeRO 3, weights"},
}};

/// The keys of a plan whose values differ between trainers, beside gc_layers.
inline constexpr std::array<std::string_view, 18> kTrainerKeys = {
    "zero_stage",     "shard_degree",         "tp_degree",     "pp_degree",
    "virtual_stages", "chunk_layers",         "ep_degree",     "sp_degree",
    "cp_degree",      "cp_exchange",          "checkpointing", "offload",
    "mlp_tiles",      "loss_tiles",           "uneven_heads",  "latent_exchange",
    "fp8_gather",     "optimizer_in_backward"};

/// The values of one key that a trainer can run beside the default; of ZeRO stages and of `cp_exchange`,
/// where GPUs exchange keys and values, these alone.
struct KeyLimit {
  const PlanKey* key = nullptr;
  std::vector<PlanValue> values = {};  ///< empty: any
};

/// One of the ways in which a trainer runs a plan, such as FSDP2. A key without a limit has its default.
struct TrainerWay {
  std::string name;
  std::vector<KeyLimit> limits = {};  ///< of kTrainerKeys
  LayerCounts checkpointed_layers = LayerCounts::all_or_none;
  /// Whether GPUs that share a pack by Ulysses may be more than the key-value heads of one of them.
  bool copies_key_value_heads = true;
  /// Whether a group of GPUs may gather keys and values beside Ulysses.
  bool gathers_beside_ulysses = false;
  /// Whether Ulysses takes as many of the GPUs that share a pack as the key-value heads allow, and a ring the
  /// rest.
  bool ulysses_first = false;
  OffloadedTogether offloaded_together = OffloadedTogether::none;
  std::vector<SettingsFile> settings = {};  ///< the files that say a plan
};

/// What a trainer can run: a file of models/trainers.
struct Trainer {
  std::string name;    ///< as its users call it
  std::string source;  ///< the versions that were read
  std::string stack;   ///< TrainingStack::name: how it executes steps, unless a scenario says so
  MicroBatchCounts micro_batches = MicroBatchCounts::any;
  Variety pack_lengths = Variety::many;
  Variety degrees = Variety::many;  ///< of sequences
  bool takes_plans = true;          ///< whether it trains packs that were made beforehand, in their order
  /// Strategies that are its own, which it runs whatever else it cannot.
  std::vector<std::string> own_strategies = {};
  std::string not_priced = {};  ///< what it can run and packsim does not price, for people
  std::vector<TrainerWay> ways = {};

  bool is_own(std::string_view strategy) const;
};

/// The n of which the first of every n layers are that many; none if there is no such n.
std::optional<int> every_nth_layer(int n_layers, int gc_layers);

/// How much of what ZeRO shards is in host memory.
enum class StatesOffloaded : std::uint8_t { none, some, all };
StatesOffloaded offloaded_states(const ParallelPlan& plan);

/// The way in short: "FSDP2 (zero_stage 2, 3; tp_degree)", with the values of a key unless these are any.
std::string way_text(const TrainerWay& way);

/// Why a trainer cannot run a plan, in the way that comes closest to it; empty if it can. gc_layers counts.
/// Null: any plan can be run.
std::vector<PlanMistake> trainer_mistakes(const Trainer* trainer, const Transformer& model,
                                          const ParallelPlan& plan);

/// The first way in which a trainer can run the plan; null if it cannot in any.
const TrainerWay* way_of(const Trainer& trainer, const Transformer& model, const ParallelPlan& plan);

/// The fewest checkpointed layers of at least `least` with which the trainer can run the plan; `least` where
/// it cannot run it with any.
int trainer_layers(const Trainer* trainer, const Transformer& model, ParallelPlan plan, int least);

/// What a trainer cannot run of a strategy, as "a strategy ...: expected"; empty if it can. Whether it is
/// restricted to one group of packs is not asked.
std::string trainer_refusal(const Trainer* trainer, const Strategy& strategy);

}  // namespace packsim
