#include <fmt/format.h>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string axolotl_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  const int sequence = plan.sequence.gpus_per_pack();
  std::string text = fmt::format(
      "# Beside base_model and datasets. Without schedule.plan, leave packsim_plan out: the plugin packs.\n"
      "plugins:\n"
      "  - packsim.trainers.axolotl.PacksimPlugin\n"
      "packsim_plan: schedule.plan\n"
      "sample_packing: false\n"
      "sequence_len: {}\n"
      "micro_batch_size: 1\n"
      "gradient_accumulation_steps: {}\n"
      "num_epochs: {}\n"
      "bf16: true\n"
      "attn_implementation: flash_attention_2\n"
      "gradient_checkpointing: {}\n",
      job.capacity_tokens, job.micro_batches_per_rank, job.epochs, yes_no(plan.gc_layers > 0));
  // Its other ways ignore where documents end.
  if (sequence > 1)
    text += fmt::format("context_parallel_size: {}\nring_attn_func: varlen_llama3\n", sequence);
  if (plan.tp_degree > 1) text += fmt::format("tensor_parallel_size: {}\n", plan.tp_degree);
  if (!is_fsdp(job)) return text + "deepspeed: deepspeed.json\n";
  if (plan.shard_degree > 0 && sequence == 1) text += fmt::format("dp_shard_size: {}\n", plan.shard_degree);
  return text + fmt::format(
                    "fsdp_version: 2\n"
                    "fsdp_config:\n"
                    "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                    "  reshard_after_forward: {}\n"
                    "  offload_params: {}\n",
                    yes_no(plan.zero_stage == 3), yes_no(plan.offload.weights || plan.offload.optimizer));
}

Sentences axolotl_unsaid(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  Sentences unsaid;
  add_all_layers(job, unsaid);
  add_if(!is_fsdp(job),
         fmt::format("ZeRO {}, offloading and the precision of gradients are said by deepspeed.json.",
                     plan.zero_stage),
         unsaid);
  add_if(
      plan.sequence.gpus_per_pack() > 1,
      fmt::format(
          "Ulysses over {} and ring attention over {} GPUs: axolotl's context parallelism gathers keys and "
          "values instead.",
          plan.sequence.ulysses, plan.sequence.ring),
      unsaid);
  add_if(is_fsdp(job) && plan.shard_degree > 0 && plan.sequence.gpus_per_pack() > 1,
         fmt::format("Shards over {} GPUs with replicas are not said.", plan.shard_degree), unsaid);
  const Sentences others = is_fsdp(job) ? fsdp2_unsaid(job) : deepspeed_unsaid(job);
  for (const std::string& sentence : others) {
    const bool is_said = sentence.starts_with("Packs ") || sentence.starts_with("Tensor parallelism over") ||
                         sentence.find(" layers") != std::string::npos;
    if (!is_said) unsaid.push_back(sentence);
  }
  return unsaid;
}

}  // namespace packsim::settings_detail
