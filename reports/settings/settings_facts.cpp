#include "reports/settings/settings_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/plan/plan_names.hpp"
#include "models/plan/trainer.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

using FactValue = std::optional<PlanValue>;
constexpr std::string_view kOffloadPrefix = "offload.";

struct Fact {
  std::string_view name;
  std::vector<std::string_view> parts;  // of the plan that it says
  FactValue (*value)(const TrainerJob& job);
};

FactValue integer(std::int64_t value) {
  return PlanValue(value);
}
FactValue word(std::string_view value) {
  return PlanValue(std::string(value));
}
FactValue flag(bool value) {
  return PlanValue(value);
}

int shards(const ParallelPlan& plan) {
  return plan.shard_degree > 0 ? plan.shard_degree : plan.state_gpus();
}

FactValue layers_checkpointed(const TrainerJob& job) {
  if (job.plan.gc_layers == 0) return word("none");
  return job.plan.gc_layers == job.model.n_layers ? word("all") : std::nullopt;
}

// What checkpointed layers recompute; "modules" where these are listed.
FactValue recomputed(const TrainerJob& job) {
  if (job.plan.gc_layers == 0) return word("none");
  const auto* const named =
      std::ranges::find(kCheckpointingNames, job.plan.checkpointing, &PolicyName<Checkpointing>::value);
  return word(named == kCheckpointingNames.end() ? "modules" : named->name);
}

// The same where it is of all layers or none.
FactValue recomputed_everywhere(const TrainerJob& job) {
  return layers_checkpointed(job) ? recomputed(job) : std::nullopt;
}

FactValue recomputed_modules(const TrainerJob& job) {
  std::vector<std::string> modules;
  for (const LayerModuleKind& kind : kLayerModules) {
    if (job.plan.recomputed_modules.has(kind.module)) modules.emplace_back(kind.name);
  }
  return PlanValue(modules);
}

// Ulysses alone, ring attention alone, or both; or keys and values that are gathered.
FactValue sequence_kind(const TrainerJob& job) {
  const SequenceParallelism& sequence = job.plan.sequence;
  if (sequence.ring == 1) return word(sequence.ulysses == 1 ? "none" : "ulysses");
  if (job.plan.gathers_keys()) return sequence.ulysses == 1 ? word("gather") : std::nullopt;
  return word(sequence.ulysses == 1 ? "ring" : "both");
}

FactValue layers_of_chunk(const TrainerJob& job) {
  const int chunks = job.plan.n_chunks();
  if (!job.plan.chunk_layers.empty() || job.model.n_layers % chunks != 0) return std::nullopt;
  return integer(job.model.n_layers / chunks);
}

// As Megatron-LM's --pipeline-model-parallel-layout: E is the embedding, t a layer, L the loss.
FactValue pipeline_layout(const TrainerJob& job) {
  if (job.plan.chunk_layers.empty()) return std::nullopt;
  std::string layout = "E";
  for (const int& layers : job.plan.chunk_layers) {
    if (&layers != job.plan.chunk_layers.data()) layout += "|";
    if (layers > 0) layout += fmt::format("t*{}", layers);
  }
  return word(layout + "L");
}

// All chunks of a pipeline checkpoint the same number of layers.
FactValue checkpointed_of_chunk(const TrainerJob& job) {
  const int chunks = job.plan.n_chunks();
  return integer((job.plan.gc_layers + chunks - 1) / chunks);
}

FactValue every_nth(const TrainerJob& job) {
  const std::optional<int> n = every_nth_layer(job.model.n_layers, job.plan.gc_layers);
  return n ? integer(*n) : std::nullopt;
}

FactValue states_offloaded(const TrainerJob& job) {
  switch (offloaded_states(job.plan)) {
    case StatesOffloaded::none:
      return word("none");
    case StatesOffloaded::some:
      return word("some");
    case StatesOffloaded::all:
      return word("all");
  }
  return std::nullopt;
}

