#include <fmt/format.h>

#include <algorithm>

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
  const std::vector<std::string> others = is_fsdp(job) ? fsdp2_unsaid(job) : no_model_parallelism(job);
  for (const std::string& other : others) {
    if (std::ranges::find(unsaid, other) == unsaid.end()) unsaid.push_back(other);
  }
  return unsaid;
}

}  // namespace packsim::settings_detail
