#pragma once

#include <string>
#include <vector>

#include "reports/settings/trainer_settings.hpp"

/// The functions of the rows of trainer_formats().
namespace packsim::settings_detail {

using Sentences = std::vector<std::string>;

std::string deepspeed_settings(const TrainerJob& job);
Sentences deepspeed_unsaid(const TrainerJob& job);
std::string fsdp2_settings(const TrainerJob& job);
Sentences fsdp2_unsaid(const TrainerJob& job);
std::string megatron_settings(const TrainerJob& job);
Sentences megatron_unsaid(const TrainerJob& job);
std::string trl_settings(const TrainerJob& job);
Sentences trl_unsaid(const TrainerJob& job);
std::string axolotl_settings(const TrainerJob& job);
Sentences axolotl_unsaid(const TrainerJob& job);

/// Whether gradients, and at stage 3 weights, are sharded as FSDP2 does; the other stages are DeepSpeed's.
inline bool is_fsdp(const TrainerJob& job) {
  return job.plan.zero_stage >= 2;
}

/// Adds a sentence where it holds.
void add_if(bool holds, std::string sentence, Sentences& sentences);

/// What no trainer of whole Hugging Face models says: tensor, pipeline and expert parallelism, parts of a
/// layer that are checkpointed, and Megatron's ways to send beside computation.
Sentences beyond_hugging_face(const TrainerJob& job);
/// Where some layers are checkpointed: that the file says all.
void add_all_layers(const TrainerJob& job, Sentences& sentences);
/// Groups of GPUs that share a sequence, which a file does not say. how: what does.
void add_sequence(const TrainerJob& job, const std::string& how, Sentences& sentences);

const char* yes_no(bool value);

}  // namespace packsim::settings_detail
