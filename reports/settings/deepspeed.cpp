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
  const std::string gradients = plan.execution.fp32_gradients ? "fp32" : "bf16";
  json["data_types"] = {{"grad_accum_dtype", gradients}};
  json["communication_data_type"] = gradients;
  json["seq_parallel_communication_data_type"] = gradients;
  return json.dump(2) + "\n";
}

Sentences deepspeed_unsaid(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  Sentences unsaid = {fmt::format("Packs of up to {} tokens are the data loader's.", job.capacity_tokens)};
  for (const std::string& sentence : beyond_hugging_face(job)) unsaid.push_back(sentence);
  add_sequence(
      job,
      fmt::format(
          "Ulysses is set up in code, or by Accelerate (distributed_type: DEEPSPEED, "
          "parallelism_config_sp_size: {}, parallelism_config_sp_backend: deepspeed); DeepSpeed has no "
          "ring attention.",
          plan.sequence.ulysses),
      unsaid);
  add_if(
      plan.gc_layers > 0,
      fmt::format("Checkpointing {} of {} layers is the model's to switch on.", plan.gc_layers, job.n_layers),
      unsaid);
  add_if(plan.shard_degree > 0 && plan.zero_stage > 0,
         fmt::format("Shards over {} GPUs with replicas are not said: DeepSpeed shards over all.",
                     plan.shard_degree),
         unsaid);
  return unsaid;
}

}  // namespace packsim::settings_detail