FactValue micro_batches(const TrainerJob& job) {
  return job.micro_batches_per_rank ? integer(*job.micro_batches_per_rank) : std::nullopt;
}

FactValue packs_of_step(const TrainerJob& job) {
  if (!job.micro_batches_per_rank) return std::nullopt;
  return integer(std::int64_t{*job.micro_batches_per_rank} * job.plan.dp_degree());
}

const std::vector<Fact>& facts() {
  static const std::vector<Fact> kFacts = {
      {"nodes", {}, [](const TrainerJob& job) { return integer(job.nodes); }},
      {"gpus_per_node", {}, [](const TrainerJob& job) { return integer(job.plan.n_gpus / job.nodes); }},
      {"epochs", {}, [](const TrainerJob& job) { return integer(job.epochs); }},
      {"has_experts", {}, [](const TrainerJob& job) { return flag(job.model.has_experts()); }},
      {"strategy", {}, [](const TrainerJob& job) { return word(job.strategy); }},
      {"packs_itself", {}, [](const TrainerJob& job) { return flag(job.packs_itself); }},
      {"feeds_rows", {}, [](const TrainerJob& job) { return flag(feeds_rows(job)); }},
      {"pack_tokens", {"pack_tokens"}, [](const TrainerJob& job) { return integer(job.capacity_tokens); }},
      {"micro_batches", {"micro_batches"}, micro_batches},
      {"step_packs", {"micro_batches"}, packs_of_step},
      {"has_pipeline", {}, [](const TrainerJob& job) { return flag(job.plan.pp_degree > 1); }},
      {"sequence_gpus",
       {"sp_degree", "cp_degree"},
       [](const TrainerJob& job) { return integer(job.plan.sequence.gpus_per_pack()); }},
      {"sequence_kind", {"cp_exchange"}, sequence_kind},
      {"sequence_degrees",
       {"sp_degree", "cp_degree"},
       [](const TrainerJob& job) -> FactValue {
         return PlanValue(std::vector<int>{job.plan.sequence.ulysses, job.plan.sequence.ring});
       }},
      {"dp_degree", {}, [](const TrainerJob& job) { return integer(job.plan.dp_degree()); }},
      {"shards", {"shard_degree"}, [](const TrainerJob& job) { return integer(shards(job.plan)); }},
      {"dp_shards",
       {"shard_degree", "cp_degree"},
       [](const TrainerJob& job) { return integer(shards(job.plan) / job.plan.sequence.gpus_per_pack()); }},
      {"replicas",
       {"shard_degree"},
       [](const TrainerJob& job) { return integer(std::max(1, job.plan.state_gpus() / shards(job.plan))); }},
      {"layers_of_chunk", {"virtual_stages"}, layers_of_chunk},
      {"pipeline_layout", {"chunk_layers", "virtual_stages"}, pipeline_layout},
      {"layers_checkpointed", {"gc_layers"}, layers_checkpointed},
      {"every_nth_checkpointed", {"gc_layers"}, every_nth},
      {"checkpointed_of_chunk", {"gc_layers"}, checkpointed_of_chunk},
      {"checkpointed_fraction",
       {"gc_layers"},
       [](const TrainerJob& job) -> FactValue {
         return PlanValue(static_cast<double>(job.plan.gc_layers) / job.model.n_layers);
       }},
      {"recomputed", {"checkpointing"}, recomputed},
      {"recomputed_everywhere", {"checkpointing", "gc_layers"}, recomputed_everywhere},
      {"recomputed_modules", {"checkpointing"}, recomputed_modules},
      // How many tiles, such a trainer chooses itself.
      {"tiles_mlp", {"mlp_tiles"}, [](const TrainerJob& job) { return flag(job.plan.mlp_tiles > 1); }},
      {"states_offloaded", {"offload.optimizer", "offload.weights", "offload.gradients"}, states_offloaded},
      {"schedule",
       {"pipeline_schedule"},
       [](const TrainerJob& job) { return word(job.plan.schedule().name); }},
      {"expert_tp_degree",
       {"splits_experts"},
       [](const TrainerJob& job) { return integer(job.plan.expert_tp_degree()); }},
  };
  return kFacts;
}

