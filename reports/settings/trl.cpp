#include <fmt/format.h>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string trl_settings(const TrainerJob& job) {
  // Checkpointing is said once: by the file of FSDP2, or here beside DeepSpeed's.
  return fmt::format(
      "# Arguments of trl sft --config trl.yaml, beside a model and a data set. TRL packs by itself; "
      "PackedSFTTrainer\n"
      "# (docs/trainers.md) takes them without the two lines on packing.\n"
      "max_length: {}\n"
      "packing: true\n"
      "packing_strategy: bfd\n"
      "attn_implementation: flash_attention_2\n"
      "per_device_train_batch_size: 1\n"
      "gradient_accumulation_steps: {}\n"
      "num_train_epochs: {}\n"
      "bf16: true\n"
      "gradient_checkpointing: {}\n"
      "{}",
      job.capacity_tokens, job.micro_batches_per_rank, job.epochs,
      yes_no(!is_fsdp(job) && job.plan.gc_layers > 0),
      is_fsdp(job) ? "# accelerate launch --config_file fsdp2.yaml\n" : "deepspeed: deepspeed.json\n");
}

Sentences trl_unsaid(const TrainerJob& job) {
  Sentences unsaid = {
      fmt::format("ZeRO {}, offloading and the precision of gradients are said by {}, as far as it can.",
                  job.plan.zero_stage, is_fsdp(job) ? "fsdp2.yaml" : "deepspeed.json")};
  const Sentences others = is_fsdp(job) ? fsdp2_unsaid(job) : deepspeed_unsaid(job);
  if (!is_fsdp(job)) add_all_layers(job, unsaid);
  // The first sentence of the others is that packs are the loop's, which this is.
  unsaid.insert(unsaid.end(), others.begin() + 1, others.end());
  return unsaid;
}

}  // namespace packsim::settings_detail
