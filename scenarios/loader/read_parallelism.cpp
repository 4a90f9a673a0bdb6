#include "models/plan_names.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/models/model_limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

const PipelineSchedule* read_schedule(JsonReader& reader, const PipelineSchedule* before) {
  constexpr std::string_view kKey = "pipeline_schedule";
  if (!reader.has(kKey)) return before;
  std::vector<std::string> names;
  for (const PipelineSchedule* schedule : pipeline_schedules()) names.emplace_back(schedule->name);
  return pipeline_schedules()[reader.one_of(kKey, names)];
}

}  // namespace

ParallelPlan read_parallelism(JsonReader reader, ParallelPlan plan) {
  constexpr int kMostStages = 4096;
  constexpr int kMostRank = 65'536;
  constexpr int kMostTiles = 65'536;
  constexpr std::int64_t kMostBucketElements = 1'000'000'000'000;

  plan.tp_degree = reader.integer("tp_degree", 1, kMostGpus, plan.tp_degree);
  plan.pp_degree = reader.integer("pp_degree", 1, kMostStages, plan.pp_degree);
  plan.virtual_stages = reader.integer("virtual_stages", 1, kMostStages, plan.virtual_stages);
  plan.pipeline_schedule = read_schedule(reader, plan.pipeline_schedule);
  const std::vector<int> chunk_layers = reader.integers("chunk_layers", 0, kMostLayers);
  if (reader.has("chunk_layers")) plan.chunk_layers = chunk_layers;
  plan.ep_degree = reader.integer("ep_degree", 1, kMostGpus, plan.ep_degree);
  plan.expert_dispatch = reader.one_of("expert_dispatch", kExpertDispatchNames, plan.expert_dispatch);
  if (reader.has("expert_imbalance")) plan.expert_imbalance = reader.number("expert_imbalance", 1, kMostGpus);
  plan.shard_degree = reader.integer("shard_degree", 0, kMostGpus, plan.shard_degree);
  plan.ring_layout = reader.one_of("ring_layout", kRingLayoutNames, plan.ring_layout);
  read_checkpointing(reader, plan);
  plan.offload = read_offload(reader, plan.offload);
  read_lora(reader, kMostRank, plan);
  read_precision(reader, plan);
  plan.latent_exchange = reader.boolean("latent_exchange", plan.latent_exchange);
  plan.uneven_heads = reader.boolean("uneven_heads", plan.uneven_heads);
  plan.mlp_tiles = reader.integer("mlp_tiles", 1, kMostTiles, plan.mlp_tiles);
  plan.loss_tiles = reader.integer("loss_tiles", 1, kMostTiles, plan.loss_tiles);
  ExecutionStyle& execution = plan.execution;
  if (reader.has("launch_s")) execution.launch_s = reader.number("launch_s", 0, 1);
  execution.overlaps_states = reader.boolean("overlaps_states", execution.overlaps_states);
  execution.overlaps_gather = reader.boolean("overlaps_gather", execution.overlaps_gather);
  execution.overlaps_tensor = reader.boolean("overlaps_tensor", execution.overlaps_tensor);
  execution.fp32_gradients = reader.boolean("fp32_gradients", execution.fp32_gradients);
  execution.recompute_stops_early = reader.boolean("recompute_stops_early", execution.recompute_stops_early);
  execution.plain_gradients = reader.boolean("plain_gradients", execution.plain_gradients);
  execution.bucket_elements =
      reader.integer("bucket_elements", 1, kMostBucketElements, execution.bucket_elements);
  return plan;
}

}  // namespace packsim
