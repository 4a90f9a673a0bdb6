#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string deepspeed_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  nlohmann::ordered_json zero = {{"stage", plan.zero_stage},
                                 {"overlap_comm", plan.execution.overlaps_states},
                                 {"reduce_bucket_size", plan.execution.bucket_elements}};
  if (plan.offload.optimizer) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (plan.offload.weights) zero["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
  nlohmann::ordered_json json = {{"train_micro_batch_size_per_gpu", 1},
                                 {"gradient_accumulation_steps", job.micro_batches_per_rank},
                                 {"bf16", {{"enabled", true}}},
                                 {"zero_optimization", zero}};
  if (plan.execution.fp32_gradients) json["data_types"] = {{"grad_accum_dtype", "fp32"}};
  if (plan.sequence.ulysses > 1) json["sequence_parallel_size"] = plan.sequence.ulysses;
  return json.dump(2) + "\n";
}

std::vector<std::string> deepspeed_unsaid(const TrainerJob& job) {
  std::vector<std::string> unsaid = {fmt::format(
      "Packs of up to {} tokens are the data loader's (trl.yaml, axolotl.yaml).", job.capacity_tokens)};
  for (const std::string& sentence : no_model_parallelism(job)) unsaid.push_back(sentence);
  if (job.plan.sequence.ring > 1)
    unsaid.push_back(
        fmt::format("Ring attention over {} GPUs: DeepSpeed has Ulysses alone.", job.plan.sequence.ring));
  if (job.plan.gc_layers > 0)
    unsaid.push_back(fmt::format("Checkpointing {} of {} layers is the model's to switch on.",
                                 job.plan.gc_layers, job.n_layers));
  if (job.plan.shard_degree > 0 && job.plan.zero_stage > 0)
    unsaid.push_back(
        fmt::format("Shards over {} GPUs with replicas: DeepSpeed shards over all (zero_hpz_partition_size "
                    "is for weights "
                    "of stage 3 alone).",
                    job.plan.shard_degree));
  return unsaid;
}

}  // namespace packsim::settings_detail
