#pragma once

#include <string>
#include <vector>

#include "reports/settings/trainer_settings.hpp"

/// The functions of the rows of trainer_formats().
namespace packsim::settings_detail {

std::string deepspeed_settings(const TrainerJob& job);
std::vector<std::string> deepspeed_unsaid(const TrainerJob& job);
std::string fsdp2_settings(const TrainerJob& job);
std::vector<std::string> fsdp2_unsaid(const TrainerJob& job);
std::string megatron_settings(const TrainerJob& job);
std::vector<std::string> megatron_unsaid(const TrainerJob& job);
std::string trl_settings(const TrainerJob& job);
std::vector<std::string> trl_unsaid(const TrainerJob& job);
std::string axolotl_settings(const TrainerJob& job);
std::vector<std::string> axolotl_unsaid(const TrainerJob& job);

/// Gradients and, at stage 3, weights are sharded in FSDP2; stage 1 and 0 is DeepSpeed's.
inline bool is_fsdp(const TrainerJob& job) {
  return job.plan.zero_stage >= 2;
}

/// "20 of 32 layers are checkpointed, and the trainer can only say all or none: it says all." Empty where all
/// or none are.
std::vector<std::string> all_or_none_layers(const TrainerJob& job);

/// What Hugging Face's trainers cannot say of a plan: tensor, pipeline and expert parallelism.
std::vector<std::string> no_model_parallelism(const TrainerJob& job);

const char* yes_no(bool value);

}  // namespace packsim::settings_detail
