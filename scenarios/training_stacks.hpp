#pragma once

#include <array>
#include <string_view>

namespace packsim {

/// A training stack as its users call it, and what a scenario says of it.
struct TrainingStack {
  std::string_view name;
  std::string_view text;  ///< what runs in it
  std::string_view profile;
  std::string_view kernels = {};  ///< where they are not the profile's
  std::string_view loss = {};     ///< where it is not the profile's
};

inline constexpr std::array<TrainingStack, 12> kTrainingStacks = {{
    {"transformers", "Hugging Face Trainer, TRL, axolotl or LLaMA-Factory, without fused kernels",
     "transformers-h100"},
    {"liger", "the same with Liger's kernels", "transformers-h100", "liger", "fused"},
    {"compiled", "the same with torch.compile", "transformers-h100", "compiled"},
    {"deepspeed", "DeepSpeed with Ulysses and fused kernels", "deepspeed-ulysses-h100"},
    {"torchtitan", "torchtitan, or FSDP2 with compiled layers", "torchtitan-fsdp2-a100"},
    {"nemo", "NeMo or Megatron-Bridge", "nemo-megatron-h100"},
    {"automodel", "NeMo AutoModel", "nemo-automodel-h100"},
    {"llm-foundry", "LLM Foundry", "llm-foundry-fsdp-h100"},
    {"megatron-deepspeed", "Megatron-DeepSpeed", "megatron-deepspeed-a100"},
    {"xtuner", "XTuner", "xtuner-deepspeed-a100"},
    {"internevo", "InternEvo", "internevo-a100"},
    {"other", "another one: what published steps of all stacks have in common", "any-framework-h100"},
}};

}  // namespace packsim
