#include <fmt/format.h>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string trl_settings(const TrainerJob& job) {
  std::string text = fmt::format(
      "# Arguments of SFTConfig, for packsim.trainers.PackedSFTTrainer (docs/trainers.md) or trl sft "
      "--config trl.yaml.\n"
      "max_length: {}\n"
      "per_device_train_batch_size: 1\n"
      "gradient_accumulation_steps: {}\n"
      "num_train_epochs: {}\n"
      "bf16: true\n"
      "padding_free: true\n"
      "gradient_checkpointing: {}\n",
      job.capacity_tokens, job.micro_batches_per_rank, job.epochs, yes_no(job.plan.gc_layers > 0));
  text += is_fsdp(job) ? "# accelerate launch --config_file fsdp2.yaml\n" : "deepspeed: deepspeed.json\n";
  return text;
}

std::vector<std::string> trl_unsaid(const TrainerJob& job) {
  std::vector<std::string> unsaid = all_or_none_layers(job);
  unsaid.push_back(fmt::format(
      "ZeRO {}, Ulysses over {} and ring attention over {} GPUs are said by {}, as far as it can.",
      job.plan.zero_stage, job.plan.sequence.ulysses, job.plan.sequence.ring,
      is_fsdp(job) ? "fsdp2.yaml" : "deepspeed.json"));
  for (const std::string& sentence : no_model_parallelism(job)) unsaid.push_back(sentence);
  return unsaid;
}

}  // namespace packsim::settings_detail
