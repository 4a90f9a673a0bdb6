#pragma once

#include <array>
#include <string>
#include <string_view>

namespace packsim {

/// A training stack as its users call it, and what a scenario says of it.
struct TrainingStack {
  std::string_view name;
  std::string_view text;  ///< what runs in it
  std::string_view profile;
  std::string_view parallelism = {};  ///< what it does in another way than the profile, as keys of a scenario
  std::string_view of_experts = {};   ///< the same of a model's experts

  /// Its keys for a model with experts or without.
  std::string keys(bool has_experts) const {
    if (!has_experts || of_experts.empty()) return std::string(parallelism);
    return std::string(parallelism) + ", " + std::string(of_experts);
  }
};

inline constexpr std::array<TrainingStack, 16> kTrainingStacks = {{
    {"transformers", "Hugging Face Trainer, axolotl or LLaMA-Factory, without fused kernels",
     "transformers-h100", R"("loss_reads": 1)"},
    {"transformers-4", "Hugging Face Trainer with transformers before 5.0, which loops over experts",
     "transformers-h100", R"("loss_reads": 1)", R"("experts": "loop")"},
    {"trl", "TRL's SFTTrainer, without fused kernels", "transformers-h100", R"("loss_reads": 2)"},
    {"transformers-deepspeed", "Hugging Face Trainer with DeepSpeed's ZeRO 3", "transformers-h100",
     R"("loss_reads": 1, "shards": "deepspeed", "plain_gradients": false)"},
    {"liger", "Hugging Face Trainer with Liger's kernels", "transformers-h100",
     R"("loss_reads": 1, "kernels": "liger", "loss": "fused")"},
    {"compiled", "Hugging Face Trainer with torch.compile", "transformers-h100",
     R"("loss_reads": 1, "kernels": "compiled")"},
    {"deepspeed", "DeepSpeed with Ulysses and fused kernels", "deepspeed-ulysses-h100"},
    {"torchtitan", "torchtitan, or FSDP2 with compiled layers", "torchtitan-fsdp2-a100"},
    {"nemo", "NeMo or Megatron-Bridge", "nemo-megatron-h100"},
    {"megatron-lm", "Megatron-LM without NeMo", "any-framework-h100",
     R"("kernels": "transformer_engine", "loss": "vocabulary_parallel", "overlaps_gather": true, "overlaps_tensor": true)",
     R"("splits_experts": true)"},
    {"automodel", "NeMo AutoModel", "nemo-automodel-h100"},
    {"llm-foundry", "LLM Foundry", "llm-foundry-fsdp-h100"},
    {"megatron-deepspeed", "Megatron-DeepSpeed", "megatron-deepspeed-a100"},
    {"xtuner", "XTuner", "xtuner-deepspeed-a100"},
    {"internevo", "InternEvo", "internevo-a100"},
    {"other", "another one: what published steps of all stacks have in common", "any-framework-h100"},
}};

}  // namespace packsim
