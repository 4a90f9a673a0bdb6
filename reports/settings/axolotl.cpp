#include <fmt/format.h>

#include <algorithm>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string axolotl_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
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
      "flash_attention: true\n"
      "gradient_checkpointing: {}\n",
      job.capacity_tokens, job.micro_batches_per_rank, job.epochs, yes_no(plan.gc_layers > 0));
  if (plan.sequence.gpus_per_pack() > 1)
    text += fmt::format("context_parallel_size: {}\n", plan.sequence.gpus_per_pack());
  if (plan.tp_degree > 1) text += fmt::format("tensor_parallel_size: {}\n", plan.tp_degree);
  if (!is_fsdp(job)) return text + "deepspeed: deepspeed.json\n";
  if (plan.shard_degree > 0) {
    text +=
        fmt::format("dp_shard_size: {}\n", std::max(1, plan.shard_degree / plan.sequence.gpus_per_pack()));
  }
  return text + fmt::format(
                    "fsdp_version: 2\n"
                    "fsdp_config:\n"
                    "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                    "  reshard_after_forward: {}\n"
                    "  offload_params: {}\n",
                    yes_no(plan.zero_stage == 3), yes_no(plan.offload.weights || plan.offload.optimizer));
}

std::vector<std::string> axolotl_unsaid(const TrainerJob& job) {
  std::vector<std::string> unsaid = all_or_none_layers(job);
  if (!is_fsdp(job)) unsaid.push_back(fmt::format("ZeRO {} is said by deepspeed.json.", job.plan.zero_stage));
  if (job.plan.sequence.ulysses > 1)
    unsaid.push_back(fmt::format("Ulysses over {} GPUs: axolotl's context parallelism is ring attention.",
                                 job.plan.sequence.ulysses));
  if (job.plan.pp_degree > 1)
    unsaid.push_back(fmt::format("A pipeline over {} GPUs is not said.", job.plan.pp_degree));
  if (job.plan.ep_degree > 1)
    unsaid.push_back(fmt::format("Expert parallelism over {} GPUs is not said.", job.plan.ep_degree));
  return unsaid;
}

}  // namespace packsim::settings_detail