const Fact* find_fact(std::string_view name) {
  const auto found = std::ranges::find(facts(), name, &Fact::name);
  return found == facts().end() ? nullptr : &*found;
}

// The row of "offload.optimizer"; null for other facts.
const OffloadName* offload_of(std::string_view fact) {
  if (!fact.starts_with(kOffloadPrefix)) return nullptr;
  const auto* const found =
      std::ranges::find(kOffloadNames, fact.substr(kOffloadPrefix.size()), &OffloadName::name);
  return found == kOffloadNames.end() ? nullptr : found;
}

// Keys that a trainer is told, beside those in which trainers differ.
constexpr std::array<std::string_view, 10> kToldKeys = {
    "gc_layers",       "lora_rank",      "frozen_weights",  "precision",       "pipeline_schedule",
    "expert_dispatch", "fp32_gradients", "overlaps_states", "overlaps_gather", "overlaps_tensor"};

void add_key(const TrainerJob& job, std::string_view name, std::vector<PlanPartSaid>& parts) {
  const PlanKey& key = *find_plan_key(name);
  const PlanValue value = key.get(job.plan);
  if (name != "zero_stage" && value == default_value(key)) return;
  std::string text(key.said);
  const std::size_t place = text.find("{}");
  if (place != std::string::npos) text.replace(place, 2, plan_value_text(value));
  parts.push_back({.name = std::string(name), .text = text});
}

}  // namespace

bool feeds_rows(const TrainerJob& job) {
  return !job.packs_itself && job.plan.rank_gpus() > 1;
}

std::optional<PlanValue> fact_of(const TrainerJob& job, std::string_view name) {
  if (const Fact* fact = find_fact(name)) return fact->value(job);
  if (const OffloadName* offload = offload_of(name)) return flag(job.plan.offload.*offload->state);
  const PlanKey* const key = find_plan_key(name);
  return key == nullptr ? std::nullopt : FactValue(key->get(job.plan));
}

bool is_fact(std::string_view name) {
  return find_fact(name) != nullptr || offload_of(name) != nullptr || find_plan_key(name) != nullptr;
}

std::vector<std::string> parts_said_by(std::string_view name) {
  if (const Fact* fact = find_fact(name)) return {fact->parts.begin(), fact->parts.end()};
  return {std::string(name)};
}

std::vector<PlanPartSaid> parts_to_say(const TrainerJob& job) {
  std::vector<PlanPartSaid> parts;
  for (const std::string_view key : kTrainerKeys) {
    if (key == "offload") continue;
    if (key == "checkpointing" && job.plan.gc_layers == 0) continue;
    if (key == "shard_degree" && shards(job.plan) == job.plan.state_gpus()) continue;
    add_key(job, key, parts);
  }
  for (const std::string_view key : kToldKeys) add_key(job, key, parts);
  for (const OffloadName& offload : kOffloadNames) {
    const bool does_nothing = offload.state == &Offload::activations && job.plan.gc_layers == 0;
    if (job.plan.offload.*offload.state && !does_nothing)
      parts.push_back({fmt::format("{}{}", kOffloadPrefix, offload.name),
                       fmt::format("{} in host memory", offload.name)});
  }
  // A trainer that loads a schedule file takes packs and their numbers from it. One that forms micro-batches
  // of its own takes as many as there are.
  if (job.packs_itself && job.strategy != "none")
    parts.push_back({"pack_tokens", fmt::format("packs of up to {} tokens", job.capacity_tokens)});
  const Strategy* const strategy = find_strategy(job.strategy);
  const bool forms_iterations = strategy != nullptr && strategy->forms_iterations();
  if (job.packs_itself && job.micro_batches_per_rank && !forms_iterations)
    parts.push_back({"micro_batches", fmt::format("{} micro-batches", *job.micro_batches_per_rank)});
  return parts;
}

}  // namespace packsim
